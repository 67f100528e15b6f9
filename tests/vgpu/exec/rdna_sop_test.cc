// Scalar ALU and control flow of RDNA: masks of either width, modes, hints, hardware registers, barriers of gfx12.

#include "rdna.h"

#include <gmock/gmock.h>

namespace luthier::vgpu::test {
namespace {

using testing::HasSubstr;

class RdnaSop : public Rdna {};
INSTANTIATE_TEST_SUITE_P(Targets, RdnaSop, kAllWaves, nameOf);

TEST_P(RdnaSop, BranchesLookAtTheMasksLanes) {
  t.setS64(kVcc, 0x100000000);
  t.s(0) = 0;
  ASSERT_TRUE(t.run("s_cbranch_vccz skip\ns_mov_b32 s0, 1\nskip:"));
  EXPECT_EQ(t.s(0), wave32() ? 0u : 1u);
  t.s(0) = 0;
  ASSERT_TRUE(t.run("s_cbranch_vccnz skip\ns_mov_b32 s0, 1\nskip:"));
  EXPECT_EQ(t.s(0), wave32() ? 1u : 0u);
  t.exec(0x100000000);
  t.s(0) = 0;
  ASSERT_TRUE(t.run("s_cbranch_execz skip\ns_mov_b32 s0, 1\nskip:"));
  EXPECT_EQ(t.s(0), wave32() ? 0u : 1u);
  t.setVector(0, kPoison);
  ASSERT_TRUE(t.run("v_mov_b32 v0, 1"));
  EXPECT_EQ(t.v(0, 0), kPoison);
  EXPECT_EQ(t.v(0, 32), wave32() ? kPoison : 1u) << "EXEC_HI enables no lane of a wave of 32";
}

TEST_P(RdnaSop, SaveExecHasBothWidths) {
  const std::string andNot1 = isAtLeast("gfx1100") ? "s_and_not1_saveexec_b32" : "s_andn2_saveexec_b32";
  t.exec(0xaaaa5555ffff0000);
  t.s(4) = 0xf0f0f0f0;
  t.s(8) = kPoison;
  t.s(9) = kPoison;
  ASSERT_TRUE(t.run("s_and_saveexec_b32 s8, s4"));
  EXPECT_EQ(t.s(8), 0xffff0000u);
  EXPECT_EQ(t.s(9), kPoison);
  EXPECT_EQ(t.s64(kExec), 0xaaaa5555f0f00000u);
  EXPECT_TRUE(t.scc());
  ASSERT_TRUE(t.run(andNot1 + " s8, s4"));
  EXPECT_EQ(t.s(kExec), 0xf0f0f0f0u & ~0xf0f00000u);
  ASSERT_TRUE(t.run("s_xor_saveexec_b32 s8, exec_lo"));
  EXPECT_EQ(t.s(kExec), 0u);
  EXPECT_FALSE(t.scc());
}

TEST_P(RdnaSop, TheNullRegisterIsZeroAndKeepsNothing) {
  t.s(0) = 5;
  ASSERT_TRUE(t.run("s_add_u32 null, s0, s0\ns_or_b32 s1, null, s0\ns_mov_b64 s[2:3], null"));
  EXPECT_EQ(t.s(1), 5u);
  EXPECT_EQ(t.s64(2), 0u);
  EXPECT_FALSE(t.fault().text.size());
  ASSERT_TRUE(t.run("s_mov_b32 m0, 9\ns_mov_b32 s1, m0"));
  EXPECT_EQ(t.s(1), 9u) << "M0 and NULL change places in gfx11";
}

TEST_P(RdnaSop, ModesHaveInstructions) {
  const uint32_t before = t.mode();
  ASSERT_TRUE(t.run("s_round_mode 0x5"));
  EXPECT_EQ(t.mode(), (before & ~0xfu) | 5);
  ASSERT_TRUE(t.run("s_denorm_mode 0x0"));
  EXPECT_EQ(t.mode(), (before & ~0xffu) | 5);
  t.setVector(1, 0x00000123); // a denormal
  ASSERT_TRUE(t.run("v_add_f32 v0, v1, v1"));
  EXPECT_EQ(t.v(0, 0), 0u);
}

TEST_P(RdnaSop, HintsAndWaitsDoNothing) {
  std::string text = "s_nop 3\ns_waitcnt_depctr 0xfffe\n";
  if (!isAtLeast("gfx1200"))
    text += "s_waitcnt_vscnt null, 0x0\ns_waitcnt_vmcnt null, 0x0\ns_waitcnt vmcnt(0)\n";
  else
    text = "s_wait_loadcnt 0x0\ns_wait_storecnt 0x0\ns_wait_dscnt 0x0\ns_wait_kmcnt 0x0\ns_wait_alu 0xfffe\n"
           "s_wait_loadcnt_dscnt 0x0\n";
  if (isAtLeast("gfx1100"))
    text += "s_delay_alu instid0(VALU_DEP_1)\n";
  text += "s_version 3\ns_clause 0x0\ns_nop 0\n";
  ASSERT_TRUE(t.run(text));
  if (isAtLeast("gfx1100")) {
    ASSERT_TRUE(t.run("s_nop 0\ns_sendmsg sendmsg(MSG_DEALLOC_VGPRS)"));
    ASSERT_TRUE(t.run("s_sendmsg_rtn_b64 s[0:1], sendmsg(MSG_RTN_GET_REALTIME)"));
    EXPECT_NE(t.s64(0), 0u);
  } else {
    EXPECT_FALSE(t.run("s_sendmsg 3"));
  }
  EXPECT_FALSE(t.run("s_code_end"));
  EXPECT_THAT(t.fault().text, HasSubstr("end of the code"));
}

TEST_P(RdnaSop, HardwareRegisters) {
  t.scc(true);
  ASSERT_TRUE(t.run("s_getreg_b32 s0, hwreg(1)"));
  EXPECT_EQ(t.s(0), isAtLeast("gfx1200") ? kDefaultMode & ~0x300u : kDefaultMode) << "without DX10_CLAMP and IEEE";
  t.vcc(0);
  t.scc(true);
  ASSERT_TRUE(t.run("s_getreg_b32 s0, hwreg(2)"));
  EXPECT_EQ(t.s(0) & 1, isAtLeast("gfx1200") ? 0u : 1u);
  EXPECT_EQ(t.s(0) >> 9 & 3, 2u) << "VCCZ and not EXECZ";
  if (isAtLeast("gfx1200")) {
    ASSERT_TRUE(t.run("s_getreg_b32 s0, hwreg(4)"));
    EXPECT_EQ(t.s(0), 1u << 9);
  }
  t.s(4) = 0x1234;
  if (isAtLeast("gfx1100")) {
    EXPECT_FALSE(t.run("s_setreg_b32 hwreg(20), s4"));
    EXPECT_THAT(t.fault().text, HasSubstr("read-only"));
  } else {
    ASSERT_TRUE(t.run("s_setreg_b32 hwreg(20), s4\ns_setreg_imm32_b32 hwreg(21), 0x77\ns_getreg_b32 s0, hwreg(20)\n"
                      "s_getreg_b32 s1, hwreg(21)"));
    EXPECT_EQ(t.s(0), 0x1234u);
    EXPECT_EQ(t.s(1), 0x77u);
  }
  EXPECT_FALSE(t.run("s_getreg_b32 s0, hwreg(50)"));
}

TEST_P(RdnaSop, SubvectorLoopsTakeTheHalvesInTurn) {
  if (isAtLeast("gfx1200"))
    GTEST_SKIP() << "gone";
  t.exec(0x0000000f0000000f);
  t.s(0) = 0;
  t.s(4) = 0;
  ASSERT_TRUE(t.run("s_subvector_loop_begin s0, done\n"
                    "again:\n"
                    "s_add_u32 s4, s4, 1\n"
                    "s_lshl_b32 s5, s5, 16\n"
                    "s_subvector_loop_end s0, again\n"
                    "done:"));
  EXPECT_EQ(t.s(4), 2u);
  EXPECT_EQ(t.s64(kExec), 0x0000000f0000000fu);
}

class Rdna4Sop : public Rdna {};
INSTANTIATE_TEST_SUITE_P(Targets, Rdna4Sop, kRdna4Waves, nameOf);

TEST_P(Rdna4Sop, WideScalars) {
  t.setS64(2, 0xffffffffull);
  t.setS64(4, 0x100000001ull);
  ASSERT_TRUE(t.run("s_add_nc_u64 s[6:7], s[2:3], s[4:5]\ns_sub_nc_u64 s[8:9], s[2:3], s[4:5]\n"
                    "s_mul_u64 s[10:11], s[2:3], s[4:5]"));
  EXPECT_EQ(t.s64(6), 0x200000000u);
  EXPECT_EQ(t.s64(8), 0xffffffffull - 0x100000001ull);
  EXPECT_EQ(t.s64(10), 0xffffffffull * 0x100000001ull);
  t.s(3) = 0xffffffff;
  ASSERT_TRUE(t.run("s_add_co_u32 s0, s3, 1\ns_add_co_ci_u32 s1, s3, 5\ns_cselect_b32 s2, 1, 0"));
  EXPECT_EQ(t.s(0), 0u);
  EXPECT_EQ(t.s(1), 5u);
  EXPECT_EQ(t.s(2), 1u);
}

TEST_P(Rdna4Sop, ABarrierIsSignalledAndAwaited) {
  ASSERT_TRUE(t.run("s_barrier_signal -1\ns_barrier_wait -1\ns_barrier_signal_isfirst -1\ns_barrier_wait -1\n"
                    "s_cselect_b32 s0, 1, 0"));
  EXPECT_EQ(t.s(0), 1u);
  EXPECT_FALSE(t.run("s_barrier_signal 3"));
  EXPECT_THAT(t.fault().text, HasSubstr("named barrier"));
}

} // namespace
} // namespace luthier::vgpu::test
