// DS of RDNA, in waves of both sizes: what differs from gfx9, and that the rest works in both.

#include "rdna_memory.h"

#include <gmock/gmock.h>

namespace luthier::vgpu::test {
namespace {

constexpr uint32_t kLds = 4096;

TEST(RdnaDs, Loads) {
  const std::vector<uint8_t> data = randomBytes(kLds, 1);
  for (const RdnaMachine &m : kRdnaMachines)
    for (const LoadCase &c : kLoads)
      for (const Pattern pattern : kPatterns)
        for (const uint64_t exec : kSomeExecs) {
          ExecTest t(m.target, m.lanes);
          t.lds(kLds);
          std::ranges::copy(data, t.ldsBytes().begin());
          const std::vector<uint32_t> offset = spread(pattern, c.bytes, kLds, 3);
          for (unsigned lane = 0; lane < m.lanes; ++lane)
            t.v(2, lane) = offset[lane] - 12;
          t.exec(exec & m.all());
          const std::string text = fmt::format("ds_read_{} {}, v2 offset:12", c.ds, vgprs(8, c.registers()));
          ASSERT_TRUE(t.run(text)) << nameOf(m) << " " << text;
          for (unsigned lane = 0; lane < m.lanes; ++lane)
            for (unsigned r = 0; r < c.registers(); ++r)
              ASSERT_EQ(t.v(8 + r, lane),
                        exec >> lane & 1 ? rdnaLoadedRegister(c, &data[offset[lane]], r, kPoison) : kPoison)
                  << nameOf(m) << " " << text << " lane " << lane << " exec " << exec;
        }
}

TEST(RdnaDs, StoresAndExchanges) {
  for (const RdnaMachine &m : kRdnaMachines)
    for (const StoreCase &c : kStores) {
      const uint64_t exec = 0xa5a5ffff'5a5a00ffull & m.all();
      std::vector<uint8_t> expected = randomBytes(kLds, 2);
      ExecTest t(m.target, m.lanes);
      t.lds(kLds);
      std::ranges::copy(expected, t.ldsBytes().begin());
      for (unsigned lane = 0; lane < m.lanes; ++lane) {
        t.v(2, lane) = 20 * (lane ^ 3);
        for (unsigned r = 0; r < c.registers(); ++r) {
          const uint32_t value = t.v(8 + r, lane) = 0x01020304u * (lane + 1) + r * 0x11111111u, bits = value >> c.shift;
          if (exec >> lane & 1)
            memcpy(&expected[20 * (lane ^ 3) + 8 + 4 * r], &bits, std::min(c.bytes, 4u));
        }
      }
      t.exec(exec);
      ASSERT_TRUE(t.run(fmt::format("ds_write_{} v2, {} offset:8", c.ds, vgprs(8, c.registers())))) << nameOf(m);
      ASSERT_TRUE(std::ranges::equal(t.ldsBytes(), expected)) << nameOf(m) << " " << c.ds;
    }
  for (const RdnaMachine &m : kRdnaMachines) {
    ExecTest t(m.target, m.lanes);
    t.lds(kLds);
    for (unsigned lane = 0; lane < m.lanes; ++lane) {
      t.v(2, lane) = 4 * lane;
      t.setLdsWord(4 * lane, 100 + lane);
      t.setLdsWord(4 * lane + 256 * 3, 200 + lane);
      t.v(3, lane) = 300 + lane;
      t.v(4, lane) = 400 + lane;
    }
    ASSERT_TRUE(t.run("ds_wrxchg2st64_rtn_b32 v[8:9], v2, v3, v4 offset1:3\nds_wrxchg_rtn_b32 v10, v2, v4"));
    for (unsigned lane = 0; lane < m.lanes; ++lane) {
      EXPECT_EQ(t.v(8, lane), 100 + lane);
      EXPECT_EQ(t.v(9, lane), 200 + lane);
      EXPECT_EQ(t.v(10, lane), 300 + lane);
      EXPECT_EQ(t.ldsWord(4 * lane), 400 + lane);
      EXPECT_EQ(t.ldsWord(4 * lane + 256 * 3), 400 + lane);
    }
  }
}

/// Lanes that exchange data: half a wave of 64 on RDNA 1 to 3, all of it on RDNA4.
unsigned groupOf(const RdnaMachine &m) { return m.generation == 12 ? m.lanes : 32; }

TEST(RdnaDs, Permutes) {
  for (const RdnaMachine &m : kRdnaMachines)
    for (const uint64_t exec : {~0ull, 0xfff0ffff'0000fff1ull}) {
      ExecTest t(m.target, m.lanes);
      for (unsigned lane = 0; lane < m.lanes; ++lane) {
        t.v(2, lane) = 4 * (lane * 7 + 37) + (lane % 4); // numbers beyond the wave wrap around, low bits do not count
        t.v(3, lane) = 1000 + lane;
      }
      t.exec(exec & m.all());
      ASSERT_TRUE(t.run("ds_bpermute_b32 v8, v2, v3 offset:4\nds_permute_b32 v9, v2, v3 offset:4"));
      const unsigned group = groupOf(m);
      std::vector<uint32_t> pushed(m.lanes, 0);
      const auto other = [&](unsigned lane) { return (lane & ~(group - 1)) + (lane * 7 + 38) % group; };
      for (unsigned lane = 0; lane < m.lanes; ++lane)
        if (exec >> lane & 1)
          pushed[other(lane)] = 1000 + lane;
      for (unsigned lane = 0; lane < m.lanes; ++lane) {
        const bool active = exec >> lane & 1, read = exec >> other(lane) & 1;
        EXPECT_EQ(t.v(8, lane), !active ? kPoison : read ? 1000 + other(lane) : 0u) << nameOf(m) << " " << lane;
        EXPECT_EQ(t.v(9, lane), !active ? kPoison : pushed[lane]) << nameOf(m) << " " << lane;
      }
    }
}

TEST(RdnaDs, Swizzles) {
  for (const RdnaMachine &m : kRdnaMachines) {
    ExecTest t(m.target, m.lanes);
    for (unsigned lane = 0; lane < m.lanes; ++lane)
      t.v(2, lane) = 1000 + lane;
    ASSERT_TRUE(t.run("ds_swizzle_b32 v8, v2 offset:swizzle(REVERSE, 8)\n"
                      "ds_swizzle_b32 v9, v2 offset:swizzle(QUAD_PERM, 3, 0, 1, 2)\n"
                      "ds_swizzle_b32 v10, v2 offset:swizzle(BROADCAST, 32, 5)"));
    for (unsigned lane = 0; lane < m.lanes; ++lane) {
      EXPECT_EQ(t.v(8, lane), 1000 + (lane ^ 7));
      EXPECT_EQ(t.v(9, lane), 1000 + (lane & ~3u) + (lane + 3) % 4);
      EXPECT_EQ(t.v(10, lane), 1000 + (lane & 32) + 5) << "within 32 lanes";
    }
  }
}

TEST(RdnaDs, OutOfRange) {
  for (const RdnaMachine &m : kRdnaMachines) {
    ExecTest t(m.target, m.lanes);
    t.lds(64);
    for (uint32_t at = 0; at < 64; at += 4)
      t.setLdsWord(at, 0x10101010u * (at / 4 + 1));
    const bool apart = m.generation == 12; // each dword for itself
    t.setVector(2, {52, 56, 60, 64, 0xfffffffc, 0});
    t.exec(0x3f);
    ASSERT_TRUE(t.run("ds_read_b128 v[8:11], v2"));
    for (unsigned r = 0; r < 4; ++r) {
      EXPECT_EQ(t.v(8 + r, 0), apart && r < 3 ? t.ldsWord(52 + 4 * r) : 0u) << nameOf(m) << " " << r;
      EXPECT_EQ(t.v(8 + r, 2), apart && r < 1 ? t.ldsWord(60) : 0u) << r;
      EXPECT_EQ(t.v(8 + r, 3), 0u);
      EXPECT_EQ(t.v(8 + r, 4), 0u);
      EXPECT_EQ(t.v(8 + r, 5), t.ldsWord(4 * r));
    }
    // Bytes of stores: 4 of 8 at 60, 2 of 4 at 62.
    const uint32_t before = t.ldsWord(60);
    t.setVector(2, {60, 62});
    t.exec(1);
    t.setVector64(4, 0x1122334455667788);
    ASSERT_TRUE(t.run("ds_write_b64 v2, v[4:5]"));
    EXPECT_EQ(t.ldsWord(60), apart ? 0x55667788u : before) << nameOf(m);
    t.setLdsWord(60, 0);
    t.exec(2);
    ASSERT_TRUE(t.run("ds_write_b32 v2, v4"));
    EXPECT_EQ(t.ldsWord(60), apart ? 0x77880000u : 0u) << nameOf(m);
  }
}

/// One lane's operation on LDS; the first 8 bytes after it.
uint64_t inLds(const RdnaMachine &m, const std::string &name, uint64_t memory, uint64_t data, uint64_t data2,
               uint32_t mode = kDefaultMode) {
  ExecTest t(m.target, m.lanes);
  t.lds(64);
  memcpy(t.ldsBytes().data(), &memory, 8);
  const bool wide = name.ends_with("64"), two = name.find("cmp") != name.npos;
  t.setVector(2, 0u);
  t.setVector64(4, data);
  t.setVector64(6, data2);
  t.exec(1);
  t.mode(mode);
  const std::string first = wide ? "v[4:5]" : "v4", second = wide ? "v[6:7]" : "v6";
  const std::string text = name + " " + (wide ? "v[8:9]" : "v8") + ", v2, " + first + (two ? ", " + second : "");
  EXPECT_TRUE(t.run(text)) << nameOf(m) << " " << text;
  EXPECT_EQ(t.v(8, 0), static_cast<uint32_t>(memory)) << text;
  uint64_t after;
  memcpy(&after, t.ldsBytes().data(), 8);
  return after;
}

TEST(RdnaDs, CompareAndStoreHasTheOtherOrderFromGfx11On) {
  for (const RdnaMachine &m : kRdnaMachines) {
    const bool newer = m.generation > 10; // ds_cmpstore: the new value first, then what is compared
    const std::string name = newer ? "ds_cmpstore_rtn_" : "ds_cmpst_rtn_";
    const auto run = [&](const std::string &type, uint64_t memory, uint64_t cmp, uint64_t value,
                         uint32_t mode = kDefaultMode) {
      return inLds(m, name + type, memory, newer ? value : cmp, newer ? cmp : value, mode);
    };
    EXPECT_EQ(run("b32", 5, 5, 9), 9u) << nameOf(m);
    EXPECT_EQ(run("b32", 5, 6, 9), 5u);
    EXPECT_EQ(run("b64", 1ull << 40, 1ull << 40, 77), 77u);
    if (m.generation < 12) {
      EXPECT_EQ(run("f32", 0x80000000, 0, f32(2.0f)), f32(2.0f)) << "-0 equals +0";
      EXPECT_EQ(run("f32", 0x7fc00000, 0x7fc00000, f32(2.0f)), 0x7fc00000u) << "NaN equals nothing";
      EXPECT_EQ(run("f64", f64(1.0), f64(1.0), f64(2.0)), f64(2.0));
    }
  }
}

TEST(RdnaDs, WhatGfx12Added) {
  constexpr uint32_t kFlush = kDefaultMode & ~0xf0u;
  for (const RdnaMachine &m : kRdnaMachines) {
    if (m.generation != 12)
      continue;
    EXPECT_EQ(inLds(m, "ds_cond_sub_rtn_u32", 10, 3, 0), 7u);
    EXPECT_EQ(inLds(m, "ds_cond_sub_rtn_u32", 3, 10, 0), 3u);
    EXPECT_EQ(inLds(m, "ds_sub_clamp_rtn_u32", 3, 10, 0), 0u);
    EXPECT_EQ(inLds(m, "ds_sub_clamp_rtn_u32", 10, 3, 0), 7u);
    EXPECT_EQ(inLds(m, "ds_min_num_rtn_f32", f32(1.0f), f32(-2.0f), 0), f32(-2.0f));
    EXPECT_EQ(inLds(m, "ds_max_num_rtn_f32", 0x7f800001, f32(-2.0f), 0), f32(-2.0f)) << "a number wins";
    EXPECT_EQ(inLds(m, "ds_max_num_rtn_f32", 3, 5, 0), 5u);
    EXPECT_EQ(inLds(m, "ds_max_num_rtn_f32", 3, 5, 0, kFlush), 0u) << "what is flushed stays so";
    EXPECT_EQ(inLds(m, "ds_min_num_rtn_f64", f64(1.0), f64(-2.0), 0), f64(-2.0));
    EXPECT_EQ(inLds(m, "ds_pk_add_rtn_f16", pack16(f16(1.0f), 1), pack16(f16(2.5f), 2), 0), pack16(f16(3.5f), 3));
    EXPECT_EQ(inLds(m, "ds_pk_add_rtn_f16", pack16(f16(1.0f), 1), pack16(f16(2.5f), 2), 0, kFlush), f16(3.5f));
    EXPECT_EQ(inLds(m, "ds_pk_add_rtn_bf16", pack16(0x3f80, 0x4000), pack16(0x4000, 0x4000), 0),
              pack16(0x4040, 0x4080));
  }
}

TEST(RdnaDs, TheThreadsNumberAsAddress) {
  for (const RdnaMachine &m : kRdnaMachines) {
    ExecTest t(m.target, m.lanes);
    t.lds(1024);
    for (unsigned lane = 0; lane < m.lanes; ++lane) {
      t.setLdsWord(64 + 8 + 4 * lane, 100 + lane);
      t.v(3, lane) = 200 + lane;
    }
    t.m0(64);
    ASSERT_TRUE(t.run("ds_read_addtid_b32 v8 offset:8\nds_write_addtid_b32 v3 offset:512"));
    for (unsigned lane = 0; lane < m.lanes; ++lane) {
      EXPECT_EQ(t.v(8, lane), 100 + lane);
      EXPECT_EQ(t.ldsWord(64 + 512 + 4 * lane), 200 + lane);
    }
  }
}

TEST(RdnaDs, AppendCountsActiveLanes) {
  for (const RdnaMachine &m : kRdnaMachines) {
    ExecTest t(m.target, m.lanes);
    t.lds(64);
    t.setLdsWord(8, 10);
    t.m0(0);
    t.exec(0x8000000f'80000007ull & m.all());
    ASSERT_TRUE(t.run("ds_append v8 offset:8"));
    EXPECT_EQ(t.ldsWord(8), 10u + (m.lanes == 64 ? 9 : 4));
    EXPECT_EQ(t.v(8, 1), 10u);
  }
}

TEST(RdnaDs, DirectLoads) {
  for (const RdnaMachine &m : kRdnaMachines) {
    if (m.generation == 10) // a source of vector instructions there
      continue;
    const std::string load =
        m.generation == 12 ? "ds_direct_load v8 wait_va_vdst:0 wait_vm_vsrc:1" : "lds_direct_load v8 wait_vdst:0";
    const auto run = [&](uint32_t type) {
      ExecTest t(m.target, m.lanes);
      t.lds(64);
      t.setLdsWord(16, 0x8182f3f4);
      t.m0(16 | type << 16);
      t.exec(0x20);
      EXPECT_TRUE(t.run(load)) << nameOf(m);
      for (unsigned lane = 0; lane < m.lanes; ++lane)
        if (lane / 4 != 1) {
          EXPECT_EQ(t.v(8, lane), kPoison) << lane;
        }
      EXPECT_EQ(t.v(8, 4), t.v(8, 5)) << "EXEC counts per quad";
      return t.v(8, 7);
    };
    EXPECT_EQ(run(2), 0x8182f3f4u);
    EXPECT_EQ(run(0), 0xf4u);
    EXPECT_EQ(run(1), 0xf3f4u);
    EXPECT_EQ(run(4), 0xfffffff4u);
    EXPECT_EQ(run(5), 0xfffff3f4u);
    ExecTest t(m.target, m.lanes);
    t.lds(64);
    t.m0(3 << 16);
    EXPECT_FALSE(t.run(load)) << "a reserved type";
  }
}

TEST(RdnaDs, GdsIsRefused) {
  for (const RdnaMachine &m : kRdnaMachines) {
    if (m.generation == 12) // has no bit for it
      continue;
    ExecTest t(m.target, m.lanes);
    EXPECT_FALSE(t.run("ds_add_u32 v2, v3 gds"));
    EXPECT_THAT(t.fault().text, testing::HasSubstr("GDS"));
  }
}

} // namespace
} // namespace luthier::vgpu::test
