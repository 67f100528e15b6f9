// MUBUF: addressing, bounds, and that scratch is the same memory for all who reach it.

#include "memory_cases.h"

namespace luthier::vgpu::test {
namespace {

struct Resource {
  uint64_t base = 0;
  uint32_t stride = 0, records = ~0u;
  bool swizzle = false, addTid = false;
  uint32_t indexStride = 0; ///< encoded: 8 << n
  uint32_t dfmt = 4, nfmt = 4;
};

void setResource(ExecTest &t, unsigned reg, const Resource &r) {
  t.s(reg) = static_cast<uint32_t>(r.base);
  t.s(reg + 1) = static_cast<uint32_t>(r.base >> 32 & 0xffff) | r.stride << 16 | (r.swizzle ? 1u << 31 : 0);
  t.s(reg + 2) = r.records;
  t.s(reg + 3) = 0xfac | r.nfmt << 12 | r.dfmt << 15 | r.indexStride << 21 | (r.addTid ? 1u << 23 : 0);
}

TEST(Mubuf, LoadsInEveryAddressingMode) {
  const std::vector<uint8_t> data = randomBytes(8192, 1);
  for (const LoadCase &c : kLoads)
    for (bool offen : {false, true})
      for (bool idxen : {false, true})
        for (uint64_t exec : kExecs) {
          ExecTest t;
          const uint64_t base = t.buffer(data);
          setResource(t, 8, {.base = base, .stride = 20});
          t.s(4) = 100;
          std::vector<uint32_t> at;
          for (unsigned lane = 0; lane < kMaxLanes; ++lane) {
            const uint32_t index = lane * 7 % 64, offset = lane % 4 * 4;
            t.v(2, lane) = idxen ? index : offset;
            t.v(3, lane) = offset;
            at.push_back(100 + 12 + (idxen ? index * 20 : 0) + (offen ? offset : 0));
          }
          t.exec(exec);
          const std::string address = idxen && offen ? "v[2:3]" : idxen || offen ? "v2" : "off";
          const std::string text = std::string("buffer_load_") + c.name + " " + vgprs(8, c.registers()) + ", " +
                                   address + ", s[8:11], s4" + (idxen ? " idxen" : "") + (offen ? " offen" : "") +
                                   " offset:12";
          ASSERT_TRUE(t.run(text)) << text;
          for (unsigned lane = 0; lane < kMaxLanes; ++lane)
            for (unsigned r = 0; r < c.registers() + 1; ++r)
              ASSERT_EQ(t.v(8 + r, lane),
                        (exec >> lane & 1) && r < c.registers() ? loadedRegister(c, &data[at[lane]], r) : kPoison)
                  << text << " lane " << lane;
        }
}

TEST(Mubuf, StoresOfConsecutiveAndScatteredLanes) {
  for (const StoreCase &c : kStores)
    for (Pattern pattern : kPatterns)
      for (uint64_t exec : kExecs) {
        std::vector<uint8_t> expected = randomBytes(4096, 2);
        ExecTest t;
        const uint64_t base = t.buffer(expected);
        setResource(t, 8, {.base = base});
        const std::vector<uint32_t> offset = spread(pattern, c.bytes, 4096, 9);
        t.setVector(2, offset);
        for (unsigned lane = 0; lane < kMaxLanes; ++lane)
          for (unsigned r = 0; r < c.registers(); ++r) {
            const uint32_t value = t.v(8 + r, lane) = 0x01020304u * (lane + 1) + r * 0x11111111u;
            const uint32_t bits = value >> c.shift;
            if (exec >> lane & 1)
              memcpy(&expected[offset[lane] + 4 * r], &bits, std::min(c.bytes, 4u));
          }
        t.exec(exec);
        const std::string text =
            std::string("buffer_store_") + c.name + " " + vgprs(8, c.registers()) + ", v2, s[8:11], 0 offen";
        ASSERT_TRUE(t.run(text)) << text;
        ASSERT_EQ(memcmp(ExecTest::at<void>(base), expected.data(), expected.size()), 0) << text << int(pattern);
      }
}

TEST(Mubuf, ResourcesThatAreNoBuffers) {
  for (const char *text : {"buffer_load_dword v1, off, s[8:11], 0", "buffer_store_dword v1, off, s[8:11], 0",
                           "buffer_atomic_add v1, off, s[8:11], 0",
                           "tbuffer_load_format_x v1, off, s[8:11], 0 format:[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_UINT]"})
    for (const unsigned bit : {24u, 25u, 26u, 28u, 29u, 30u, 31u}) {
      ExecTest t;
      setResource(t, 8, {.base = t.buffer(randomBytes(256, 3))});
      t.s(11) |= 1u << bit;
      EXPECT_FALSE(t.run(text)) << text << ", bit " << bit;
      EXPECT_EQ(t.fault().kind, Fault::Kind::IllegalInstruction) << text << ", bit " << bit;
      EXPECT_NE(t.fault().text.find("TYPE (bits 31:30)"), std::string::npos) << t.fault().text;
    }
}

TEST(Mubuf, RawBoundsAreCheckedPerDword) {
  ExecTest t;
  std::vector<uint32_t> data(64, 9);
  const uint64_t base = t.buffer(data);
  setResource(t, 8, {.base = base, .records = 32});
  t.setVector(2, {0, 16, 20, 28, 32, 0xfffffff0});
  for (unsigned r = 0; r < 4; ++r)
    t.setVector(12 + r, 100 + r);
  t.exec(0x3f);
  ASSERT_TRUE(t.run("buffer_load_dwordx4 v[4:7], v2, s[8:11], 0 offen"));
  const unsigned inRange[] = {4, 4, 3, 1, 0, 0};
  for (unsigned lane = 0; lane < 6; ++lane)
    for (unsigned r = 0; r < 4; ++r)
      EXPECT_EQ(t.v(4 + r, lane), r < inRange[lane] ? 9u : 0u) << lane << " " << r;
  EXPECT_EQ(t.v(4, 6), kPoison);
  ASSERT_TRUE(t.run("buffer_store_dwordx4 v[12:15], v2, s[8:11], 0 offen"));
  EXPECT_EQ(ExecTest::load<uint32_t>(base + 28), 100u);
  EXPECT_EQ(ExecTest::load<uint32_t>(base + 32), 9u) << "not written";
  // Atomics are all or nothing, and return 0.
  t.setVector64(16, 1);
  ASSERT_TRUE(t.run("buffer_atomic_add v16, v2, s[8:11], 0 offen glc"));
  EXPECT_EQ(t.v(16, 3), 100u);
  EXPECT_EQ(t.v(16, 4), 0u);
  EXPECT_EQ(ExecTest::load<uint32_t>(base + 28), 101u);
}

TEST(Mubuf, StructuredBounds) {
  ExecTest t;
  const uint64_t base = t.buffer(std::vector<uint32_t>(64, 9));
  setResource(t, 8, {.base = base, .stride = 8, .records = 3});
  t.setVector(2, {0, 2, 3, 0x80000000});
  t.exec(0xf);
  ASSERT_TRUE(t.run("buffer_load_dword v4, v2, s[8:11], 0 idxen offset:4"));
  EXPECT_EQ(t.v(4, 0), 9u);
  EXPECT_EQ(t.v(4, 1), 9u);
  EXPECT_EQ(t.v(4, 2), 0u);
  EXPECT_EQ(t.v(4, 3), 0u);
}

TEST(Mubuf, AnUnboundResourceReadsZero) {
  ExecTest t;
  for (unsigned n = 0; n < 4; ++n)
    t.s(8 + n) = 0;
  ASSERT_TRUE(t.run("buffer_store_dword v5, off, s[8:11], 0\nbuffer_load_dword v4, off, s[8:11], 0"));
  EXPECT_EQ(t.v(4, 0), 0u);
}

TEST(Mubuf, Swizzle) {
  for (uint32_t encoded : {0u, 1u, 2u, 3u})
    for (bool addTid : {false, true}) {
      const uint32_t indexStride = 8u << encoded, stride = 16;
      ExecTest t;
      const std::vector<uint8_t> data = randomBytes(64 * 1024, 3);
      const uint64_t base = t.buffer(data);
      // With the thread's number added DFMT is part of the stride.
      setResource(t, 8,
                  {.base = base,
                   .stride = stride,
                   .swizzle = true,
                   .addTid = addTid,
                   .indexStride = encoded,
                   .dfmt = addTid ? 0u : 4u});
      t.s(4) = 64;
      for (unsigned lane = 0; lane < kMaxLanes; ++lane) {
        t.v(2, lane) = lane * 3;
        t.v(3, lane) = lane % 3 * 4;
      }
      ASSERT_TRUE(t.run("buffer_load_dword v8, v[2:3], s[8:11], s4 idxen offen offset:4\n"
                        "buffer_load_dwordx2 v[10:11], v[2:3], s[8:11], s4 idxen offen\n"
                        "buffer_load_ubyte v12, v[2:3], s[8:11], s4 idxen offen offset:3"));
      for (unsigned lane = 0; lane < kMaxLanes; ++lane) {
        auto byte = [&](uint32_t offset) {
          const uint32_t index = lane * 3 + (addTid ? lane : 0);
          return 64 + (index / indexStride * stride + offset / 4 * 4) * indexStride + index % indexStride * 4 +
                 offset % 4;
        };
        auto dword = [&](uint32_t offset) { return ExecTest::load<uint32_t>(base + byte(offset)); };
        const uint32_t offset = lane % 3 * 4;
        EXPECT_EQ(t.v(8, lane), dword(offset + 4));
        EXPECT_EQ(t.v(10, lane), dword(offset));
        EXPECT_EQ(t.v(11, lane), dword(offset + 4));
        EXPECT_EQ(t.v(12, lane), data[byte(offset + 3)]);
      }
    }
}

// The same private bytes through MUBUF with ROCr's resource, SCRATCH, and FLAT.
TEST(Mubuf, ScratchIsOneMemory) {
  for (uint64_t exec : {~0ull, 0x00ff00ff12345678ull}) {
    ExecTest t;
    t.scratch(256);
    const auto resource = t.scratchResource();
    for (unsigned n = 0; n < 4; ++n)
      t.s(n) = resource[n];
    t.s(32) = 64 * 64; // a frame that starts at byte 64 of each lane
    for (unsigned lane = 0; lane < kMaxLanes; ++lane) {
      t.v(8, lane) = 100 + lane;
      t.v(9, lane) = 200 + lane;
      t.v(2, lane) = 16 + 4 * (lane % 5);
      t.v(4, lane) = 64 + 16 + 4 * (lane % 5);
      t.setV64(6, lane, t.privateAperture() + 64 + 4);
    }
    t.exec(exec);
    ASSERT_TRUE(t.run("buffer_store_dword v8, off, s[0:3], s32 offset:4\n"
                      "buffer_store_dword v9, v2, s[0:3], s32 offen\n"
                      "s_waitcnt 0\n"
                      "flat_load_dword v10, v[6:7]\n"
                      "scratch_load_dword v11, v4, off\n"
                      "buffer_load_dword v12, off, s[0:3], s32 offset:4\n"
                      "buffer_load_dword v13, v2, s[0:3], s32 offen\n"
                      "buffer_load_ushort v14, v2, s[0:3], s32 offen\n"));
    for (unsigned lane = 0; lane < kMaxLanes; ++lane) {
      const bool active = exec >> lane & 1;
      EXPECT_EQ(t.v(10, lane), active ? 100 + lane : kPoison);
      EXPECT_EQ(t.v(11, lane), active ? 200 + lane : kPoison);
      EXPECT_EQ(t.v(12, lane), active ? 100 + lane : kPoison);
      EXPECT_EQ(t.v(13, lane), active ? 200 + lane : kPoison);
      EXPECT_EQ(t.v(14, lane), active ? 200 + lane : kPoison);
      EXPECT_EQ(ExecTest::load<uint32_t>(t.scratchBase() + (64 + 4) * 64 + lane * 4), active ? 100 + lane : 0);
    }
    t.exec(~0ull);
    for (unsigned r = 0; r < 4; ++r)
      for (unsigned lane = 0; lane < kMaxLanes; ++lane)
        t.v(20 + r, lane) = r * 1000 + lane;
    ASSERT_TRUE(t.run("buffer_store_dwordx4 v[20:23], off, s[0:3], s32 offset:32\ns_waitcnt 0\n"
                      "flat_load_dwordx4 v[24:27], v[6:7] offset:28\n"
                      "buffer_load_dwordx3 v[28:30], off, s[0:3], s32 offset:36"));
    for (unsigned lane = 0; lane < kMaxLanes; ++lane)
      for (unsigned r = 0; r < 4; ++r) {
        EXPECT_EQ(t.v(24 + r, lane), r * 1000 + lane);
        if (r < 3)
          EXPECT_EQ(t.v(28 + r, lane), (r + 1) * 1000 + lane);
      }
  }
}

TEST(Mubuf, LoadsToLdsAndStoresFromIt) {
  ExecTest t;
  t.lds(1024);
  t.m0(32);
  const std::vector<uint8_t> data = randomBytes(1024, 8);
  const uint64_t base = t.buffer(data);
  setResource(t, 8, {.base = base, .records = 200});
  t.s(4) = 4;
  for (unsigned lane = 0; lane < kMaxLanes; ++lane)
    t.v(2, lane) = 4 * (63 - lane);
  t.exec(0xffffffff0000ffff);
  ASSERT_TRUE(t.run("buffer_load_dword v2, s[8:11], s4 offen offset:8 lds"));
  for (unsigned lane = 0; lane < kMaxLanes; ++lane) {
    const uint32_t offset = 4 * (63 - lane) + 8;
    const uint32_t expected = offset < 200 ? ExecTest::load<uint32_t>(base + 4 + offset) : 0;
    EXPECT_EQ(t.ldsWord(32 + 8 + 4 * lane), t.exec() >> lane & 1 ? expected : 0u) << lane;
  }
  t.exec(~0ull);
  const uint64_t out = t.buffer(1024);
  setResource(t, 8, {.base = out});
  for (unsigned lane = 0; lane < kMaxLanes; ++lane)
    t.setLdsWord(32 + 4 * lane, 7000 + lane);
  // Without an address register every lane stores to the same place unless the resource adds its number.
  setResource(t, 8, {.base = out, .stride = 4, .addTid = true, .dfmt = 0});
  ASSERT_TRUE(t.run("buffer_store_lds_dword s[8:11], 0 lds"));
  for (unsigned lane = 0; lane < kMaxLanes; ++lane)
    EXPECT_EQ(ExecTest::load<uint32_t>(out + 4 * lane), 7000 + lane);
}

TEST(Mubuf, Atomics) {
  for (const AtomicCase &c : kIntegerAtomics) {
    ExecTest t;
    const uint64_t base = t.buffer(kMaxLanes * 8);
    setResource(t, 8, {.base = base, .stride = 8});
    const unsigned n = c.bytes / 4;
    std::vector<uint64_t> before, after;
    const uint64_t exec = 0xff00ff00f0f0aaaa;
    for (unsigned lane = 0; lane < kMaxLanes; ++lane) {
      t.v(2, lane) = lane;
      const uint64_t memory = atomicOperand(c.bytes, lane * 3);
      const uint64_t data = atomicOperand(c.bytes, lane * 5 + 1), data2 = lane % 2 ? memory : data;
      memcpy(ExecTest::at<void>(base + 8 * lane), &memory, c.bytes);
      for (unsigned r = 0; r < n; ++r) {
        t.v(8 + r, lane) = static_cast<uint32_t>(data >> 32 * r);
        t.v(8 + n + r, lane) = static_cast<uint32_t>(data2 >> 32 * r);
      }
      before.push_back(memory);
      after.push_back(exec >> lane & 1 ? c.result(memory, data, data2) : memory);
    }
    t.exec(exec);
    const std::string text =
        std::string("buffer_atomic_") + c.name + " " + vgprs(8, n * c.operands) + ", v2, s[8:11], 0 idxen glc";
    ASSERT_TRUE(t.run(text)) << text;
    for (unsigned lane = 0; lane < kMaxLanes; ++lane) {
      uint64_t memory = 0;
      memcpy(&memory, ExecTest::at<void>(base + 8 * lane), c.bytes);
      ASSERT_EQ(memory, after[lane]) << text << " lane " << lane;
      if (exec >> lane & 1)
        for (unsigned r = 0; r < n; ++r)
          ASSERT_EQ(t.v(8 + r, lane), static_cast<uint32_t>(before[lane] >> 32 * r)) << text;
    }
  }
}

TEST(Mubuf, Faults) {
  ExecTest t;
  const uint64_t base = t.bufferBeforeGuard(64);
  setResource(t, 8, {.base = base});
  t.setVector(2, {0, 4, 64});
  t.exec(7);
  EXPECT_FALSE(t.run("buffer_load_dword v4, v2, s[8:11], 0 offen"));
  EXPECT_EQ(t.fault().address, base + 64);
  EXPECT_EQ(t.v(4, 0), kPoison);
  EXPECT_FALSE(t.run("buffer_store_dword v4, v2, s[8:11], 0 offen"));
  EXPECT_TRUE(t.fault().write);
  EXPECT_EQ(ExecTest::load<uint32_t>(base), 0u);
}

// Formats: dfmt 10 is 8_8_8_8, 5 is 16_16, 12 is 16_16_16_16, 14 is 32_32_32_32; nfmt 0 unorm, 1 snorm, 4 uint, 5 sint,
// 7 float.
TEST(Mubuf, FormatLoads) {
  ExecTest t;
  const uint64_t base = t.buffer(std::vector<uint32_t>{0x00ff8001, pack16(f16(1.5f), f16(-2.0f)), 0x80007fff, 4});
  setResource(t, 8, {.base = base, .dfmt = 10, .nfmt = 0});
  setResource(t, 12, {.base = base, .dfmt = 10, .nfmt = 1});
  setResource(t, 16, {.base = base, .dfmt = 10, .nfmt = 5});
  ASSERT_TRUE(t.run(
      "buffer_load_format_xyzw v[4:7], off, s[8:11], 0\n"
      "buffer_load_format_xyzw v[8:11], off, s[12:15], 0\n"
      "buffer_load_format_xyz v[12:14], off, s[16:19], 0\n"
      "tbuffer_load_format_xy v[16:17], off, s[8:11], 0 format:[BUF_DATA_FORMAT_16_16,BUF_NUM_FORMAT_FLOAT] offset:4\n"
      "tbuffer_load_format_xyzw v[20:23], off, s[8:11], 0 format:[BUF_DATA_FORMAT_16_16,BUF_NUM_FORMAT_SSCALED] "
      "offset:8\n"
      "tbuffer_load_format_d16_xy v24, off, s[8:11], 0 format:[BUF_DATA_FORMAT_16_16,BUF_NUM_FORMAT_FLOAT] offset:4\n"
      "buffer_load_format_d16_xyzw v[26:27], off, s[16:19], 0"));
  EXPECT_EQ(t.v(4, 9), f32(1.0f / 255.0f));
  EXPECT_EQ(t.v(5, 9), f32(128.0f / 255.0f));
  EXPECT_EQ(t.v(6, 9), f32(1.0f));
  EXPECT_EQ(t.v(7, 9), 0u);
  EXPECT_EQ(t.v(8, 9), f32(1.0f / 127.0f));
  EXPECT_EQ(t.v(9, 9), f32(-1.0f)) << "-128 / 127 is clamped";
  EXPECT_EQ(t.v(12, 9), 1u);
  EXPECT_EQ(t.v(13, 9), 0xffffff80u);
  EXPECT_EQ(t.v(14, 9), 0xffffffffu);
  EXPECT_EQ(t.v(16, 9), f32(1.5f));
  EXPECT_EQ(t.v(17, 9), f32(-2.0f));
  EXPECT_EQ(t.v(20, 9), f32(32767.0f));
  EXPECT_EQ(t.v(21, 9), f32(-32768.0f));
  EXPECT_EQ(t.v(22, 9), 0u) << "TBUFFER fills up with 0";
  EXPECT_EQ(t.v(24, 9), pack16(f16(1.5f), f16(-2.0f)));
  EXPECT_EQ(t.v(26, 9), pack16(1, 0xff80));
  EXPECT_EQ(t.v(27, 9), pack16(0xffff, 0));
}

TEST(Mubuf, FormatStores) {
  ExecTest t;
  const uint64_t base = t.buffer(64 * 16);
  setResource(t, 8, {.base = base, .stride = 16, .addTid = true, .dfmt = 10, .nfmt = 0});
  t.setVector(4, f32(1.0f));
  t.setVector(5, f32(0.5f));
  t.setVector(6, f32(-3.0f));
  t.setVector(7, 0x7fc00000);
  ASSERT_TRUE(t.run(
      "buffer_store_format_xyzw v[4:7], off, s[8:11], 0\n"
      "tbuffer_store_format_xy v[4:5], off, s[8:11], 0 format:[BUF_DATA_FORMAT_16_16,BUF_NUM_FORMAT_FLOAT] offset:4\n"
      "tbuffer_store_format_xy v[4:5], off, s[8:11], 0 format:[BUF_DATA_FORMAT_32_32,BUF_NUM_FORMAT_FLOAT] offset:8"));
  for (unsigned lane : {0u, 63u}) {
    EXPECT_EQ(ExecTest::load<uint32_t>(base + 16 * lane), 0x000080ffu) << "127.5 rounds to even";
    EXPECT_EQ(ExecTest::load<uint32_t>(base + 16 * lane + 4), pack16(f16(1.0f), f16(0.5f)));
    EXPECT_EQ(ExecTest::load<uint32_t>(base + 16 * lane + 8), f32(1.0f));
    EXPECT_EQ(ExecTest::load<uint32_t>(base + 16 * lane + 12), f32(0.5f));
  }
}

TEST(Mubuf, FormatsThatAreNotImplementedStop) {
  ExecTest t;
  const uint64_t base = t.buffer(64);
  setResource(t, 8, {.base = base, .dfmt = 6, .nfmt = 7});
  EXPECT_FALSE(t.run("buffer_load_format_x v4, off, s[8:11], 0"));
  EXPECT_EQ(t.fault().kind, Fault::Kind::IllegalInstruction);
}

TEST(Mubuf, CacheControl) {
  ExecTest t;
  EXPECT_TRUE(t.run("buffer_wbl2\nbuffer_invl2\nbuffer_wbinvl1\nbuffer_wbinvl1_vol"));
}

} // namespace
} // namespace luthier::vgpu::test
