// DS: LDS, lane permutation, global wave sync.

#include "memory_cases.h"

namespace luthier::vgpu::test {
namespace {

constexpr uint32_t kLdsBytes = 4096;

void fillLds(ExecTest &t, const std::vector<uint8_t> &data) {
  t.lds(static_cast<uint32_t>(data.size()));
  std::copy(data.begin(), data.end(), t.ldsBytes().begin());
}

TEST(Ds, Reads) {
  const std::vector<uint8_t> data = randomBytes(kLdsBytes, 1);
  for (const LoadCase &c : kLoads)
    for (Pattern pattern : kPatterns)
      for (uint64_t exec : kExecs)
        for (uint32_t immediate : {0u, 20u, 65535u}) {
          ExecTest t;
          fillLds(t, data);
          const std::vector<uint32_t> offset = spread(pattern, c.bytes, kLdsBytes, 7);
          for (unsigned lane = 0; lane < kMaxLanes; ++lane)
            t.v(2, lane) = offset[lane] - immediate; // wraps: negative bases are legal
          t.exec(exec);
          const std::string text = std::string("ds_read_") + c.ds + " " + vgprs(8, c.registers()) +
                                   ", v2 offset:" + std::to_string(immediate);
          ASSERT_TRUE(t.run(text)) << text;
          for (unsigned lane = 0; lane < kMaxLanes; ++lane)
            for (unsigned r = 0; r < c.registers() + 1; ++r) {
              const bool written = (exec >> lane & 1) && r < c.registers();
              ASSERT_EQ(t.v(8 + r, lane), written ? loadedRegister(c, &data[offset[lane]], r) : kPoison)
                  << text << " lane " << lane << " register " << r << " pattern " << int(pattern);
            }
        }
}

TEST(Ds, Writes) {
  for (const StoreCase &c : kStores)
    for (Pattern pattern : kPatterns)
      for (uint64_t exec : kExecs) {
        std::vector<uint8_t> expected = randomBytes(kLdsBytes, 2);
        ExecTest t;
        fillLds(t, expected);
        const std::vector<uint32_t> offset = spread(pattern, c.bytes, kLdsBytes, 9);
        for (unsigned lane = 0; lane < kMaxLanes; ++lane) {
          t.v(2, lane) = offset[lane] - 4;
          for (unsigned r = 0; r < c.registers(); ++r) {
            const uint32_t value = t.v(8 + r, lane) = 0x01020304u * (lane + 1) + r * 0x11111111u;
            const uint32_t bits = value >> c.shift;
            if (exec >> lane & 1)
              memcpy(&expected[offset[lane] + 4 * r], &bits, std::min(c.bytes, 4u));
          }
        }
        t.exec(exec);
        const std::string text = std::string("ds_write_") + c.ds + " v2, " + vgprs(8, c.registers()) + " offset:4";
        ASSERT_TRUE(t.run(text)) << text;
        ASSERT_TRUE(std::ranges::equal(t.ldsBytes(), expected)) << text << " pattern " << int(pattern);
      }
}

TEST(Ds, OutOfRange) {
  ExecTest t;
  fillLds(t, std::vector<uint8_t>(256, 0x11));
  t.setVector(2, {248, 252, 256, 0x10000, 0xfffffff0, 0xffffffff});
  t.setVector(8, 0x22222222);
  t.setVector(9, 0x33333333);
  t.exec(0x3f);
  ASSERT_TRUE(t.run(
      "ds_read_b32 v4, v2\nds_read_b64 v[6:7], v2\nds_write_b64 v2, v[8:9]\nds_read2_b32 v[10:11], v2 offset1:1"));
  EXPECT_EQ(t.v(4, 0), 0x11111111u);
  EXPECT_EQ(t.v(4, 1), 0x11111111u);
  EXPECT_EQ(t.v64(6, 0), 0x1111111111111111u);
  for (unsigned lane = 2; lane < 6; ++lane) {
    EXPECT_EQ(t.v(4, lane), 0u);
    EXPECT_EQ(t.v64(6, lane), 0u);
  }
  EXPECT_EQ(t.v(4, 6), kPoison);
  EXPECT_EQ(t.ldsWord(248), 0x22222222u);
  EXPECT_EQ(t.ldsWord(252), 0x33333333u);
  EXPECT_EQ(t.v(10, 1), 0x33333333u) << "the first element is in range";
  EXPECT_EQ(t.v(11, 1), 0u) << "the second is not";
  ExecTest none;
  ASSERT_TRUE(none.run("v_mov_b32 v2, 0\nds_write_b32 v2, v2\nds_read_b32 v4, v2")) << "needs v_mov_b32";
  EXPECT_EQ(none.v(4, 0), 0u) << "a workgroup without LDS";
}

struct TwoCase {
  const char *name;
  unsigned bytes, scale;
};
constexpr TwoCase kTwo[] = {{"2_b32", 4, 1}, {"2st64_b32", 4, 64}, {"2_b64", 8, 1}, {"2st64_b64", 8, 64}};

TEST(Ds, Read2Write2) {
  for (const TwoCase &c : kTwo)
    for (Pattern pattern : {Pattern::Consecutive, Pattern::Random, Pattern::Rows, Pattern::MixedRows})
      for (uint64_t exec : kExecs) {
        const unsigned n = c.bytes / 4, first = 3, second = 1;
        std::vector<uint8_t> data = randomBytes(8192, 4);
        const std::vector<uint32_t> offset = spread(pattern, c.bytes, 4096, 3);
        ExecTest t;
        fillLds(t, data);
        t.setVector(2, offset);
        t.exec(exec);
        const std::string offsets = " offset0:" + std::to_string(first) + " offset1:" + std::to_string(second);
        // The address register is also a result.
        ASSERT_TRUE(t.run(std::string("ds_read") + c.name + " " + vgprs(2, 2 * n) + ", v2" + offsets));
        for (unsigned lane = 0; lane < kMaxLanes; ++lane)
          for (unsigned r = 0; r < 2 * n; ++r) {
            const uint32_t at = offset[lane] + (r < n ? first : second) * c.bytes * c.scale + r % n * 4;
            uint32_t expected;
            memcpy(&expected, &data[at], 4);
            const uint32_t untouched = r == 0 ? offset[lane] : kPoison;
            ASSERT_EQ(t.v(2 + r, lane), exec >> lane & 1 ? expected : untouched) << c.name << lane;
          }

        t.setVector(2, offset);
        for (unsigned element = 0; element < 2; ++element)
          for (unsigned lane = 0; lane < kMaxLanes; ++lane)
            for (unsigned r = 0; r < n; ++r) {
              const uint32_t value = t.v(8 + element * n + r, lane) = lane * 0x10001 + element * 0x1000 + r;
              if (exec >> lane & 1)
                memcpy(&data[offset[lane] + (element ? second : first) * c.bytes * c.scale + 4 * r], &value, 4);
            }
        ASSERT_TRUE(t.run(std::string("ds_write") + c.name + " v2, " + vgprs(8, n) + ", " + vgprs(8 + n, n) + offsets));
        ASSERT_TRUE(std::ranges::equal(t.ldsBytes(), data)) << c.name;
      }
}

TEST(Ds, Write2WithEqualOffsetsWritesTheFirst) {
  ExecTest t;
  t.lds(512);
  t.setVector(2, 0);
  t.setVector(8, 1);
  t.setVector(9, 2);
  ASSERT_TRUE(t.run("ds_write2_b32 v2, v8, v9 offset0:3 offset1:3"));
  EXPECT_EQ(t.ldsWord(12), 1u);
}

TEST(Ds, Exchange2) {
  for (const TwoCase &c : kTwo) {
    const unsigned n = c.bytes / 4;
    ExecTest t;
    fillLds(t, randomBytes(8192, 6));
    const std::vector<uint8_t> before(t.ldsBytes().begin(), t.ldsBytes().end());
    for (unsigned lane = 0; lane < kMaxLanes; ++lane) {
      t.v(2, lane) = lane * c.bytes * 2;
      for (unsigned r = 0; r < 2 * n; ++r)
        t.v(8 + r, lane) = lane * 100 + r;
    }
    t.exec(0xffff0000ffff0001);
    const std::string name = c.name;
    ASSERT_TRUE(t.run("ds_wrxchg" + name.substr(0, name.find('_')) + "_rtn" + name.substr(name.find('_')) + " " +
                      vgprs(20, 2 * n) + ", v2, " + vgprs(8, n) + ", " + vgprs(8 + n, n) + " offset0:0 offset1:1"));
    for (unsigned lane = 0; lane < kMaxLanes; ++lane)
      for (unsigned r = 0; r < 2 * n; ++r) {
        const uint32_t at = lane * c.bytes * 2 + (r < n ? 0 : c.bytes * c.scale) + r % n * 4;
        uint32_t old;
        memcpy(&old, &before[at], 4);
        // With a stride of 64 elements lanes overlap: only what is written by one lane alone is compared.
        if (c.scale == 1) {
          EXPECT_EQ(t.v(20 + r, lane), t.exec() >> lane & 1 ? old : kPoison);
          EXPECT_EQ(t.ldsWord(at), t.exec() >> lane & 1 ? lane * 100 + r : old);
        }
      }
  }
}

struct DsAtomicCase {
  const char *name; ///< with %s where "_rtn" goes
  unsigned bytes, operands;
  bool alwaysReturns;
  uint64_t (*result)(uint64_t m, uint64_t d, uint64_t d2);
};

#define BOTH(NAME, TYPE32, TYPE64, OPERANDS, ...)                                                                      \
  {NAME "%s_" TYPE32, 4, OPERANDS, false,                                                                              \
   [](uint64_t m, uint64_t d, [[maybe_unused]] uint64_t d2) -> uint64_t { return (__VA_ARGS__) & 0xffffffff; }},       \
  {                                                                                                                    \
    NAME "%s_" TYPE64, 8, OPERANDS, false,                                                                             \
        [](uint64_t m, uint64_t d, [[maybe_unused]] uint64_t d2) -> uint64_t { return __VA_ARGS__; }                   \
  }

const DsAtomicCase kAtomics[] = {
    BOTH("add", "u32", "u64", 1, m + d),
    BOTH("sub", "u32", "u64", 1, m - d),
    BOTH("rsub", "u32", "u64", 1, d - m),
    BOTH("inc", "u32", "u64", 1, m >= d ? 0 : m + 1),
    BOTH("dec", "u32", "u64", 1, m == 0 || m > d ? d : m - 1),
    BOTH("min", "u32", "u64", 1, d < m ? d : m),
    BOTH("max", "u32", "u64", 1, d > m ? d : m),
    BOTH("and", "b32", "b64", 1, m &d),
    BOTH("or", "b32", "b64", 1, m | d),
    BOTH("xor", "b32", "b64", 1, m ^ d),
    BOTH("mskor", "b32", "b64", 2, (m & ~d) | d2),
    BOTH("cmpst", "b32", "b64", 2, m == d ? d2 : m),
    {"min%s_i32", 4, 1, false, [](uint64_t m, uint64_t d, uint64_t) { return s32(d) < s32(m) ? d : m; }},
    {"max%s_i32", 4, 1, false, [](uint64_t m, uint64_t d, uint64_t) { return s32(d) > s32(m) ? d : m; }},
    {"min%s_i64", 8, 1, false, [](uint64_t m, uint64_t d, uint64_t) { return s64(d) < s64(m) ? d : m; }},
    {"max%s_i64", 8, 1, false, [](uint64_t m, uint64_t d, uint64_t) { return s64(d) > s64(m) ? d : m; }},
    {"wrxchg%s_b32", 4, 1, true, [](uint64_t, uint64_t d, uint64_t) { return d; }},
    {"wrxchg%s_b64", 8, 1, true, [](uint64_t, uint64_t d, uint64_t) { return d; }},
    {"wrap%s_b32", 4, 2, true,
     [](uint64_t m, uint64_t d, uint64_t d2) { return (m >= d ? m - d : m + d2) & 0xffffffff; }},
    {"condxchg32%s_b64", 8, 1, true,
     [](uint64_t m, uint64_t d, uint64_t) {
       const uint64_t low = d & 0x80000000 ? d & 0x7fffffff : m & 0xffffffff;
       const uint64_t high = d & 1ull << 63 ? d & 0x7fffffff00000000 : m & 0xffffffff00000000;
       return low | high;
     }},
};

TEST(Ds, Atomics) {
  for (const DsAtomicCase &c : kAtomics)
    for (bool returns : {false, true})
      for (uint64_t exec : {~0ull, 0x5555000011110f0full, 0ull}) {
        if (c.alwaysReturns && !returns)
          continue;
        ExecTest t;
        t.lds(1024);
        const unsigned n = c.bytes / 4;
        std::vector<uint64_t> before, after;
        for (unsigned lane = 0; lane < kMaxLanes; ++lane) {
          const uint32_t at = 8 * (lane ^ 3);
          t.v(2, lane) = at - 256;
          const uint64_t memory = atomicOperand(c.bytes, lane * 3);
          const uint64_t data = lane % 2 && c.operands == 2 ? memory : atomicOperand(c.bytes, lane * 5 + 1);
          const uint64_t data2 = atomicOperand(c.bytes, lane);
          memcpy(&t.ldsBytes()[at + 256 - 256], &memory, c.bytes);
          for (unsigned r = 0; r < n; ++r) {
            t.v(8 + r, lane) = static_cast<uint32_t>(data >> 32 * r);
            t.v(12 + r, lane) = static_cast<uint32_t>(data2 >> 32 * r);
          }
          before.push_back(memory);
          after.push_back(exec >> lane & 1 ? c.result(memory, data, data2) : memory);
        }
        t.exec(exec);
        std::string name = c.name;
        name.replace(name.find("%s"), 2, returns ? "_rtn" : "");
        const std::string text = "ds_" + name + " " + (returns ? vgprs(20, n) + ", " : "") + "v2, " + vgprs(8, n) +
                                 (c.operands == 2 ? ", " + vgprs(12, n) : "") + " offset:256";
        ASSERT_TRUE(t.run(text)) << text;
        for (unsigned lane = 0; lane < kMaxLanes; ++lane) {
          uint64_t memory = 0;
          memcpy(&memory, &t.ldsBytes()[8 * (lane ^ 3)], c.bytes);
          ASSERT_EQ(memory, after[lane]) << text << " lane " << lane;
          for (unsigned r = 0; r < n; ++r)
            ASSERT_EQ(t.v(20 + r, lane),
                      returns && (exec >> lane & 1) ? static_cast<uint32_t>(before[lane] >> 32 * r) : kPoison)
                << text;
        }
      }
}

TEST(Ds, AtomicsOfManyLanesOnOneAddress) {
  ExecTest t;
  t.lds(64);
  t.setVector(2, 4);
  t.setVector(8, 2);
  ASSERT_TRUE(t.run("ds_add_rtn_u32 v9, v2, v8"));
  EXPECT_EQ(t.ldsWord(4), 128u);
  uint64_t seen = 0;
  for (unsigned lane = 0; lane < kMaxLanes; ++lane)
    seen |= 1ull << t.v(9, lane) / 2;
  EXPECT_EQ(seen, ~0ull);
  t.setVector(2, 5);
  EXPECT_FALSE(t.run("ds_add_u32 v2, v8")) << "not aligned";
  EXPECT_EQ(t.fault().address, t.sharedAperture() + 5);
  t.setVector(2, 64);
  t.setVector(9, 7);
  ASSERT_TRUE(t.run("ds_add_rtn_u32 v9, v2, v8")) << "out of range";
  EXPECT_EQ(t.v(9, 0), 0u);
}

uint32_t dsF32(const char *name, uint32_t memory, uint32_t data, uint32_t mode = kDefaultMode, uint32_t data2 = 0) {
  ExecTest t;
  t.lds(64);
  t.setLdsWord(8, memory);
  t.setVector(2, 8);
  t.setVector(8, data);
  t.setVector(9, data2);
  t.mode(mode);
  t.exec(1);
  const bool two = std::string_view(name).find("cmpst") != std::string_view::npos;
  EXPECT_TRUE(t.run(std::string("ds_") + name + "_rtn_f32 v12, v2, v8" + (two ? ", v9" : "")));
  EXPECT_EQ(t.v(12, 0), memory);
  return t.ldsWord(8);
}

TEST(Ds, FloatAtomics) {
  constexpr uint32_t kFlush = kDefaultMode & ~0x30u;
  EXPECT_EQ(dsF32("add", f32(1.5f), f32(2.0f)), f32(3.5f));
  EXPECT_EQ(dsF32("add", 1, 2), 3u) << "denormals as MODE says";
  EXPECT_EQ(dsF32("add", 1, 2, kFlush), 0u);
  EXPECT_EQ(dsF32("add", f32(1.0f), f32(0x1p-25f), kDefaultMode | 5), f32(1.0f)) << "to nearest whatever MODE says";
  EXPECT_EQ(dsF32("add", 0x7f800000, 0xff800000), 0x7fc00000u);
  EXPECT_EQ(dsF32("min", f32(-0.0f), f32(0.0f)), f32(-0.0f));
  EXPECT_EQ(dsF32("min", f32(0.0f), f32(-0.0f)), f32(-0.0f));
  EXPECT_EQ(dsF32("max", f32(-0.0f), f32(0.0f)), f32(0.0f));
  EXPECT_EQ(dsF32("max", f32(1.0f), 0x7f800000), 0x7f800000u);
  EXPECT_EQ(dsF32("max", 0x7fc00000, f32(-1.0f)), f32(-1.0f));
  EXPECT_EQ(dsF32("min", f32(-1.0f), 0x7f800001), 0x7fc00001u);
  EXPECT_EQ(dsF32("min", 5, 3), 3u);
  EXPECT_EQ(dsF32("min", 5, 3, kFlush), 5u) << "both are 0 to the comparison";
  EXPECT_EQ(dsF32("cmpst", f32(0.0f), f32(-0.0f), kDefaultMode, 77), 77u) << "-0 equals +0";
  EXPECT_EQ(dsF32("cmpst", 0x7fc00000, 0x7fc00000, kDefaultMode, f32(7.0f)), 0x7fc00000u) << "NaN equals nothing";
  EXPECT_EQ(dsF32("cmpst", f32(2.0f), f32(2.0f), kDefaultMode, f32(7.0f)), f32(7.0f));

  ExecTest t;
  t.lds(64);
  t.setVector(2, 8);
  t.exec(1);
  auto f64Atomic = [&](const char *name, uint64_t memory, uint64_t data) {
    memcpy(&t.ldsBytes()[8], &memory, 8);
    t.setVector64(8, data);
    EXPECT_TRUE(t.run(std::string("ds_") + name + "_f64 v2, v[8:9]"));
    uint64_t result;
    memcpy(&result, &t.ldsBytes()[8], 8);
    return result;
  };
  EXPECT_EQ(f64Atomic("add", f64(1.0), f64(2.0)), f64(3.0));
  EXPECT_EQ(f64Atomic("min", f64(1.0), f64(2.0)), f64(1.0));
  EXPECT_EQ(f64Atomic("max", f64(1.0), f64(2.0)), f64(2.0));
  t.mode(kDefaultMode & ~0xf0u);
  EXPECT_EQ(f64Atomic("add", 1, 2), 3u) << "the f64 adder never flushes";
}

TEST(Ds, AppendConsume) {
  ExecTest t;
  t.lds(64);
  t.setLdsWord(12, 100);
  t.m0(4);
  t.exec(0xf0f);
  ASSERT_TRUE(t.run("ds_append v4 offset:8"));
  EXPECT_EQ(t.v(4, 0), 100u);
  EXPECT_EQ(t.v(4, 4), kPoison);
  EXPECT_EQ(t.v(4, 11), 100u);
  EXPECT_EQ(t.ldsWord(12), 108u);
  ASSERT_TRUE(t.run("ds_consume v5 offset:8"));
  EXPECT_EQ(t.v(5, 0), 108u);
  EXPECT_EQ(t.ldsWord(12), 100u);
}

TEST(Ds, AddTid) {
  ExecTest t;
  t.lds(512);
  t.m0(64);
  for (unsigned lane = 0; lane < kMaxLanes; ++lane)
    t.v(8, lane) = 500 + lane;
  t.exec(~1ull);
  ASSERT_TRUE(t.run("ds_write_addtid_b32 v8 offset:16\nds_read_addtid_b32 v9 offset:20"));
  EXPECT_EQ(t.ldsWord(80), 0u);
  for (unsigned lane = 1; lane < 63; ++lane) {
    EXPECT_EQ(t.ldsWord(80 + 4 * lane), 500 + lane);
    EXPECT_EQ(t.v(9, lane), 501 + lane);
  }
}

TEST(Ds, PermuteAsInTheManual) {
  // The manual's examples, in lanes 0-3: A, B, C, D.
  for (uint64_t exec : {0xfull, 0xaull}) {
    ExecTest t;
    t.setVector(8, {'A', 'B', 'C', 'D'});
    t.setVector(2, {0, 0, 12, 4});
    t.exec(exec);
    ASSERT_TRUE(t.run("ds_permute_b32 v4, v2, v8\nds_bpermute_b32 v5, v2, v8"));
    const std::vector<uint32_t> forward =
        exec == 0xf ? std::vector<uint32_t>{'B', 'D', 0, 'C'} : std::vector<uint32_t>{kPoison, 'D', kPoison, 0};
    const std::vector<uint32_t> backward =
        exec == 0xf ? std::vector<uint32_t>{'A', 'A', 'D', 'B'} : std::vector<uint32_t>{kPoison, 0, kPoison, 'B'};
    for (unsigned lane = 0; lane < 4; ++lane) {
      EXPECT_EQ(t.v(4, lane), forward[lane]);
      EXPECT_EQ(t.v(5, lane), backward[lane]);
    }
  }
}

TEST(Ds, PermuteAllLanes) {
  ExecTest t;
  for (unsigned lane = 0; lane < kMaxLanes; ++lane) {
    t.v(8, lane) = 1000 + lane;
    t.v(2, lane) = 4 * (lane * 5 % 64) + lane % 4 + 256 * lane; // high and low bits are ignored
  }
  // The result may be the data or the address.
  ASSERT_TRUE(t.run("ds_bpermute_b32 v4, v2, v8 offset:4\nds_permute_b32 v8, v2, v8"));
  for (unsigned lane = 0; lane < kMaxLanes; ++lane) {
    EXPECT_EQ(t.v(4, lane), 1000 + (lane * 5 + 1) % 64);
    EXPECT_EQ(t.v(8, lane * 5 % 64), 1000 + lane);
  }
}

std::vector<uint32_t> swizzled(uint32_t offset, uint64_t exec = ~0ull) {
  ExecTest t;
  for (unsigned lane = 0; lane < kMaxLanes; ++lane)
    t.v(2, lane) = lane + 1; // as in the manual's examples
  t.exec(exec);
  EXPECT_TRUE(t.run("ds_swizzle_b32 v4, v2 offset:" + std::to_string(offset)));
  return {t.lanes(4).begin(), t.lanes(4).end()};
}

TEST(Ds, SwizzleAsInTheManual) {
  auto expect = [](uint32_t offset, std::initializer_list<uint32_t> lanes) {
    const std::vector<uint32_t> result = swizzled(offset);
    unsigned n = 0;
    for (uint32_t x : lanes) {
      EXPECT_EQ(result[n], x) << std::hex << offset << " lane " << n;
      EXPECT_EQ(result[n + 32], x + 32) << std::hex << offset << " lane " << n + 32;
      ++n;
    }
  };
  // FFT.
  expect(0xe000, {0x1, 0x11, 0x9, 0x19, 0x5, 0x15, 0xd, 0x1d, 0x3, 0x13, 0xb, 0x1b, 0x7, 0x17, 0xf,  0x1f,
                  0x2, 0x12, 0xa, 0x1a, 0x6, 0x16, 0xe, 0x1e, 0x4, 0x14, 0xc, 0x1c, 0x8, 0x18, 0x10, 0x20});
  expect(0xe010, {0x1,  0x9,  0x5,  0xd,  0x3,  0xb,  0x7,  0xf,  0x2,  0xa,  0x6,  0xe,  0x4,  0xc,  0x8,  0x10,
                  0x11, 0x19, 0x15, 0x1d, 0x13, 0x1b, 0x17, 0x1f, 0x12, 0x1a, 0x16, 0x1e, 0x14, 0x1c, 0x18, 0x20});
  // Rotate left and right by one.
  expect(0xc000 | 1 << 5,
         {2,    3,    4,    5,    6,    7,    8,    9,    0xa,  0xb,  0xc,  0xd,  0xe,  0xf,  0x10, 0x11,
          0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f, 0x20, 1});
  expect(0xc000 | 1 << 10 | 1 << 5,
         {0x20, 1,    2,    3,    4,    5,    6,    7,    8,    9,    0xa,  0xb,  0xc,  0xd,  0xe,  0xf,
          0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f});
  // Groups of four, and exchange within 32.
  const std::vector<uint32_t> quad = swizzled(0x8000 | 0x1b), swap = swizzled(0x1f | 1 << 10),
                              broadcast = swizzled(5 << 5), masked = swizzled(0x1f | 1 << 10, 0x5555555555555555);
  for (unsigned lane = 0; lane < kMaxLanes; ++lane) {
    EXPECT_EQ(quad[lane], (lane ^ 3) + 1);
    EXPECT_EQ(swap[lane], (lane ^ 1) + 1);
    EXPECT_EQ(broadcast[lane], (lane & 32) + 6);
    EXPECT_EQ(masked[lane], lane % 2 ? kPoison : 0u) << "inactive lanes give 0";
  }
}

TEST(Ds, GlobalWaveSync) {
  // One wave is a whole grid here: initialised for one wave (its number less one), the barrier is passed at once.
  ExecTest t;
  t.setVector(2, 0);
  t.m0(5 << 16);
  ASSERT_TRUE(t.run("ds_gws_init v2 offset:1 gds\ns_waitcnt 0\nds_gws_barrier v2 offset:1 gds\ns_waitcnt 0\n"
                    "ds_gws_barrier v2 offset:1 gds\ns_waitcnt 0\ns_mov_b32 s0, 1"));
  EXPECT_EQ(t.s(0), 1u);
}

// A semaphore with a count: init 1, v adds one, br adds what the first active lane has; so many times p passes.
TEST(Ds, GlobalWaveSyncSemaphore) {
  ExecTest t;
  t.setVector(2, 1);
  t.v(4, 0) = 100;
  t.v(4, 3) = 2;
  t.m0(5 << 16);
  t.exec(8);
  ASSERT_TRUE(t.run("ds_gws_init v2 offset:2 gds\ns_waitcnt 0\nds_gws_sema_v offset:2 gds\ns_waitcnt 0\n"
                    "ds_gws_sema_br v4 offset:2 gds\ns_waitcnt 0\n"
                    "ds_gws_sema_p offset:2 gds\ns_waitcnt 0\nds_gws_sema_p offset:2 gds\ns_waitcnt 0\n"
                    "ds_gws_sema_p offset:2 gds\ns_waitcnt 0\nds_gws_sema_release_all offset:2 gds\ns_waitcnt 0\n"
                    "ds_gws_sema_p offset:2 gds\ns_waitcnt 0\ns_mov_b32 s0, 1"));
  EXPECT_EQ(t.s(0), 1u) << "a release of nobody takes nothing away";
}

} // namespace
} // namespace luthier::vgpu::test
