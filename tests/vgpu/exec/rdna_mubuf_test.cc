// MUBUF and MTBUF of RDNA (VBUFFER of RDNA4): the layouts of resources, what is out of range, swizzling, formats.

#include "rdna_memory.h"

#include <gmock/gmock.h>

namespace luthier::vgpu::test {
namespace {

enum RangeCheck : uint32_t { kStructured, kIndex, kEmpty, kRaw };

/// The fields of a V#, by the manuals' tables "Buffer Resource Descriptor".
struct Resource {
  uint64_t base = 0;
  uint32_t stride = 0;
  uint32_t records = 0;
  RangeCheck range = kRaw;
  uint32_t element = 0; ///< swizzled by so many bytes; 0: not
  uint32_t indexStride = 8;
  bool addTid = false;
  uint32_t format = 20; ///< 32_UINT in all of them
  uint32_t select = 0xfac;
  uint32_t strideScale = 0;

  void set(ExecTest &t, const RdnaMachine &m, unsigned reg) const {
    const uint32_t swizzle = !element ? 0 : m.generation == 10 ? 2u << 30 : element == 4 ? 1u << 30 : 3u << 30;
    t.s(reg) = static_cast<uint32_t>(base);
    t.s(reg + 1) = static_cast<uint32_t>(base >> 32) | stride << 16 | swizzle;
    t.s(reg + 2) = records;
    t.s(reg + 3) = select | format << 12 | strideScale << 18 |
                   static_cast<uint32_t>(std::countr_zero(indexStride / 8)) << 21 | uint32_t{addTid} << 23 |
                   (m.generation == 10 ? 1u << 24 : 0) | range << 28;
  }
};

std::vector<uint32_t> numbers(unsigned count) {
  std::vector<uint32_t> data(count);
  for (unsigned n = 0; n < count; ++n)
    data[n] = 0x80000000u + n;
  return data;
}

TEST(RdnaMubuf, RawBuffers) {
  for (const RdnaMachine &m : kRdnaMachines)
    for (const uint64_t exec : kSomeExecs) {
      ExecTest t(m.target, m.lanes);
      const std::vector<uint32_t> data = numbers(256);
      // 17 dwords and 2 bytes; the scalar offset is taken off.
      Resource{.base = t.buffer(data), .records = 8 + 17 * 4 + 2}.set(t, m, 4);
      for (unsigned lane = 0; lane < m.lanes; ++lane)
        t.v(2, lane) = 4 * lane;
      t.s(9) = 8;
      t.exec(exec & m.all());
      ASSERT_TRUE(t.run("buffer_load_dwordx3 v[8:10], v2, s[4:7], s9 offen offset:4\n"
                        "buffer_load_ushort v12, v2, s[4:7], s9 offen\n"
                        "buffer_load_dword v13, off, s[4:7], s9 offset:12"))
          << nameOf(m);
      for (unsigned lane = 0; lane < m.lanes; ++lane) {
        const bool active = exec >> lane & 1;
        for (unsigned r = 0; r < 3; ++r) // each dword for itself
          ASSERT_EQ(t.v(8 + r, lane), !active                        ? kPoison
                                      : 4 * (lane + 1 + r) + 4 <= 70 ? data[2 + lane + 1 + r]
                                                                     : 0)
              << nameOf(m) << " lane " << lane << " dword " << r;
        ASSERT_EQ(t.v(12, lane), !active ? kPoison : 4 * lane + 2 <= 70 ? data[2 + lane] & 0xffff : 0) << lane;
        ASSERT_EQ(t.v(13, lane), !active ? kPoison : data[5]);
      }
    }
}

TEST(RdnaMubuf, RawStoresAndAtomics) {
  for (const RdnaMachine &m : kRdnaMachines) {
    ExecTest t(m.target, m.lanes);
    const uint64_t base = t.buffer(1024);
    Resource{.base = base, .records = 24}.set(t, m, 4);
    for (unsigned lane = 0; lane < m.lanes; ++lane) {
      t.v(2, lane) = 8 * lane;
      t.setV64(10, lane, uint64_t{100 + lane} << 32 | lane);
      t.v(3, lane) = 4 * lane;
      t.v(12, lane) = 1;
    }
    const std::string zero = m.noOffset();
    ASSERT_TRUE(t.run("buffer_store_dwordx2 v[10:11], v2, s[4:7], " + zero + " offen offset:4"));
    EXPECT_EQ(ExecTest::load<uint32_t>(base + 4), 0u);
    EXPECT_EQ(ExecTest::load<uint32_t>(base + 8), 100u);
    EXPECT_EQ(ExecTest::load<uint32_t>(base + 20), 2u);
    EXPECT_EQ(ExecTest::load<uint32_t>(base + 24), 0u) << "half of it was out of range";
    t.setVector(20, kPoison);
    ASSERT_TRUE(t.run("v_mov_b32 v20, v12\nbuffer_atomic_add v20, v3, s[4:7], " + zero + " offen" + m.returning()));
    EXPECT_EQ(ExecTest::load<uint32_t>(base + 8), 101u);
    EXPECT_EQ(t.v(20, 2), 100u);
    EXPECT_EQ(t.v(20, 6), 0u) << "out of range";
    EXPECT_EQ(ExecTest::load<uint32_t>(base + 24), 0u);
    // A qword is in range as a whole or not at all.
    t.setVector64(14, 1);
    t.setVector(3, {16, 24});
    t.exec(3);
    ASSERT_TRUE(t.run("buffer_atomic_add_x2 v[14:15], v3, s[4:7], " + zero + " offen"));
    EXPECT_EQ(ExecTest::load<uint32_t>(base + 16), 102u + 1);
    EXPECT_EQ(ExecTest::load<uint32_t>(base + 24), 0u);
  }
}

TEST(RdnaMubuf, StructuredBuffers) {
  for (const RdnaMachine &m : kRdnaMachines) {
    ExecTest t(m.target, m.lanes);
    const std::vector<uint32_t> data = numbers(512);
    Resource resource{.base = t.buffer(data), .stride = 12, .records = 10, .range = kStructured};
    resource.set(t, m, 4);
    for (unsigned lane = 0; lane < m.lanes; ++lane) {
      t.v(2, lane) = lane;           // index
      t.v(3, lane) = 2 * (lane % 8); // offset
    }
    const std::string zero = m.noOffset();
    ASSERT_TRUE(t.run("buffer_load_dword v8, v[2:3], s[4:7], " + zero + " idxen offen")) << nameOf(m);
    const auto *bytes = reinterpret_cast<const uint8_t *>(data.data());
    for (unsigned lane = 0; lane < m.lanes; ++lane) {
      const uint32_t offset = 2 * (lane % 8);
      // RDNA2 looks at where an access starts, later ones at where it ends.
      const bool inside = lane < 10 && (m.generation == 10 ? offset < 12 : offset + 4 <= 12);
      uint32_t word;
      memcpy(&word, bytes + 12 * lane + offset, 4);
      ASSERT_EQ(t.v(8, lane), inside ? word : 0) << nameOf(m) << " lane " << lane;
    }
    resource.range = kIndex;
    resource.set(t, m, 4);
    ASSERT_TRUE(t.run("buffer_load_dword v8, v[2:3], s[4:7], " + zero + " idxen offen"));
    for (unsigned lane = 0; lane < m.lanes; ++lane) {
      uint32_t word;
      memcpy(&word, bytes + 12 * lane + 2 * (lane % 8), 4);
      ASSERT_EQ(t.v(8, lane), lane < 10 ? word : 0) << nameOf(m) << " lane " << lane;
    }
    resource.range = kEmpty;
    for (const uint32_t records : {0u, 1u}) {
      resource.records = records;
      resource.set(t, m, 4);
      ASSERT_TRUE(t.run("buffer_load_dword v8, v2, s[4:7], " + zero + " idxen offset:4"));
      for (unsigned lane = 0; lane < m.lanes; ++lane)
        ASSERT_EQ(t.v(8, lane), records ? data[3 * lane + 1] : 0) << nameOf(m) << " lane " << lane;
    }
  }
}

TEST(RdnaMubuf, Swizzling) {
  for (const RdnaMachine &m : kRdnaMachines)
    for (const uint32_t element : {4u, 16u}) {
      if (m.generation == 10 && element == 16) // has no field for it
        continue;
      ExecTest t(m.target, m.lanes);
      const std::vector<uint32_t> data = numbers(8192);
      Resource{
          .base = t.buffer(data), .stride = 64, .records = 1000, .range = kIndex, .element = element, .indexStride = 16}
          .set(t, m, 4);
      for (unsigned lane = 0; lane < m.lanes; ++lane) {
        t.v(2, lane) = lane + 3;
        t.v(3, lane) = 4 * (lane % 4);
      }
      t.s(9) = 32;
      ASSERT_TRUE(t.run("buffer_load_dword v8, v[2:3], s[4:7], s9 idxen offen offset:8\n"
                        "buffer_load_dwordx2 v[10:11], v2, s[4:7], s9 idxen"))
          << nameOf(m);
      const auto at = [&](uint32_t index, uint32_t offset) {
        const uint32_t inside = m.generation == 12 ? offset + 32 : offset, outside = m.generation == 12 ? 0 : 32;
        return (outside + (index / 16 * 64 + inside / element * element) * 16 + index % 16 * element +
                inside % element) /
               4;
      };
      for (unsigned lane = 0; lane < m.lanes; ++lane) {
        ASSERT_EQ(t.v(8, lane), data[at(lane + 3, 8 + 4 * (lane % 4))])
            << nameOf(m) << " lane " << lane << " " << element;
        ASSERT_EQ(t.v(10, lane), data[at(lane + 3, 0)]);
        ASSERT_EQ(t.v(11, lane), data[at(lane + 3, 4)]);
      }
    }
}

TEST(RdnaMubuf, TheStridesScaleOfGfx12) {
  for (const RdnaMachine &m : kRdnaMachines) {
    ExecTest t(m.target, m.lanes);
    const std::vector<uint32_t> data = numbers(4096);
    Resource{.base = t.buffer(data), .stride = 4, .records = 64, .range = kIndex, .strideScale = 2}.set(t, m, 4);
    if (m.generation != 12)
      t.s(7) &= ~(3u << 18);
    for (unsigned lane = 0; lane < m.lanes; ++lane)
      t.v(2, lane) = lane;
    ASSERT_TRUE(t.run("buffer_load_dword v8, v2, s[4:7], " + m.noOffset() + " idxen"));
    for (unsigned lane = 0; lane < m.lanes; ++lane)
      ASSERT_EQ(t.v(8, lane), data[lane * (m.generation == 12 ? 8 : 1)]) << nameOf(m);
  }
}

TEST(RdnaMubuf, ScratchThroughAResource) {
  for (const RdnaMachine &m : kRdnaMachines) {
    ExecTest t(m.target, m.lanes);
    t.scratch(128);
    Resource{.base = t.scratchBase(),
             .records = 128 * m.lanes,
             .range = kEmpty,
             .element = 4,
             .indexStride = m.lanes,
             .addTid = true}
        .set(t, m, 4);
    for (unsigned lane = 0; lane < m.lanes; ++lane) {
      t.v(10, lane) = 100 + lane;
      t.v(11, lane) = 200 + lane;
      t.v(2, lane) = 4 * (lane % 3);
    }
    t.exec(0xfffffff3'fffffff3ull & m.all());
    const std::string zero = m.noOffset();
    ASSERT_TRUE(t.run("buffer_store_dwordx2 v[10:11], off, s[4:7], " + zero + " offset:16\n" +
                      "buffer_load_dword v8, off, s[4:7], " + zero + " offset:20\n" +
                      "buffer_load_dword v9, v2, s[4:7], " + zero + " offen offset:12\n" +
                      "buffer_load_ubyte v12, off, s[4:7], " + zero + " offset:16"))
        << nameOf(m);
    for (unsigned lane = 0; lane < m.lanes; ++lane) {
      const bool active = t.exec() >> lane & 1;
      const uint64_t own = t.scratchBase() + 4 * lane;
      ASSERT_EQ(ExecTest::load<uint32_t>(own + 4 * 4 * m.lanes), active ? 100 + lane : 0) << nameOf(m);
      ASSERT_EQ(ExecTest::load<uint32_t>(own + 5 * 4 * m.lanes), active ? 200 + lane : 0) << nameOf(m);
      ASSERT_EQ(t.v(8, lane), active ? 200 + lane : kPoison);
      ASSERT_EQ(t.v(9, lane), !active ? kPoison : lane % 3 == 0 ? 0 : lane % 3 == 1 ? 100 + lane : 200 + lane);
      ASSERT_EQ(t.v(12, lane), active ? (100 + lane) & 0xff : kPoison);
    }
  }
}

TEST(RdnaMubuf, HalvesOfRegisters) {
  for (const RdnaMachine &m : kRdnaMachines) {
    ExecTest t(m.target, m.lanes);
    Resource{.base = t.buffer(std::vector<uint32_t>{0x8182f3f4}), .records = 4}.set(t, m, 4);
    const std::string rest = ", off, s[4:7], " + m.noOffset() + "\n";
    ASSERT_TRUE(t.run("buffer_load_short_d16 v8" + rest + "buffer_load_short_d16_hi v9" + rest +
                      "buffer_load_sbyte_d16 v10" + rest + "buffer_load_ubyte_d16_hi v11" + rest));
    EXPECT_EQ(t.v(8, 3), (kPoison & 0xffff0000) | 0xf3f4);
    EXPECT_EQ(t.v(9, 3), 0xf3f40000 | (kPoison & 0xffff));
    EXPECT_EQ(t.v(10, 3), (kPoison & 0xffff0000) | 0xfff4);
    EXPECT_EQ(t.v(11, 3), 0x00f40000 | (kPoison & 0xffff));
  }
}

TEST(RdnaMubuf, UnboundAndReservedResources) {
  for (const RdnaMachine &m : kRdnaMachines) {
    ExecTest t(m.target, m.lanes);
    const std::string load = "buffer_load_dword v8, off, s[4:7], " + m.noOffset();
    for (unsigned n = 4; n < 8; ++n)
      t.s(n) = 0;
    ASSERT_TRUE(t.run(load));
    EXPECT_EQ(t.v(8, 0), 0u);
    Resource{.base = t.buffer(64), .records = 64}.set(t, m, 4);
    t.s(7) |= 1u << 31;
    EXPECT_FALSE(t.run(load));
    EXPECT_THAT(t.fault().text, testing::HasSubstr("has a resource"));
  }
}

struct FormatCase {
  const char *name;
  uint32_t gfx10, gfx11; ///< its number; gfx12's are gfx11's
  std::vector<uint8_t> memory;
  std::array<uint32_t, 4> result; ///< of components that it has not, 0
};

TEST(RdnaMubuf, Formats) {
  const FormatCase cases[] = {
      {"8_8_8_8_UNORM", 56, 42, {0xff, 0, 0x33, 0x80}, {f32(1.0f), 0, f32(0.2f), f32(128.0f / 255.0f)}},
      {"8_8_8_8_SINT", 61, 47, {0xff, 0x7f, 0x80, 1}, {0xffffffff, 0x7f, 0xffffff80, 1}},
      {"16_16_FLOAT", 29, 29, {0x00, 0x3c, 0x00, 0xc0}, {f32(1.0f), f32(-2.0f), 0, 0}},
      {"32_32_UINT", 62, 48, {1, 2, 3, 4, 5, 6, 7, 8}, {0x04030201, 0x08070605, 0, 0}},
      {"16_16_16_16_SNORM", 66, 52, {0xff, 0x7f, 1, 0x80, 0, 0, 0, 0x80}, {f32(1.0f), f32(-1.0f), 0, f32(-1.0f)}},
      {"32_32_32_32_FLOAT",
       77,
       63,
       {0, 0, 0x80, 0x3f, 0, 0, 0, 0x40, 0, 0, 0x40, 0x40, 0, 0, 0x80, 0x40},
       {f32(1.0f), f32(2.0f), f32(3.0f), f32(4.0f)}},
      {"8_UINT", 5, 5, {0xfe}, {0xfe, 0, 0, 0}},
  };
  for (const RdnaMachine &m : kRdnaMachines)
    for (const FormatCase &c : cases) {
      const uint32_t number = m.generation == 10 ? c.gfx10 : c.gfx11;
      ExecTest t(m.target, m.lanes);
      std::vector<uint8_t> memory = c.memory;
      memory.resize(16);
      const uint64_t base = t.buffer(memory);
      Resource{.base = base, .records = 16, .format = number, .select = 0xfac}.set(t, m, 4);
      const std::string zero = m.noOffset();
      ASSERT_TRUE(t.run(fmt::format("tbuffer_load_format_xyzw v[8:11], off, s[4:7], {} format:{}", zero, number)))
          << nameOf(m) << " " << c.name;
      for (unsigned n = 0; n < 4; ++n)
        EXPECT_EQ(t.v(8 + n, 1), c.result[n]) << nameOf(m) << " " << c.name << " component " << n;
      // And that of the resource.
      ASSERT_TRUE(t.run(fmt::format("buffer_load_format_x v12, off, s[4:7], {}", zero))) << nameOf(m) << " " << c.name;
      EXPECT_EQ(t.v(12, 1), c.result[0]) << nameOf(m) << " " << c.name;
    }
}

TEST(RdnaMubuf, FormatsOfHalves) {
  for (const RdnaMachine &m : kRdnaMachines) {
    ExecTest t(m.target, m.lanes);
    const uint64_t base = t.buffer(std::vector<uint32_t>{0xc0003c00}); // 16_16_FLOAT: 1, -2
    Resource{.base = base, .records = 64, .format = 29}.set(t, m, 4);
    const std::string zero = m.noOffset();
    ASSERT_TRUE(t.run("tbuffer_load_format_d16_x v8, off, s[4:7], " + zero + " format:29\n" +
                      "tbuffer_load_format_d16_xy v9, off, s[4:7], " + zero + " format:29\n" +
                      "buffer_load_format_d16_hi_x v10, off, s[4:7], " + zero + "\n" +
                      "tbuffer_store_format_d16_xy v9, off, s[4:7], " + zero + " format:29 offset:8"))
        << nameOf(m);
    EXPECT_EQ(t.v(8, 0), (kPoison & 0xffff0000) | 0x3c00);
    EXPECT_EQ(t.v(9, 0), 0xc0003c00u);
    EXPECT_EQ(t.v(10, 0), 0x3c000000u | (kPoison & 0xffff));
    EXPECT_EQ(ExecTest::load<uint32_t>(base + 8), 0xc0003c00u);
  }
}

TEST(RdnaMubuf, FloatAtomics) {
  for (const RdnaMachine &m : kRdnaMachines) {
    ExecTest t(m.target, m.lanes);
    const uint64_t base = t.buffer(std::vector<float>{1.0f});
    Resource{.base = base, .records = 4}.set(t, m, 4);
    t.exec(1);
    t.setVector(8, f32(3.0f));
    const std::string rest = ", off, s[4:7], " + m.noOffset();
    ASSERT_TRUE(t.run((m.generation == 12 ? "buffer_atomic_max_num_f32 v8" : "buffer_atomic_fmax v8") + rest));
    EXPECT_EQ(ExecTest::load<float>(base), 3.0f);
    if (m.generation > 10) {
      ASSERT_TRUE(t.run("buffer_atomic_add_f32 v8" + rest));
      EXPECT_EQ(ExecTest::load<float>(base), 6.0f);
    }
    t.setVector(8, 5u);
    ASSERT_TRUE(t.run((m.generation == 12 ? "buffer_atomic_sub_clamp_u32 v8" : "buffer_atomic_csub v8") + rest +
                      m.returning()));
    EXPECT_EQ(ExecTest::load<uint32_t>(base), f32(m.generation > 10 ? 6.0f : 3.0f) - 5);
  }
}

// RDNA1 to 3 have a bit or instructions that load to LDS; compilers use them on no target here.
TEST(RdnaMubuf, LoadsToLds) {
  for (const RdnaMachine &m : kRdnaMachines) {
    if (m.generation == 12)
      continue;
    ExecTest t(m.target, m.lanes);
    t.lds(1024);
    t.m0(64);
    const std::vector<uint32_t> data = numbers(128);
    Resource{.base = t.buffer(data), .records = 512}.set(t, m, 4);
    for (unsigned lane = 0; lane < m.lanes; ++lane)
      t.v(2, lane) = 4 * (lane ^ 1);
    ASSERT_TRUE(t.run(m.generation == 10 ? "buffer_load_dword v2, s[4:7], 0 offen lds"
                                         : "buffer_load_lds_b32 v2, s[4:7], 0 offen"))
        << nameOf(m);
    for (unsigned lane = 0; lane < m.lanes; ++lane)
      EXPECT_EQ(t.ldsWord(64 + 4 * lane), data[lane ^ 1]) << nameOf(m);
  }
}

} // namespace
} // namespace luthier::vgpu::test
