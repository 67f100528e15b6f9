// SOPP: branches, waiting, and what stops a wave.

#include "harness.h"

#include <string>

namespace luthier::vgpu::test {
namespace {

TEST(Sopp, ConditionalBranches) {
  const struct {
    const char *name;
    bool (*taken)(bool scc, uint64_t vcc, uint64_t exec);
  } branches[] = {
      {"s_cbranch_scc0", [](bool scc, uint64_t, uint64_t) { return !scc; }},
      {"s_cbranch_scc1", [](bool scc, uint64_t, uint64_t) { return scc; }},
      {"s_cbranch_vccz", [](bool, uint64_t vcc, uint64_t) { return vcc == 0; }},
      {"s_cbranch_vccnz", [](bool, uint64_t vcc, uint64_t) { return vcc != 0; }},
      {"s_cbranch_execz", [](bool, uint64_t, uint64_t exec) { return exec == 0; }},
      {"s_cbranch_execnz", [](bool, uint64_t, uint64_t exec) { return exec != 0; }},
      {"s_cbranch_cdbgsys", [](bool, uint64_t, uint64_t) { return false; }},
      {"s_cbranch_cdbguser", [](bool, uint64_t, uint64_t) { return false; }},
      {"s_cbranch_cdbgsys_or_user", [](bool, uint64_t, uint64_t) { return false; }},
      {"s_cbranch_cdbgsys_and_user", [](bool, uint64_t, uint64_t) { return false; }},
      {"s_branch", [](bool, uint64_t, uint64_t) { return true; }},
  };
  const uint64_t masks[] = {0, 1, 1ull << 63, 1ull << 32, ~0ull};
  for (const auto &branch : branches)
    for (const bool scc : {false, true})
      for (const uint64_t vcc : masks)
        for (const uint64_t exec : masks) {
          ExecTest t;
          t.scc(scc);
          t.vcc(vcc);
          t.exec(exec);
          t.s(0) = 0;
          ASSERT_TRUE(t.run(std::string(branch.name) + " target\ns_mov_b32 s0, 1\ntarget:"));
          EXPECT_EQ(t.s(0), branch.taken(scc, vcc, exec) ? 0u : 1u) << branch.name;
          EXPECT_EQ(t.scc(), scc);
        }
}

TEST(Sopp, BranchesAcrossChunks) {
  // Chunks of decoded code have 64 KiB: there and back, and a run straight through the border.
  ExecTest t;
  t.s(0) = 0;
  ASSERT_TRUE(t.run(R"(
      s_branch far
    back:
      s_add_u32 s0, s0, 1
      s_cmp_lt_u32 s0, 3
      s_cbranch_scc0 done
      s_branch far
      .fill 20000, 4, 0xbf800000
    far:
      s_add_u32 s0, s0, 16
      s_branch back
    done:)"));
  EXPECT_EQ(t.s(0), 17u);
  t.s(0) = 0;
  ASSERT_TRUE(t.run(".fill 40000, 4, 0xbf800000\ns_mov_b32 s0, 1"));
  EXPECT_EQ(t.s(0), 1u);
  EXPECT_EQ(t.executed(), 40002u);
}

TEST(Sopp, WhatDoesNothing) {
  ExecTest t;
  t.scc(true);
  t.m0(7);
  ASSERT_TRUE(t.run(R"(
    s_nop 15
    s_waitcnt 0
    s_waitcnt vmcnt(3) lgkmcnt(1)
    s_setprio 3
    s_wakeup
    s_incperflevel 1
    s_decperflevel 1
    s_ttracedata
    s_sleep 127
    s_barrier
    s_sethalt 0
    s_setkill 0
    s_icache_inv
    s_trap 3
    s_sendmsg sendmsg(MSG_INTERRUPT))"));
  EXPECT_TRUE(t.scc());
  EXPECT_EQ(t.m0(), 7u);
  EXPECT_EQ(t.executed(), 16u);
  EXPECT_EQ(t.mode(), kDefaultMode);
}

TEST(Sopp, EndInTheMiddle) {
  ExecTest t;
  t.s(0) = 0;
  ASSERT_TRUE(t.run("s_mov_b32 s0, 1\ns_endpgm\ns_mov_b32 s0, 2"));
  EXPECT_EQ(t.s(0), 1u);
  ASSERT_TRUE(t.run("s_mov_b32 s0, 3\ns_endpgm_saved\ns_mov_b32 s0, 2"));
  EXPECT_EQ(t.s(0), 3u);
}

TEST(Sopp, Traps) {
  ExecTest t;
  EXPECT_FALSE(t.run("s_nop 0\ns_trap 2"));
  EXPECT_EQ(t.fault().kind, Fault::Kind::Trap);
  EXPECT_EQ(t.fault().address, t.codeAddress() + 4);
}

TEST(Sopp, WhatNeedsADebuggerOrTrapHandlerStops) {
  for (const char *snippet :
       {"s_sethalt 1", "s_setkill 1", "s_sendmsg sendmsg(MSG_GET_DOORBELL)", "s_sendmsg sendmsg(MSG_HALT_WAVES)",
        "s_sendmsg sendmsg(MSG_GS_DONE, GS_OP_NOP)", "s_sendmsg 0", "s_sendmsghalt sendmsg(MSG_INTERRUPT)"}) {
    ExecTest t;
    EXPECT_FALSE(t.run(snippet)) << snippet;
    EXPECT_EQ(t.fault().kind, Fault::Kind::IllegalInstruction) << snippet;
  }
}

TEST(Sopp, GprIndexMode) {
  ExecTest t;
  t.m0(0x12345678);
  ASSERT_TRUE(t.run("s_set_gpr_idx_mode 0xa\ns_set_gpr_idx_off"));
  EXPECT_EQ(t.m0(), 0x1234a678u);
}

} // namespace
} // namespace luthier::vgpu::test
