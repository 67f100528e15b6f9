// DS instructions whose data are in LDS: both ways to say where, every operation, and lanes out of range.

#include "harness.h"

#include <cmath>
#include <functional>
#include <limits>
#include <string>

namespace luthier::vgpu::test {
namespace {

struct Operation {
  const char *name;
  bool wide;
  std::function<uint64_t(uint64_t, uint64_t)> result; ///< of the destination and the data
};

const Operation kOperations[] = {
    {"add_src2_u32", false, [](uint64_t a, uint64_t b) { return a + b; }},
    {"sub_src2_u32", false, [](uint64_t a, uint64_t b) { return a - b; }},
    {"rsub_src2_u32", false, [](uint64_t a, uint64_t b) { return b - a; }},
    {"inc_src2_u32", false, [](uint64_t a, uint64_t b) { return a >= b ? 0 : a + 1; }},
    {"dec_src2_u32", false, [](uint64_t a, uint64_t b) { return a == 0 || a > b ? b : a - 1; }},
    {"min_src2_i32", false, [](uint64_t a, uint64_t b) { return int32_t(b) < int32_t(a) ? b : a; }},
    {"max_src2_i32", false, [](uint64_t a, uint64_t b) { return int32_t(b) > int32_t(a) ? b : a; }},
    {"min_src2_u32", false, [](uint64_t a, uint64_t b) { return b < a ? b : a; }},
    {"max_src2_u32", false, [](uint64_t a, uint64_t b) { return b > a ? b : a; }},
    {"and_src2_b32", false, [](uint64_t a, uint64_t b) { return a & b; }},
    {"or_src2_b32", false, [](uint64_t a, uint64_t b) { return a | b; }},
    {"xor_src2_b32", false, [](uint64_t a, uint64_t b) { return a ^ b; }},
    {"write_src2_b32", false, [](uint64_t, uint64_t b) { return b; }},
    {"add_src2_u64", true, [](uint64_t a, uint64_t b) { return a + b; }},
    {"sub_src2_u64", true, [](uint64_t a, uint64_t b) { return a - b; }},
    {"rsub_src2_u64", true, [](uint64_t a, uint64_t b) { return b - a; }},
    {"inc_src2_u64", true, [](uint64_t a, uint64_t b) { return a >= b ? 0 : a + 1; }},
    {"dec_src2_u64", true, [](uint64_t a, uint64_t b) { return a == 0 || a > b ? b : a - 1; }},
    {"min_src2_i64", true, [](uint64_t a, uint64_t b) { return int64_t(b) < int64_t(a) ? b : a; }},
    {"max_src2_i64", true, [](uint64_t a, uint64_t b) { return int64_t(b) > int64_t(a) ? b : a; }},
    {"min_src2_u64", true, [](uint64_t a, uint64_t b) { return b < a ? b : a; }},
    {"max_src2_u64", true, [](uint64_t a, uint64_t b) { return b > a ? b : a; }},
    {"and_src2_b64", true, [](uint64_t a, uint64_t b) { return a & b; }},
    {"or_src2_b64", true, [](uint64_t a, uint64_t b) { return a | b; }},
    {"xor_src2_b64", true, [](uint64_t a, uint64_t b) { return a ^ b; }},
    {"write_src2_b64", true, [](uint64_t, uint64_t b) { return b; }},
};

constexpr uint32_t kDestinations = 1024, kData = 2048; // where they begin

uint64_t destinationOf(unsigned lane) { return 0x9e3779b97f4a7c15ull * (lane + 1); }
uint64_t dataOf(unsigned lane) { return lane % 8 == 0 ? destinationOf(lane) : 0xc2b2ae3d27d4eb4full * (lane + 5); }

void put(ExecTest &t, uint32_t at, uint64_t value) {
  t.setLdsWord(at, uint32_t(value));
  t.setLdsWord(at + 4, uint32_t(value >> 32));
}

TEST(DsSrc2, Operations) {
  for (const Operation &operation : kOperations)
    for (const bool byLane : {false, true}) {
      SCOPED_TRACE(operation.name);
      ExecTest t("gfx906");
      t.lds(4096);
      // The data of the next lane but one: dwords from the destination, in the instruction or in the address.
      const int dwords = int(kData - kDestinations) / 4 + 4;
      for (unsigned lane = 0; lane < 64; ++lane) {
        put(t, kDestinations + 8 * lane, destinationOf(lane));
        put(t, kData + 8 * (lane + 2), dataOf(lane));
        t.v(2, lane) = kDestinations + 8 * lane + (byLane ? uint32_t(dwords) << 17 : 0);
      }
      t.exec(0xfffffffffffffff0);
      const std::string text =
          "ds_" + std::string(operation.name) + " v2 offset:" + std::to_string(byLane ? 0x8000 : dwords);
      ASSERT_TRUE(t.run(text)) << text;
      const uint64_t mask = operation.wide ? ~0ull : 0xffffffff;
      for (unsigned lane = 0; lane < 64; ++lane) {
        const uint64_t a = destinationOf(lane), b = dataOf(lane);
        const uint64_t expected = lane < 4 ? a & mask : operation.result(a & mask, b & mask) & mask;
        const uint32_t at = kDestinations + 8 * lane;
        EXPECT_EQ((t.ldsWord(at) | uint64_t{t.ldsWord(at + 4)} << 32) & mask, expected) << lane;
        EXPECT_EQ(t.ldsWord(kData + 8 * (lane + 2)), uint32_t(b)); // data stay
      }
    }
}

TEST(DsSrc2, DataMayLieBeforeTheDestination) {
  ExecTest t("gfx900");
  t.lds(256);
  t.setLdsWord(100, 7);
  t.setLdsWord(92, 30);
  t.setVector(2, 100);
  t.setVector(3, 100 | (0u - 2u) << 17);
  t.exec(1);
  ASSERT_TRUE(t.run("ds_add_src2_u32 v2 offset:32766\n" // -2 in 15 bits
                    "ds_add_src2_u32 v3 offset:32768"));
  EXPECT_EQ(t.ldsWord(100), 67u);
}

TEST(DsSrc2, Floats) {
  ExecTest t("gfx908");
  t.lds(256);
  const auto run = [&](const char *name, uint32_t a, uint32_t b) {
    t.setLdsWord(16, a);
    t.setLdsWord(20, b);
    t.setVector(2, 16);
    t.exec(1);
    EXPECT_TRUE(t.run("ds_" + std::string(name) + " v2 offset:1"));
    return t.ldsWord(16);
  };
  EXPECT_EQ(run("add_src2_f32", f32(1.5f), f32(2.25f)), f32(3.75f));
  EXPECT_EQ(run("min_src2_f32", f32(1.5f), f32(-2.25f)), f32(-2.25f));
  EXPECT_EQ(run("max_src2_f32", f32(1.5f), f32(-2.25f)), f32(1.5f));
  EXPECT_EQ(run("max_src2_f32", f32(NAN), f32(-2.25f)), f32(-2.25f));
  EXPECT_EQ(run("add_src2_f32", 1, 2), 3u); // denormals, as MODE says
  t.mode(kDefaultMode & ~mode::kDenormF32);
  EXPECT_EQ(run("add_src2_f32", 1, 2), 0u);
  t.mode(kDefaultMode);
  put(t, 32, f64(-1.5));
  put(t, 40, f64(4.5));
  t.setVector(2, 32);
  ASSERT_TRUE(t.run("ds_max_src2_f64 v2 offset:2"));
  EXPECT_EQ(t.ldsWord(32) | uint64_t{t.ldsWord(36)} << 32, f64(4.5));
  ASSERT_TRUE(t.run("ds_min_src2_f64 v2 offset:2"));
  EXPECT_EQ(t.ldsWord(32) | uint64_t{t.ldsWord(36)} << 32, f64(4.5));
}

TEST(DsSrc2, OutOfRange) {
  ExecTest t("gfx908");
  t.lds(64);
  t.setLdsWord(60, 9);
  t.setLdsWord(0, 5);
  t.setVector(2, {60, 64}); // data outside; the destination outside
  t.exec(3);
  ASSERT_TRUE(t.run("ds_add_src2_u32 v2 offset:1"));
  EXPECT_EQ(t.ldsWord(60), 9u);
  EXPECT_EQ(t.ldsWord(0), 5u);
  t.setVector(2, 2);
  EXPECT_FALSE(t.run("ds_add_src2_u32 v2")); // unaligned
  EXPECT_FALSE(t.run("ds_add_src2_u32 v2 gds"));
}

} // namespace
} // namespace luthier::vgpu::test
