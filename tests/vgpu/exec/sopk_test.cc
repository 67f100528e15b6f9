// SOPK against the manual's definitions, and hardware registers.

#include "scalar_cases.h"

namespace luthier::vgpu::test {
namespace {

using u32 = uint32_t;
using u64 = uint64_t;
using i32 = int32_t;

constexpr i32 kConstants[] = {0, 1, -1, 2, 0x7fff, -0x8000, 0x1234, -2};

std::string text(i32 constant) { return std::to_string(constant & 0xffff); }

std::vector<ScalarInput> destinations() {
  std::vector<ScalarInput> inputs;
  for (const u32 edge : kEdgesU32)
    for (const u32 scc : {0u, 1u})
      inputs.push_back({0, 0, edge | 0xa5a5a5a500000000, scc});
  for (const i32 k : kConstants)
    for (const i32 near : {-1, 0, 1})
      inputs.push_back({0, 0, u32(k + near), 0});
  inputs.push_back({0, 0, 0x8000, 1});
  inputs.push_back({0, 0, 0xffff, 1});
  return inputs;
}

TEST(Sopk, MovesAndArithmetic) {
  for (const i32 k : kConstants) {
    checkScalar("s_movk_i32 s16, " + text(k), false, destinations(),
                [&](const ScalarInput &) { return ScalarResult{u64(k), {}}; });
    checkScalar("s_cmovk_i32 s16, " + text(k), false, destinations(),
                [&](const ScalarInput &in) { return ScalarResult{in.scc ? u64(k) : in.d, {}}; });
    checkScalar("s_addk_i32 s16, " + text(k), false, destinations(), [&](const ScalarInput &in) {
      const int64_t d = int64_t(i32(in.d)) + k;
      return ScalarResult{u64(d), d < INT32_MIN || d > INT32_MAX};
    });
    checkScalar("s_mulk_i32 s16, " + text(k), false, destinations(),
                [&](const ScalarInput &in) { return ScalarResult{u64(int64_t(i32(in.d)) * k), {}}; });
  }
}

TEST(Sopk, Compares) {
  const struct {
    const char *name;
    bool (*f)(int64_t, int64_t);
  } conditions[] = {
      {"eq", [](int64_t a, int64_t b) { return a == b; }}, {"lg", [](int64_t a, int64_t b) { return a != b; }},
      {"gt", [](int64_t a, int64_t b) { return a > b; }},  {"ge", [](int64_t a, int64_t b) { return a >= b; }},
      {"lt", [](int64_t a, int64_t b) { return a < b; }},  {"le", [](int64_t a, int64_t b) { return a <= b; }},
  };
  for (const auto &c : conditions)
    for (const i32 k : kConstants) {
      checkScalar(std::string("s_cmpk_") + c.name + "_i32 s16, " + text(k), true, destinations(),
                  [&](const ScalarInput &in) { return ScalarResult{in.d, c.f(i32(in.d), k)}; });
      checkScalar(std::string("s_cmpk_") + c.name + "_u32 s16, " + text(k), true, destinations(),
                  [&](const ScalarInput &in) { return ScalarResult{in.d, c.f(u32(in.d), k & 0xffff)}; });
    }
}

TEST(Sopk, Call) {
  ExecTest t;
  t.s(0) = 0;
  ASSERT_TRUE(t.run(R"(
      s_call_b64 s[4:5], function
      s_add_u32 s0, s0, 1
      s_branch done
    function:
      s_add_u32 s0, s0, 16
      s_setpc_b64 s[4:5]
    done:)"));
  EXPECT_EQ(t.s(0), 17u);
  EXPECT_EQ(t.s64(4), t.codeAddress() + 4);
}

TEST(Sopk, ModeIsReadAndWrittenByFields) {
  ExecTest t;
  t.s(1) = 0xfffffff9;
  ASSERT_TRUE(t.run(R"(
    s_getreg_b32 s0, hwreg(HW_REG_MODE)
    s_setreg_b32 hwreg(HW_REG_MODE, 2, 2), s1
    s_getreg_b32 s2, hwreg(HW_REG_MODE, 0, 8)
    s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 0xa5
    s_getreg_b32 s3, hwreg(HW_REG_MODE, 4, 5))"));
  EXPECT_EQ(t.s(0), kDefaultMode);
  EXPECT_EQ(t.s(2), 0xf4u);
  EXPECT_EQ(t.s(3), 0x15u);
  EXPECT_EQ(t.mode(), 0x354u);
}

TEST(Sopk, RoundingTakesEffectAtOnce) {
  ExecTest t;
  t.setVector(1, f32(1.0f));
  t.setVector(2, 0x33000000); // 2^-25: a quarter of an ulp
  ASSERT_TRUE(t.run(R"(
    v_add_f32 v3, v1, v2
    s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 1
    v_add_f32 v4, v1, v2
    s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 0
    v_add_f32 v5, v1, v2)"));
  EXPECT_EQ(t.v(3, 0), f32(1.0f));
  EXPECT_EQ(t.v(4, 0), f32(1.0f) + 1);
  EXPECT_EQ(t.v(5, 0), f32(1.0f));
}

TEST(Sopk, DenormalsAreFlushedAtOnce) {
  ExecTest t;
  t.setVector(1, 0x00000003);
  t.setVector(2, f32(1.0f));
  ASSERT_TRUE(t.run(R"(
    v_mul_f32 v3, v1, v2
    s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0
    v_mul_f32 v4, v1, v2)"));
  EXPECT_EQ(t.v(3, 0), 3u);
  EXPECT_EQ(t.v(4, 0), 0u);
}

TEST(Sopk, GprIndexingThroughMode) {
  ExecTest t;
  t.setVector(1, 10);
  t.setVector(4, 40);
  t.m0(0x1003);
  ASSERT_TRUE(t.run(R"(
    s_setreg_imm32_b32 hwreg(HW_REG_MODE, 27, 1), 1
    s_nop 1
    v_mov_b32 v5, v1
    s_setreg_imm32_b32 hwreg(HW_REG_MODE, 27, 1), 0
    s_nop 1
    v_mov_b32 v6, v1)"));
  EXPECT_EQ(t.v(5, 0), 40u);
  EXPECT_EQ(t.v(6, 0), 10u);
}

TEST(Sopk, Status) {
  ExecTest t;
  t.scc(true);
  t.vcc(0);
  ASSERT_TRUE(t.run("s_getreg_b32 s0, hwreg(HW_REG_STATUS)\ns_getreg_b32 s1, hwreg(HW_REG_STATUS, 9, 2)"));
  EXPECT_EQ(t.s(0) & 1, 1u);
  EXPECT_EQ(t.s(0) >> 16 & 1, 1u) << "VALID";
  EXPECT_EQ(t.s(0) >> 11 & 1, 0u) << "IN_TG: one wave only";
  EXPECT_EQ(t.s(1), 2u) << "VCCZ, not EXECZ";
  t.exec(0);
  t.vcc(1);
  t.scc(false);
  ASSERT_TRUE(t.run("s_getreg_b32 s0, hwreg(HW_REG_STATUS)\ns_getreg_b32 s1, hwreg(HW_REG_STATUS, 9, 2)"));
  EXPECT_EQ(t.s(0) & 1, 0u);
  EXPECT_EQ(t.s(1), 1u) << "EXECZ, not VCCZ";
}

TEST(Sopk, Apertures) {
  ExecTest t;
  ASSERT_TRUE(t.run(R"(
    s_getreg_b32 s0, hwreg(HW_REG_SH_MEM_BASES, 0, 16)
    s_getreg_b32 s1, hwreg(HW_REG_SH_MEM_BASES, 16, 16)
    s_getreg_b32 s2, hwreg(HW_REG_SH_MEM_BASES))"));
  EXPECT_EQ(u64(t.s(0)) << 48, t.privateAperture());
  EXPECT_EQ(u64(t.s(1)) << 48, t.sharedAperture());
  EXPECT_EQ(t.s(2), t.s(0) | t.s(1) << 16);
}

TEST(Sopk, Allocations) {
  ExecTest t;
  t.lds(1000);
  ASSERT_TRUE(t.run(R"(
    s_getreg_b32 s0, hwreg(HW_REG_LDS_ALLOC, 12, 9)
    s_getreg_b32 s1, hwreg(HW_REG_GPR_ALLOC, 6, 6)
    s_getreg_b32 s2, hwreg(HW_REG_IB_STS)
    s_getreg_b32 s3, hwreg(HW_REG_TRAPSTS)
    s_getreg_b32 s4, hwreg(HW_REG_HW_ID))"));
  EXPECT_EQ(t.s(0), 4u) << "units of 256 bytes";
  EXPECT_EQ(t.s(1), 63u) << "512 VGPRs";
  EXPECT_EQ(t.s(2), 0u);
  EXPECT_EQ(t.s(3), 0u);
  EXPECT_EQ(t.s(4), 0u) << "the first wave of the first workgroup";
}

TEST(Sopk, WhatDoesNotExistStops) {
  for (const char *snippet : {
           "s_getreg_b32 s0, hwreg(HW_REG_TBA_LO)",
           "s_getreg_b32 s0, hwreg(40)",
           "s_setreg_b32 hwreg(40), s0",
           "s_setreg_imm32_b32 hwreg(HW_REG_STATUS), 0",
           "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 12, 2), 1",
           "s_setreg_imm32_b32 hwreg(HW_REG_TRAPSTS, 10, 1), 1",
       }) {
    ExecTest t;
    EXPECT_FALSE(t.run(snippet)) << snippet;
    EXPECT_EQ(t.fault().kind, Fault::Kind::IllegalInstruction) << snippet;
    EXPECT_NE(t.fault().text.find("hardware register") != std::string::npos ||
                  t.fault().text.find("mode") != std::string::npos ||
                  t.fault().text.find("TRAPSTS") != std::string::npos,
              false)
        << t.fault().text;
  }
}

/// Which die the wave is on; the harness has one.
TEST(Sopk, XccId) {
  ExecTest t("gfx942");
  ASSERT_TRUE(t.run("s_getreg_b32 s0, hwreg(HW_REG_XCC_ID)"));
  EXPECT_EQ(t.s(0), 0u);
  ExecTest other("gfx90a");
  EXPECT_FALSE(other.run("s_getreg_b32 s0, hwreg(20)"));
}

} // namespace
} // namespace luthier::vgpu::test
