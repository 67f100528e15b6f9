// The harness itself: what it sets is what the snippet sees, and what ends early says why.

#include "harness.h"

namespace luthier::vgpu::test {
namespace {

TEST(Harness, RegistersKeepTheirStateAcrossRuns) {
  ExecTest t;
  t.s(4) = 3;
  t.s(5) = 4;
  t.scc(true);
  ASSERT_TRUE(t.run("s_add_u32 s6, s4, s5")) << "needs s_endpgm (sopp.cc)";
  EXPECT_EQ(t.s(6), 7u);
  EXPECT_FALSE(t.scc());
  EXPECT_EQ(t.s(7), kPoison);
  EXPECT_EQ(t.exec(), ~0ull);
  EXPECT_EQ(t.mode(), kDefaultMode);
  EXPECT_EQ(t.executed(), 2u);
  ASSERT_TRUE(t.run("s_add_u32 s6, s6, s6\ns_add_u32 s6, s6, s6"));
  EXPECT_EQ(t.s(6), 28u);
  EXPECT_EQ(t.executed(), 3u);
}

TEST(Harness, InactiveLanesAreUntouched) {
  ExecTest t;
  t.setVector(1, f32(1.0f));
  t.setVector(2, {f32(2.0f), f32(3.0f), f32(4.0f)});
  t.exec(0x5);
  ASSERT_TRUE(t.run("v_add_f32 v0, v1, v2"));
  EXPECT_EQ(t.v(0, 0), f32(3.0f));
  EXPECT_EQ(t.v(0, 1), kPoison);
  EXPECT_EQ(t.v(0, 2), f32(5.0f));
  EXPECT_EQ(t.v(0, 63), kPoison);
}

TEST(Harness, WhatDoesNotAssembleIsReported) {
  ExecTest t;
  const testing::AssertionResult result = t.run("v_no_such_thing v0");
  EXPECT_FALSE(result);
  EXPECT_NE(std::string(result.message()).find("invalid instruction"), std::string::npos) << result.message();
}

TEST(Harness, SymbolsOfOthersAreRefused) {
  ExecTest t;
  EXPECT_FALSE(t.run("s_mov_b32 s0, somewhere_else"));
}

TEST(Harness, FaultsAreReported) {
  ExecTest t;
  EXPECT_FALSE(t.run(".long 0xffffffff"));
  EXPECT_EQ(t.fault().kind, Fault::Kind::IllegalInstruction);
  EXPECT_EQ(t.fault().address, t.codeAddress());
  EXPECT_NE(t.fault().text.find("snippet"), std::string::npos) << t.fault().text;
}

TEST(Harness, BranchesAndLabels) {
  ExecTest t;
  t.s(0) = 0;
  t.s(1) = 10;
  t.s(2) = 1;
  ASSERT_TRUE(t.run(R"(
    loop:
      s_add_u32 s0, s0, s2
      s_cmp_lt_u32 s0, s1
      s_cbranch_scc1 loop)"));
  EXPECT_EQ(t.s(0), 10u);
  EXPECT_EQ(t.executed(), 31u);
}

} // namespace
} // namespace luthier::vgpu::test
