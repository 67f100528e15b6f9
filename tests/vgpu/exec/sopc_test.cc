// SOPC against the manual's definitions, and the modes that it switches.

#include "scalar_cases.h"

namespace luthier::vgpu::test {
namespace {

using u32 = uint32_t;
using u64 = uint64_t;
using i32 = int32_t;

/// Only SCC may change: the destination register keeps its old value.
void check(const std::string &instruction, const std::function<bool(u64 a, u64 b)> &f) {
  checkScalar(instruction, true, edgeInputs(true),
              [&](const ScalarInput &in) { return ScalarResult{in.d, f(in.a, in.b)}; });
}

TEST(Sopc, Compares) {
  const struct {
    const char *name;
    bool (*f)(int64_t, int64_t);
  } conditions[] = {
      {"eq", [](int64_t a, int64_t b) { return a == b; }}, {"lg", [](int64_t a, int64_t b) { return a != b; }},
      {"gt", [](int64_t a, int64_t b) { return a > b; }},  {"ge", [](int64_t a, int64_t b) { return a >= b; }},
      {"lt", [](int64_t a, int64_t b) { return a < b; }},  {"le", [](int64_t a, int64_t b) { return a <= b; }},
  };
  for (const auto &c : conditions) {
    check(std::string("s_cmp_") + c.name + "_i32 s8, s10", [&](u64 a, u64 b) { return c.f(i32(a), i32(b)); });
    check(std::string("s_cmp_") + c.name + "_u32 s8, s10", [&](u64 a, u64 b) { return c.f(u32(a), u32(b)); });
  }
  check("s_cmp_eq_u64 s[8:9], s[10:11]", [](u64 a, u64 b) { return a == b; });
  check("s_cmp_lg_u64 s[8:9], s[10:11]", [](u64 a, u64 b) { return a != b; });
}

TEST(Sopc, BitTests) {
  check("s_bitcmp0_b32 s8, s10", [](u64 a, u64 b) { return (a >> b % 32 & 1) == 0; });
  check("s_bitcmp1_b32 s8, s10", [](u64 a, u64 b) { return (a >> b % 32 & 1) == 1; });
  check("s_bitcmp0_b64 s[8:9], s10", [](u64 a, u64 b) { return (a >> b % 64 & 1) == 0; });
  check("s_bitcmp1_b64 s[8:9], s10", [](u64 a, u64 b) { return (a >> b % 64 & 1) == 1; });
}

TEST(Sopc, VskipLeavesVectorInstructionsOut) {
  ExecTest t;
  t.s(0) = 0;
  ASSERT_TRUE(t.run(R"(
      v_mov_b32 v0, 1
      s_setvskip 4, 2
      v_mov_b32 v0, 2
      ds_write_b32 v1, v1
    again:
      s_add_u32 s0, s0, 1
      s_cmp_lt_u32 s0, 3
      s_cbranch_scc1 again
      s_barrier
      v_mov_b32 v1, 3
      s_setvskip 4, 1
      v_mov_b32 v2, 4)"));
  EXPECT_EQ(t.v(0, 0), 1u);
  EXPECT_EQ(t.v(1, 0), kPoison);
  EXPECT_EQ(t.v(2, 0), 4u);
  EXPECT_EQ(t.s(0), 3u);
  EXPECT_EQ(t.mode(), kDefaultMode);
}

TEST(Sopc, GprIndexingOfASource) {
  ExecTest t;
  for (u32 reg = 0; reg < 8; ++reg)
    t.setVector(reg, 100 + reg);
  t.s(0) = 0x305;
  t.m0(0xffff0000);
  ASSERT_TRUE(t.run(R"(
    s_set_gpr_idx_on s0, gpr_idx(SRC0)
    v_mov_b32 v20, v1
    v_mov_b32 v21, 7
    s_set_gpr_idx_off
    v_mov_b32 v22, v1)"));
  EXPECT_EQ(t.m0(), 0xffff1005u);
  EXPECT_EQ(t.v(20, 63), 106u);
  EXPECT_EQ(t.v(21, 63), 7u);
  EXPECT_EQ(t.v(22, 63), 101u);
  EXPECT_EQ(t.mode(), kDefaultMode);
}

TEST(Sopc, GprIndexingOfADestinationAndItsChanges) {
  ExecTest t;
  t.setVector(1, 11);
  t.setVector(2, 22);
  t.setVector(12, 33);
  t.s(0) = 10;
  t.s(1) = 20;
  t.exec(2);
  ASSERT_TRUE(t.run(R"(
    s_set_gpr_idx_on s0, gpr_idx(DST)
    v_add_u32 v30, v1, v2
    s_set_gpr_idx_idx s1
    v_add_u32 v30, v1, v2
    s_sleep 1
    s_set_gpr_idx_mode gpr_idx(SRC1)
    s_set_gpr_idx_idx s0
    v_add_u32 v31, v1, v2
    v_cmp_eq_u32 vcc, v1, v2
    v_readfirstlane_b32 s5, v1
    s_set_gpr_idx_off)"));
  EXPECT_EQ(t.v(40, 1), 33u);
  EXPECT_EQ(t.v(40, 0), kPoison);
  EXPECT_EQ(t.v(50, 1), 33u);
  EXPECT_EQ(t.v(31, 1), 44u) << "v1 + v12";
  EXPECT_EQ(t.vcc(), 0u);
  EXPECT_EQ(t.s(5), 11u);
  EXPECT_EQ(t.v(30, 1), kPoison);
}

TEST(Sopc, GprIndexingBeyondTheRegisters) {
  ExecTest t;
  t.setVector(0, 77);
  t.setVector(1, 5);
  t.s(0) = 255;
  ASSERT_TRUE(t.run(R"(
    s_set_gpr_idx_on s0, gpr_idx(SRC0)
    v_mov_b32 v20, v1
    s_set_gpr_idx_mode gpr_idx(DST)
    v_mov_b32 v1, v0
    s_set_gpr_idx_off)"));
  EXPECT_EQ(t.v(20, 0), 77u) << "v256 does not exist: v0 is read";
  EXPECT_EQ(t.acc(0, 0), kPoison) << "and nothing is written";
  EXPECT_EQ(t.v(1, 0), 5u);
}

TEST(Sopc, GprIndexingOfAnAccumulator) {
  ExecTest t;
  t.setVector(1, f32(2.0f));
  t.setVector(2, f32(3.0f));
  t.setVector(3, f32(100.0f));
  t.setVector(7, f32(10.0f));
  t.s(0) = 4;
  ASSERT_TRUE(t.run(R"(
    s_set_gpr_idx_on s0, gpr_idx(DST)
    v_fmac_f32 v3, v1, v2
    s_set_gpr_idx_off)"));
  EXPECT_EQ(t.v(7, 9), f32(16.0f)) << "the destination is read where it is written";
  EXPECT_EQ(t.v(3, 9), f32(100.0f));
}

} // namespace
} // namespace luthier::vgpu::test
