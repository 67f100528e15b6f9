// Each rule of analysis/liveness.h on a few instructions.

#include "analysis/effects.h"
#include "code.h"

namespace luthier::analysis::test {
namespace {

/// Where a register is live before each instruction: "A,AI,-".
std::string lives(const Code &code, Reg reg, const LivenessContext &context = {}) {
  const Liveness liveness = code.liveness(context);
  std::string text;
  for (uint32_t n = 0; n < code.size(); ++n)
    text += (n ? "," : "") + where(liveness.before(n), reg);
  return text;
}

TEST(Liveness, ScalarsAreOrdinary) {
  const Code code("s_mov_b32 s0, 1\n"
                  "s_mov_b32 s1, s0\n"
                  "s_mov_b32 s0, 2\n"
                  "s_add_u32 s2, s0, s1\n"
                  "s_endpgm");
  EXPECT_EQ(lives(code, sgpr(0)), "-,AI,-,AI,-");
  EXPECT_EQ(lives(code, sgpr(1)), "-,-,AI,AI,-");
  EXPECT_EQ(lives(code, sgpr(2)), "-,-,-,-,-");
}

TEST(Liveness, NothingIsLiveAtTheEnd) {
  const Code code("s_endpgm");
  EXPECT_EQ(code.liveness().before(0), LiveSets());
}

TEST(Liveness, VectorWriteKillsOnlyInActiveLanes) {
  // Narrowed without any branch: lanes that are off keep the first value, which the last instruction reads.
  const Code code("v_mov_b32 v1, 1\n"                    // 0
                  "s_mov_b64 s[0:1], exec\n"             // 1
                  "s_and_b64 exec, exec, s[4:5]\n"       // 2
                  "v_mov_b32 v1, 2\n"                    // 3
                  "s_or_b64 exec, exec, s[0:1]\n"        // 4
                  "global_store_dword v[2:3], v1, off\n" // 5
                  "s_endpgm");
  // 3: dead where it is about to be written, alive in the other lanes. 0: EXEC is widened later, perhaps beyond what is
  // active here, so it is alive in the inactive lanes too.
  EXPECT_EQ(lives(code, vgpr(1)), "I,AI,AI,I,AI,A,-");
}

TEST(Liveness, SaveexecNarrows) {
  const Code code("v_mov_b32 v1, 1\n"
                  "s_and_saveexec_b64 s[0:1], vcc\n"
                  "v_mov_b32 v1, 2\n"
                  "global_store_dword v[2:3], v1, off\n"
                  "s_endpgm");
  // Nothing widens EXEC again: what the lanes that were turned off hold is of no use.
  EXPECT_EQ(lives(code, vgpr(1)), "-,-,-,A,-");
  EXPECT_EQ(lives(code, vgpr(2)), "A,A,A,A,-");
}

TEST(Liveness, CmpxNarrows) {
  for (const char *target : {"gfx90a"}) {
    const Code code("v_mov_b32 v1, 1\n"
                    "s_mov_b64 s[0:1], exec\n"
                    "v_cmpx_lt_u32 vcc, v4, v5\n"
                    "v_mov_b32 v1, 2\n"
                    "s_or_b64 exec, exec, s[0:1]\n"
                    "global_store_dword v[2:3], v1, off\n"
                    "s_endpgm",
                    {.target = target});
    EXPECT_EQ(lives(code, vgpr(1)), "I,AI,AI,I,AI,A,-");
    EXPECT_EQ(lives(code, vgpr(4)), "A,A,A,-,-,-,-");
    EXPECT_EQ(lives(code, Reg::VccLo), "-,-,-,-,-,-,-");
  }
}

TEST(Liveness, WritesOfExec) {
  struct Case {
    const char *text;
    ExecChange change;
  };
  const Case cases[] = {
      {"s_and_saveexec_b64 s[0:1], s[2:3]", ExecChange::Narrow},
      {"s_andn1_saveexec_b64 s[0:1], s[2:3]", ExecChange::Narrow},
      {"s_andn2_saveexec_b64 s[0:1], s[2:3]", ExecChange::Other},
      {"s_or_saveexec_b64 s[0:1], s[2:3]", ExecChange::Widen},
      {"s_or_saveexec_b64 s[0:1], -1", ExecChange::Widen},
      {"s_orn1_saveexec_b64 s[0:1], s[2:3]", ExecChange::Widen},
      {"s_orn2_saveexec_b64 s[0:1], s[2:3]", ExecChange::Other},
      {"s_xor_saveexec_b64 s[0:1], s[2:3]", ExecChange::Other},
      {"s_nand_saveexec_b64 s[0:1], s[2:3]", ExecChange::Other},
      {"s_nor_saveexec_b64 s[0:1], s[2:3]", ExecChange::Other},
      {"s_xnor_saveexec_b64 s[0:1], s[2:3]", ExecChange::Other},
      {"s_andn1_wrexec_b64 s[0:1], s[2:3]", ExecChange::Narrow},
      {"s_andn2_wrexec_b64 s[0:1], s[2:3]", ExecChange::Other},
      {"s_and_saveexec_b64 exec, s[2:3]", ExecChange::Other},
      {"s_and_b64 exec, exec, s[2:3]", ExecChange::Narrow},
      {"s_and_b64 exec, s[2:3], exec", ExecChange::Narrow},
      {"s_and_b64 exec, s[0:1], s[2:3]", ExecChange::Other},
      {"s_andn2_b64 exec, exec, s[2:3]", ExecChange::Narrow},
      {"s_andn2_b64 exec, s[2:3], exec", ExecChange::Other},
      {"s_or_b64 exec, exec, s[2:3]", ExecChange::Widen},
      {"s_or_b64 exec, s[2:3], exec", ExecChange::Widen},
      {"s_or_b64 exec, s[2:3], s[0:1]", ExecChange::Other},
      {"s_orn2_b64 exec, exec, s[2:3]", ExecChange::Widen},
      {"s_orn2_b64 exec, s[2:3], exec", ExecChange::Other},
      {"s_xor_b64 exec, exec, s[2:3]", ExecChange::Other},
      {"s_not_b64 exec, exec", ExecChange::Other},
      {"s_mov_b64 exec, s[2:3]", ExecChange::Other},
      {"s_mov_b64 exec, -1", ExecChange::Other}, // it does not read EXEC: see ExecDeadMeansEqualSets
      {"s_mov_b32 exec_lo, s2", ExecChange::Other},
      {"s_and_b32 exec_lo, exec_lo, s2", ExecChange::Narrow},
      {"s_and_b32 exec_lo, exec_hi, s2", ExecChange::Other},
      {"s_or_b32 exec_hi, exec_hi, s2", ExecChange::Widen},
      {"s_wqm_b64 exec, exec", ExecChange::Widen},
      {"s_wqm_b64 exec, s[2:3]", ExecChange::Other},
      {"s_bitset0_b64 exec, s2", ExecChange::Narrow},
      {"s_bitset1_b64 exec, s2", ExecChange::Widen},
      {"s_cselect_b64 exec, exec, 0", ExecChange::Narrow},
      {"s_cselect_b64 exec, 0, exec", ExecChange::Narrow},
      {"s_cselect_b64 exec, exec, -1", ExecChange::Widen},
      {"s_cselect_b64 exec, exec, s[2:3]", ExecChange::Other},
      {"s_cmov_b64 exec, s[2:3]", ExecChange::Other},
      {"s_lshl_b64 exec, exec, 1", ExecChange::Other},
      {"s_bfm_b64 exec, s2, s3", ExecChange::Other},
      {"v_cmpx_eq_u32 s[2:3], v0, v1", ExecChange::Narrow},
      {"v_cmpx_lt_f64 vcc, v[0:1], v[2:3]", ExecChange::Narrow},
      {"v_cmpx_class_f32 vcc, v0, v1", ExecChange::Narrow},
  };
  for (const Case &c : cases) {
    SCOPED_TRACE(c.text);
    const Code code(std::string(c.text) + "\ns_endpgm");
    ASSERT_EQ(code.size(), 2u);
    EXPECT_TRUE(code[0].is(Property::WritesExec));
    EXPECT_EQ(execChange(code[0]), c.change);
  }
}

TEST(Liveness, EveryOpcodeThatSavesExecHasARule) {
  // Names that speak of EXEC and fall under no rule are listed here, so that a new one is noticed.
  for (unsigned n = 0; n < kOpcodeCount; ++n) {
    const std::string_view name = mnemonic(static_cast<Opcode>(n));
    if (name.find("saveexec") == name.npos && name.find("wrexec") == name.npos)
      continue;
    EXPECT_TRUE(name.starts_with("s_and") || name.starts_with("s_or") || name.starts_with("s_x") ||
                name.starts_with("s_n"))
        << name;
  }
}

TEST(Liveness, WideningWithoutABranchRevivesInactiveLanes) {
  const Code code("v_mov_b32 v1, 1\n"
                  "s_or_saveexec_b64 s[0:1], -1\n"
                  "v_mov_b32 v2, v1\n"
                  "s_endpgm");
  EXPECT_EQ(lives(code, vgpr(1)), "I,AI,A,-");
}

TEST(Liveness, OtherWritesOfExecMixTheLanes) {
  const Code code("v_mov_b32 v1, 1\n"
                  "s_xor_b64 exec, exec, s[0:1]\n"
                  "v_mov_b32 v2, v1\n"
                  "s_endpgm");
  EXPECT_EQ(lives(code, vgpr(1)), "I,AI,A,-");
  const Code code2("v_mov_b32 v1, 1\n"
                   "s_mov_b64 exec, s[0:1]\n"
                   "v_mov_b32 v2, v1\n"
                   "s_endpgm");
  EXPECT_EQ(lives(code2, vgpr(1)), "I,AI,A,-");
}

TEST(Liveness, ExecDeadMeansEqualSets) {
  // Where EXEC itself is dead, nobody can tell which lanes are active: the two sets must not differ.
  const Code code("v_mov_b32 v1, 1\n"
                  "s_mov_b32 s9, 0\n"
                  "s_mov_b64 exec, -1\n"
                  "v_mov_b32 v2, v1\n"
                  "s_and_b64 exec, exec, s[0:1]\n"
                  "v_mov_b32 v3, v2\n"
                  "s_endpgm");
  const Liveness liveness = code.liveness();
  for (uint32_t n = 0; n < code.size(); ++n) {
    const LiveSets sets = liveness.before(n);
    if (!sets.active.contains(Reg::ExecLo)) {
      EXPECT_EQ(sets.active, sets.inactive) << n;
    }
  }
  EXPECT_EQ(where(liveness.before(2u), Reg::ExecLo), "-");
  EXPECT_EQ(where(liveness.before(0u), Reg::ExecLo), "AI");
}

TEST(Liveness, ReadlaneReadsAnyLane) {
  const Code code("v_mov_b32 v1, 1\n"
                  "v_readlane_b32 s0, v1, 5\n"
                  "s_mov_b32 s1, s0\n"
                  "s_endpgm");
  EXPECT_EQ(lives(code, vgpr(1)), "I,AI,-,-");
  EXPECT_EQ(lives(code, sgpr(0)), "-,-,AI,-");
}

TEST(Liveness, ReadfirstlaneReadsLaneZeroWhenExecIsZero) {
  const Code code("v_mov_b32 v1, 1\n"
                  "v_readfirstlane_b32 s0, v1\n"
                  "s_mov_b32 s1, s0\n"
                  "s_endpgm");
  EXPECT_EQ(lives(code, vgpr(1)), "I,AI,-,-");
}

TEST(Liveness, WritelaneLeavesTheOtherLanes) {
  const Code code("v_mov_b32 v1, 1\n"
                  "v_writelane_b32 v1, s0, 3\n"
                  "v_mov_b32 v2, v1\n"
                  "s_endpgm");
  EXPECT_EQ(lives(code, vgpr(1)), "-,A,A,-");
  EXPECT_EQ(lives(code, sgpr(0)), "AI,AI,-,-");
  // One that nobody reads needs nothing.
  const Code unused("v_writelane_b32 v1, s0, 3\ns_endpgm");
  EXPECT_EQ(lives(unused, vgpr(1)), "-,-");
  // And the value in an inactive lane survives a vector write.
  const Code spilled("v_writelane_b32 v1, s0, 3\n"
                     "v_mov_b32 v1, 0\n"
                     "v_readlane_b32 s0, v1, 3\n"
                     "s_mov_b32 s1, s0\n"
                     "s_endpgm");
  EXPECT_EQ(lives(spilled, vgpr(1)), "I,I,AI,-,-");
}

TEST(Liveness, DppReadsOtherLanesAndMayKeepItsDestination) {
  const Code masked("v_mov_b32 v2, 0\n"
                    "v_mov_b32_dpp v2, v1 row_shr:1 row_mask:0xa bank_mask:0xf\n"
                    "v_mov_b32 v3, v2\n"
                    "s_endpgm");
  EXPECT_EQ(lives(masked, vgpr(1)), "AI,AI,-,-");
  EXPECT_NE(lives(masked, vgpr(2)).substr(2), "-,A,-"); // needed before the DPP
  EXPECT_EQ(where(masked.liveness().before(1u), vgpr(2)).find('A'), 0u);
  const Code whole("v_mov_b32 v2, 0\n"
                   "v_mov_b32_dpp v2, v1 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf bound_ctrl:0\n"
                   "v_mov_b32 v3, v2\n"
                   "s_endpgm");
  EXPECT_EQ(lives(whole, vgpr(2)), "-,-,A,-");
  EXPECT_EQ(lives(whole, vgpr(1)), "AI,AI,-,-");
}

TEST(Liveness, PermutesReadOtherLanes) {
  const Code code("ds_bpermute_b32 v2, v0, v1\n"
                  "s_waitcnt lgkmcnt(0)\n"
                  "ds_swizzle_b32 v3, v2 offset:0x8000\n"
                  "ds_permute_b32 v4, v0, v3\n"
                  "s_endpgm");
  EXPECT_EQ(lives(code, vgpr(1)), "AI,-,-,-,-");
  EXPECT_EQ(lives(code, vgpr(2)), "I,AI,AI,-,-"); // written in active lanes only
  EXPECT_EQ(lives(code, vgpr(3)), "I,I,I,AI,-");
}

TEST(Liveness, MatrixInstructionsIgnoreExec) {
  const Code code("v_mfma_f32_4x4x1f32 a[0:3], v0, v1, a[0:3]\n"
                  "v_mfma_f32_4x4x1f32 a[4:7], v0, v1, 0\n"
                  "v_accvgpr_read_b32 v2, a4\n"
                  "v_accvgpr_read_b32 v3, a0\n"
                  "global_store_dwordx2 v[4:5], v[2:3], off\n"
                  "s_endpgm");
  EXPECT_EQ(lives(code, agpr(4)), "-,-,A,-,-,-");
  EXPECT_EQ(lives(code, agpr(0)), "AI,A,A,A,-,-");
  EXPECT_EQ(lives(code, vgpr(0)), "AI,AI,-,-,-,-");
}

TEST(Liveness, AccumulatorMovesObeyExec) {
  const Code code("v_accvgpr_write_b32 a0, v0\n"
                  "s_or_saveexec_b64 s[0:1], -1\n"
                  "v_accvgpr_read_b32 v1, a0\n"
                  "global_store_dword v[2:3], v1, off\n"
                  "s_endpgm");
  EXPECT_EQ(lives(code, agpr(0)), "I,AI,A,-,-");
}

TEST(Liveness, PartialWritesKeepTheRest) {
  for (const char *text :
       {"global_load_short_d16 v1, v[2:3], off", "global_load_short_d16_hi v1, v[2:3], off", "ds_read_u16_d16 v1, v2",
        "v_mov_b32_sdwa v1, v2 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:DWORD",
        "v_mad_mixlo_f16 v1, v2, v2, v2", "v_mad_mixhi_f16 v1, v2, v2, v2",
        "v_mad_u16 v1, v2, v2, v2 op_sel:[0,0,0,1]"}) {
    SCOPED_TRACE(text);
    const bool fma = std::string_view(text).starts_with("v_mad_mix"); // gfx90a calls it fma_mix
    const Code code((fma ? "v_fma_mix" + std::string(text).substr(9) : text) + "\n" +
                    "global_store_dword v[4:5], v1, off\n"
                    "s_endpgm");
    EXPECT_EQ(lives(code, vgpr(1)), "A,A,-");
  }
  const Code whole("v_mov_b32_sdwa v1, v2 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:DWORD\n"
                   "global_store_dword v[4:5], v1, off\n"
                   "s_endpgm");
  EXPECT_EQ(lives(whole, vgpr(1)), "-,A,-");
}

TEST(Liveness, AccumulatingInstructionsReadTheirDestination) {
  const Code code("v_fmac_f32 v1, v2, v3\n"
                  "global_atomic_add v4, v[2:3], v1, off glc\n"
                  "v_swap_b32 v4, v5\n"
                  "global_store_dword v[2:3], v5, off\n"
                  "s_endpgm");
  EXPECT_EQ(lives(code, vgpr(1)), "A,A,-,-,-");
  EXPECT_EQ(lives(code, vgpr(4)), "-,-,A,-,-");
  EXPECT_EQ(lives(code, vgpr(5)), "A,A,A,A,-"); // the swap writes both, and reads both first
}

TEST(Liveness, ConditionalMovesKeepTheirDestination) {
  const Code code("s_mov_b32 s0, 1\n"
                  "s_cmov_b32 s0, s1\n"
                  "s_cmovk_i32 s0, 0x123\n"
                  "s_mov_b32 s2, s0\n"
                  "s_endpgm");
  EXPECT_EQ(lives(code, sgpr(0)), "-,AI,AI,AI,-");
  EXPECT_EQ(lives(code, Reg::Scc), "AI,AI,AI,-,-");
}

TEST(Liveness, HalvesOfPairsAreApart) {
  const Code code("s_mov_b64 s[0:1], 0\n"
                  "s_mov_b32 s0, s4\n"
                  "s_load_dword s2, s[0:1], 0x0\n"
                  "s_endpgm");
  EXPECT_EQ(lives(code, sgpr(0)), "-,-,AI,-");
  EXPECT_EQ(lives(code, sgpr(1)), "-,AI,AI,-");
}

TEST(Liveness, MasksThatVectorInstructionsWriteAreWhole) {
  const Code code("v_cmp_lt_u32 vcc, v0, v1\n"
                  "v_cndmask_b32 v2, v3, v4, vcc\n"
                  "v_cmp_lt_u32_e64 s[0:1], v0, v1\n"
                  "v_cndmask_b32_e64 v2, v3, v4, s[0:1]\n"
                  "v_add_co_u32 v5, vcc, v0, v1\n"
                  "v_addc_co_u32 v6, vcc, v0, v1, vcc\n"
                  "s_endpgm");
  EXPECT_EQ(lives(code, Reg::VccLo), "-,AI,-,-,-,AI,-");
  EXPECT_EQ(lives(code, Reg::VccHi), "-,AI,-,-,-,AI,-");
  EXPECT_EQ(lives(code, sgpr(1)), "-,-,-,AI,-,-,-");
}

TEST(Liveness, BranchesReadTheirConditions) {
  for (const auto &[branch, reg] :
       {std::pair("s_cbranch_vccz", Reg::VccLo), std::pair("s_cbranch_vccnz", Reg::VccHi),
        std::pair("s_cbranch_execz", Reg::ExecLo), std::pair("s_cbranch_execnz", Reg::ExecHi),
        std::pair("s_cbranch_scc0", Reg::Scc), std::pair("s_cbranch_scc1", Reg::Scc)}) {
    SCOPED_TRACE(branch);
    const Code code(std::string(branch) + " end\ns_nop 0\nend:\ns_endpgm");
    EXPECT_EQ(lives(code, reg), "AI,-,-");
  }
}

TEST(Liveness, SpecialRegisters) {
  const Code code("s_mov_b32 m0, s0\n"                               // 0
                  "s_mov_b32 flat_scratch_lo, s1\n"                  // 1
                  "s_mov_b32 flat_scratch_hi, s2\n"                  // 2
                  "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3\n" // 3
                  "v_add_f32 v0, v0, v0\n"                           // 4
                  "flat_load_dword v1, v[2:3]\n"                     // 5
                  "ds_gws_barrier v4 offset:0 gds\n"                 // 6
                  "s_endpgm");
  EXPECT_EQ(lives(code, Reg::FlatScrLo), "-,-,AI,AI,AI,AI,-,-");
  EXPECT_EQ(lives(code, Reg::FlatScrHi), "-,-,-,AI,AI,AI,-,-");
  EXPECT_EQ(lives(code, Reg::M0), "-,AI,AI,AI,AI,AI,AI,-");
  EXPECT_EQ(lives(code, Reg::Mode).substr(0, 14), "AI,AI,AI,AI,AI");
}

TEST(Liveness, IndexedAccessMayReadAnything) {
  const Code code("v_mov_b32 v9, 0\n"
                  "s_set_gpr_idx_on s0, gpr_idx(SRC0)\n"
                  "v_mov_b32 v1, v2\n"
                  "s_set_gpr_idx_off\n"
                  "v_mov_b32 v3, v1\n"
                  "s_endpgm");
  EXPECT_EQ(lives(code, vgpr(9)), "-,A,A,-,-,-");
  const Code scalar("s_movrels_b32 s0, s1\ns_endpgm");
  EXPECT_EQ(lives(scalar, sgpr(77)), "AI,-");
}

TEST(Liveness, LoopsKeepWhatTheNextRoundNeeds) {
  const Code code("v_mov_b32 v0, 0\n"  // 0
                  "s_mov_b32 s0, 10\n" // 1
                  "loop:\n"
                  "v_add_u32 v0, v0, v1\n" // 2
                  "v_mov_b32 v2, v0\n"     // 3
                  "s_sub_u32 s0, s0, 1\n"  // 4
                  "s_cmp_lg_u32 s0, 0\n"   // 5
                  "s_cbranch_scc1 loop\n"  // 6
                  "global_store_dword v[4:5], v0, off\n"
                  "s_endpgm");
  EXPECT_EQ(lives(code, vgpr(0)), "-,A,A,A,A,A,A,A,-");
  EXPECT_EQ(lives(code, vgpr(1)), "A,A,A,A,A,A,A,-,-");
  EXPECT_EQ(lives(code, vgpr(2)), "-,-,-,-,-,-,-,-,-");
  EXPECT_EQ(lives(code, sgpr(0)), "-,-,AI,AI,AI,AI,AI,-,-");
}

TEST(Liveness, LanesLeaveALoopOneByOne) {
  // The loop ends for a lane when its bit goes; its result must survive the rounds of the others.
  const Code code("s_mov_b64 s[0:1], exec\n" // 0
                  "loop:\n"
                  "v_add_u32 v1, v0, v3\n"               // 1
                  "v_cmp_lt_u32 vcc, v1, v2\n"           // 2
                  "s_and_b64 exec, exec, vcc\n"          // 3
                  "s_cbranch_execnz loop\n"              // 4
                  "s_mov_b64 exec, s[0:1]\n"             // 5
                  "global_store_dword v[4:5], v1, off\n" // 6
                  "s_endpgm");
  EXPECT_EQ(where(code.liveness().before(1u), vgpr(1)),
            "I"); // of lanes that have left; active ones are about to be written
  EXPECT_EQ(where(code.liveness().before(3u), vgpr(1)), "AI");
}

TEST(Liveness, Wave32) {
  ASSERT_TRUE(isa::findTarget("gfx1030"));
  const Code code("v_mov_b32 v1, 1\n"
                  "s_and_saveexec_b32 s0, vcc_lo\n"
                  "v_mov_b32 v1, 2\n"
                  "s_or_b32 exec_lo, exec_lo, s0\n"
                  "global_store_dword v[2:3], v1, off\n"
                  "s_endpgm",
                  {.target = "gfx1030", .waveSize = 32});
  EXPECT_EQ(lives(code, vgpr(1)), "I,AI,I,AI,A,-");
  EXPECT_EQ(lives(code, Reg::ExecHi), "-,-,-,-,-,-");
  const Code cmpx("s_mov_b32 s0, exec_lo\n"
                  "v_cmpx_lt_u32 v4, v5\n"
                  "v_mov_b32 v1, 2\n"
                  "s_or_b32 exec_lo, exec_lo, s0\n"
                  "global_store_dword v[2:3], v1, off\n"
                  "s_endpgm",
                  {.target = "gfx1030", .waveSize = 32});
  EXPECT_EQ(lives(cmpx, vgpr(1)), "AI,AI,I,AI,A,-");
}

TEST(Liveness, SixteenBitResultsKeepTheOtherHalfOnGfx10) {
  ASSERT_TRUE(isa::findTarget("gfx1030"));
  const char *source = "v_add_f16 v1, v2, v3\n"
                       "global_store_dword v[4:5], v1, off\n"
                       "s_endpgm";
  EXPECT_EQ(lives(Code(source, {.target = "gfx1030"}), vgpr(1)), "A,A,-");
  EXPECT_EQ(lives(Code(source, {.target = "gfx90a"}), vgpr(1)), "-,A,-");
}

TEST(Liveness, TrapsReadTheQueuePointer) {
  const Code code("s_mov_b64 s[0:1], s[4:5]\ns_trap 2\ns_endpgm");
  EXPECT_EQ(lives(code, sgpr(0)), "-,AI,-");
  EXPECT_EQ(lives(code, sgpr(1)), "-,AI,-");
}

TEST(Liveness, SkippedVectorInstructionsKillNothing) {
  const Code code("s_setvskip s0, 1\nv_mov_b32 v1, 0\nv_mov_b32 v2, v1\ns_endpgm", {.target = "gfx908"});
  EXPECT_EQ(lives(code, vgpr(1)), "AI,AI,AI,AI");
  EXPECT_EQ(where(summarize(code.cfg())({}), vgpr(1)), "AI");
}

TEST(Liveness, JumpToUnknownPlacesKeepsEverything) {
  const Code code("v_mov_b32 v0, 0\n"
                  "s_setpc_b64 s[4:5]");
  EXPECT_EQ(lives(code, vgpr(200)), "AI,AI");
  EXPECT_EQ(lives(code, vgpr(0)), "I,AI");
}

TEST(Liveness, ReturnKeepsWhatTheContextSays) {
  const Code code("v_mov_b32 v0, 0\n"
                  "s_setpc_b64 s[30:31]",
                  {.kernel = false});
  EXPECT_EQ(lives(code, vgpr(9)), "AI,AI");
  LivenessContext context;
  context.atReturn = LiveSets();
  context.atReturn->active.insert(vgpr(0));
  EXPECT_EQ(lives(code, vgpr(9), context), "-,-");
  EXPECT_EQ(lives(code, vgpr(0), context), "-,A");
  EXPECT_EQ(lives(code, sgpr(30), context), "AI,AI");
}

TEST(Liveness, CallsUseTheSummary) {
  // The callee reads v0, writes v1 in the active lanes, and leaves v2 alone.
  const Code callee("v_add_u32 v1, v0, v0\n"
                    "s_setpc_b64 s[30:31]",
                    {.kernel = false, .address = 0x2000});
  const Transfer summary = summarize(callee.cfg());
  const Code caller("v_mov_b32 v0, 1\n"
                    "v_mov_b32 v2, 1\n"
                    "s_call_b64 s[30:31], 0x7fff\n"
                    "v_add_u32 v3, v1, v2\n"
                    "s_endpgm");
  LivenessContext context;
  uint64_t asked = 0;
  context.summary = [&](uint64_t address) {
    asked = address;
    return &summary;
  };
  EXPECT_EQ(lives(caller, vgpr(0), context), "-,A,A,-,-");
  EXPECT_EQ(lives(caller, vgpr(1), context), "-,-,-,A,-");
  EXPECT_EQ(lives(caller, vgpr(2), context), "-,-,A,A,-");
  EXPECT_EQ(lives(caller, vgpr(9), context), "-,-,-,-,-");
  EXPECT_EQ(lives(caller, sgpr(30), context), "-,-,-,-,-");
  EXPECT_EQ(asked, caller.address(3) + 0x7fff * 4);
  EXPECT_EQ(lives(caller, vgpr(9)), "AI,AI,AI,-,-"); // unknown callee
}

TEST(Liveness, SummaryOfANarrowingCallee) {
  // The callee narrows EXEC, writes and restores it: the write kills in none of the caller's sets.
  const Code callee("s_and_saveexec_b64 s[4:5], vcc\n"
                    "v_mov_b32 v1, 0\n"
                    "s_mov_b64 exec, s[4:5]\n"
                    "s_setpc_b64 s[30:31]",
                    {.kernel = false});
  const Transfer summary = summarize(callee.cfg());
  LiveSets after;
  after.active.insert(vgpr(1));
  EXPECT_EQ(where(summary(after), vgpr(1)), "AI");
  EXPECT_EQ(where(summary({}), vgpr(1)), "-");
}

TEST(Liveness, TransfersCompose) {
  // A block as one step gives what its instructions give one by one.
  const Code code("v_mov_b32 v1, v0\n"
                  "s_and_saveexec_b64 s[0:1], vcc\n"
                  "v_readlane_b32 s2, v3, 1\n"
                  "v_add_u32 v0, v1, v2\n"
                  "s_xor_b64 exec, exec, s[0:1]\n"
                  "v_mov_b32 v2, v4\n"
                  "s_or_b64 exec, exec, s[0:1]\n"
                  "v_writelane_b32 v5, s2, 0\n"
                  "s_setpc_b64 s[30:31]",
                  {.kernel = false});
  const Transfer whole = summarize(code.cfg());
  for (unsigned n = 0; n < 6; ++n)
    for (int which = 1; which < 4; ++which) {
      LivenessContext context;
      context.atReturn = LiveSets();
      if (which & 1)
        context.atReturn->active.insert(vgpr(n));
      if (which & 2)
        context.atReturn->inactive.insert(vgpr(n));
      EXPECT_EQ(whole(*context.atReturn), code.liveness(context).before(0u)) << n << " " << which;
    }
}

TEST(Liveness, WalkAgreesWithQueries) {
  const Code code("s_cbranch_scc0 a\n"
                  "v_mov_b32 v1, v0\n"
                  "a:\n"
                  "v_mov_b32 v2, v1\n"
                  "s_cbranch_execz a\n"
                  "global_store_dword v[4:5], v2, off\n"
                  "s_endpgm");
  const Liveness liveness = code.liveness();
  unsigned visited = 0;
  liveness.walk([&](const Instr &instr, const LiveSets &live) {
    EXPECT_EQ(live, liveness.before(instr));
    ++visited;
  });
  EXPECT_EQ(visited, code.size());
  EXPECT_EQ(liveness.after(code[1]), liveness.before(code[2]));
}

} // namespace
} // namespace luthier::analysis::test
