// Assembly text that is inserted: it runs as it is written, and nothing else changes; what it may not do is refused
// with its line.
#include "analysis/lint.h"
#include "change_fixture.h"

#include <gmock/gmock.h>

namespace luthier::rewrite::test {
namespace {

using testing::HasSubstr;

class AssemblyTest : public ChangeFixture {
protected:
  Insertion text(const Instr &before, std::string lines, const std::vector<RegRange> &changes = {}) const {
    Insertion insertion;
    insertion.address = before.address();
    insertion.assembly = Assembly{.text = std::move(lines)};
    for (const RegRange range : changes)
      insertion.assembly->changes.insert(range);
    return insertion;
  }
  /// Before the s_nop of `changes`.
  Insertion text(std::string lines, const std::vector<RegRange> &changes = {}) {
    return text(subject_.instr("changes", "s_nop"), std::move(lines), changes);
  }
  SiteAccount accountOf(const Insertion &insertion) {
    return must(subject_.rewriter->rewrite(subject_.file.kernel("changes"), {&insertion, 1})).sites[0];
  }
  std::string refusalOf(const Insertion &insertion) { return accountOf(insertion).rejected; }
  std::string refusalOf(std::string lines, const std::vector<RegRange> &changes = {}) {
    return refusalOf(text(std::move(lines), changes));
  }
};

constexpr RegRange kV2{vgpr(2), 1}, kScc{Reg::Scc, 1}, kVcc{Reg::VccLo, 2}, kExec{Reg::ExecLo, 2};

TEST_F(AssemblyTest, RunsAsItIsWritten) {
  expect({text("s_nop 3")}, [](Rows &) {});
  expect({text("v_add_u32_e32 v2, 7, v2 ; seven more", {kV2})},
         [](Rows &r) { r.with(Rows::Data, [](unsigned, uint32_t x) { return x + 7; }); });
  expect({text("s_add_u32 s20, s20, 1", {{sgpr(20), 1}, kScc})}, [](Rows &r) {
    r.with(Rows::Scalar, [](unsigned, uint32_t x) { return x + 1; });
    r.with(Rows::Scc, [](unsigned, uint32_t) { return 2; });
  });
  expect({text("v_accvgpr_write_b32 a0, v0", {{agpr(0), 1}})},
         [](Rows &r) { r.with(Rows::Accumulator, [](unsigned lane, uint32_t) { return lane; }); });
  const SiteAccount account = accountOf(text("s_nop 3\ns_sleep 1"));
  EXPECT_EQ(account.instructions, 2u) << "nothing is saved";
}

TEST_F(AssemblyTest, FreeRegisters) {
  // One that the kernel has and does not use, one that it does not have, and an AccVGPR that it does not have.
  for (const std::string free : {"v30", "v60"})
    expect({text("v_mov_b32_e32 " + free + ", 5\nv_add_u32_e32 v2, " + free + ", v2", {kV2})},
           [](Rows &r) { r.with(Rows::Data, [](unsigned, uint32_t x) { return x + 5; }); });
  expect({text("v_accvgpr_write_b32 a70, 5\ns_nop 2\nv_accvgpr_read_b32 v60, a70\nv_add_u32_e32 v2, v60, v2", {kV2})},
         [](Rows &r) { r.with(Rows::Data, [](unsigned, uint32_t x) { return x + 5; }); });
  expect({text("s_mov_b32 s80, 5\nv_add_u32_e32 v2, s80, v2", {kV2})},
         [](Rows &r) { r.with(Rows::Data, [](unsigned, uint32_t x) { return x + 5; }); });
}

TEST_F(AssemblyTest, RegistersInUseAreRefused) {
  EXPECT_THAT(
      refusalOf("s_nop 0\nv_mov_b32_e32 v4, 0"),
      HasSubstr("assembly, before at 0x" + fmt::format("{:x}", subject_.instr("changes", "s_nop").address()) +
                " of changes: line 2: v_mov_b32_e32 v4, 0: v4 is in use there, and `changes` does not name it"));
  EXPECT_THAT(refusalOf("s_add_u32 s20, s20, 1", {{sgpr(20), 1}}), HasSubstr("scc is in use"));
  EXPECT_THAT(refusalOf("s_mov_b64 vcc, 0"), HasSubstr("vcc_lo is in use"));
  EXPECT_THAT(refusalOf("s_mov_b64 exec, 0"), HasSubstr("exec_lo is in use"));
  // v7 and v8 are written before they are read again.
  EXPECT_EQ(refusalOf("v_mov_b32_e32 v6, 0"), "");
  // Another tool's hook looks at v6, which the kernel does not need there.
  const Insertion looks = here("seeLane", {Argument::constant(1), Argument::reg({vgpr(6), 1})});
  const std::vector<Insertion> both = {text("v_mov_b32_e32 v6, 0"), looks};
  const Rewrite rewrite = must(subject_.rewriter->rewrite(subject_.file.kernel("changes"), both));
  EXPECT_THAT(rewrite.sites[0].rejected, HasSubstr("v6 is in use"));
  EXPECT_TRUE(rewrite.sites[1].placed);
}

TEST_F(AssemblyTest, LoadsInFlightAreWaitedFor) {
  Insertion insertion = text(subject_.instr("changes", "global_load_dword"), "v_add_u32_e32 v2, 7, v2", {kV2});
  insertion.position = Position::After;
  EXPECT_EQ(accountOf(insertion).waits, 1u);
  expect({insertion}, [](Rows &r) {
    r.with(Rows::Data, [](unsigned, uint32_t x) { return x + 7; });
    r.with(Rows::Accumulator, [](unsigned, uint32_t x) { return x + 7; });
  });
  insertion.assembly->text = "v_mov_b32_e32 v30, 7";
  EXPECT_EQ(accountOf(insertion).waits, 0u) << "nothing that is being loaded is touched";
}

/// What one leaves in a register that the kernel does not use, another one finds, whatever hooks there are in between.
TEST_F(AssemblyTest, ValuesAreKeptForOtherAssembly) {
  for (const std::string reg : {"v30", "v60"}) {
    const RegRange carried{vgpr(reg == "v30" ? 30 : 60), 1};
    std::vector<Insertion> all = subject_.everywhere("changes", [&](const Instr &instr, std::vector<Insertion> &add) {
      add.push_back(subject_.before(instr, "addSeven", {Argument::reg({vgpr(0), 1})}));
    });
    all.push_back(text(subject_.instr("changes", "s_movk_i32"), "v_mov_b32_e32 " + reg + ", 3", {carried}));
    all.push_back(text("v_add_u32_e32 v2, " + reg + ", v2", {kV2}));
    expect(all, [](Rows &r) { r.with(Rows::Data, [](unsigned, uint32_t x) { return x + 3; }); });
  }
}

TEST_F(AssemblyTest, TakesAnInstructionsPlace) {
  Insertion insertion = text(subject_.instr("changes", "v_mov_b32", 5), "v_mov_b32_e32 v7, 12"); // what that writes too
  insertion.position = Position::Replace;
  expect({insertion}, [](Rows &r) { r.with(Rows::Scalar, [](unsigned, uint32_t) { return 12; }); });
  insertion.assembly->text = "v_mov_b32_e32 v5, 12";
  EXPECT_EQ(refusalOf(insertion), "") << "v5 is not needed any more";
  insertion.assembly->text = "v_mov_b32_e32 v2, 12";
  EXPECT_THAT(refusalOf(insertion), HasSubstr("v2 is in use"));
}

TEST_F(AssemblyTest, LoopsMasksAndBarriers) {
  expect({text(subject_.instr("changes", "s_cmp_eq_u32"),
               "  s_mov_b32 s30, 4\nagain: // four times\n  v_add_u32_e32 v4, 1, v4\n  s_sub_u32 s30, s30, 1\n"
               "  s_cmp_lg_u32 s30, 0\n  s_cbranch_scc1 again\n  s_barrier",
               {{vgpr(4), 1}})},
         [](Rows &r) { r.with(Rows::Vcc, [](unsigned, uint32_t x) { return x == 10 ? 14 : x; }); });
  expect({text("s_mov_b64 exec, 0xff", {kExec})}, [](Rows &) {}, 8);
  expect(
      {text("s_mov_b64 s[30:31], exec\ns_mov_b64 exec, -1\nv_mov_b32_e32 v30, 1\ns_mov_b64 exec, s[30:31]", {kExec})},
      [](Rows &) {});
  // A half of VCC; what depends on VCCZ must find all of it.
  const Insertion half = text("s_mov_b32 vcc_lo, 0", {kVcc});
  expect({half}, [](Rows &r) { r.with(Rows::Vcc, [](unsigned lane, uint32_t x) { return lane < 32 ? 10 : x; }); });
  EXPECT_EQ(accountOf(half).instructions, 2u);
}

/// A store behind a VALU instruction that writes its scalar address needs five wait states.
TEST_F(AssemblyTest, HazardsAtItsEnds) {
  const Insertion last = text(subject_.instr("changes", "global_store_dword"),
                              "s_mov_b32 s30, s8\nv_mov_b32_e32 v30, s30\nv_readfirstlane_b32 s8, v30", {{sgpr(8), 1}});
  EXPECT_EQ(accountOf(last).instructions, 4u) << "s_nop 4";
  expect({last}, [](Rows &) {});
  // And the other way round: v_cmp writes VCC, v_readlane takes its lane from there.
  const Insertion first = text(subject_.instr("changes", "s_waitcnt", 1), "v_readlane_b32 s30, v0, vcc_lo");
  EXPECT_EQ(accountOf(first).instructions, 2u);
  const File file(subject_.rewritten("changes", std::vector{first, last}), "rewritten");
  const auto program = must(analysis::Program::create(file.object));
  for (const analysis::LintFinding &finding : must(analysis::lint(*program)).findings)
    if (finding.place.function && finding.place.function->name == "changes")
      ADD_FAILURE() << finding.message;
}

TEST_F(AssemblyTest, ErrorsNameTheLine) {
  EXPECT_THAT(refusalOf("s_nop 0\nv_fly v1, v2"), HasSubstr("cannot assemble: line 2, column 1: invalid instruction"));
  EXPECT_THAT(refusalOf("s_nop 0\n\ns_mov_b32 s1, s[2:3]"), HasSubstr("line 3, column "));
  EXPECT_THAT(refusalOf("// nothing"), HasSubstr("there is no instruction in the assembly"));
  EXPECT_THAT(refusalOf("s_nop 0\ns_endpgm"), HasSubstr("line 2: s_endpgm: inserted assembly would end the wave"));
  EXPECT_THAT(refusalOf("s_setpc_b64 s[4:5]"), HasSubstr("line 1: s_setpc_b64 s[4:5]: inserted assembly calls"));
  EXPECT_THAT(refusalOf("s_getpc_b64 s[30:31]"), HasSubstr("needs to know where its code is"));
  EXPECT_THAT(refusalOf("s_branch elsewhere"), HasSubstr("line 1, column 1: undefined label 'elsewhere'"));
  EXPECT_THAT(refusalOf("global_load_dword v30, v1, s[8:9]"), HasSubstr("the assembly leaves a load in flight"));
  EXPECT_THAT(refusalOf("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0"),
              HasSubstr("mode must not be written by inserted assembly"));
  EXPECT_THAT(refusalOf("s_nop 0\ns_mov_b64 flat_scratch, 0"),
              HasSubstr("line 2: s_mov_b64 flat_scratch, 0: flat_scratch_lo must not be written by inserted assembly"));
  EXPECT_THAT(refusalOf("s_nop 0\nv_add_u32_e32 v30, v200, v2"),
              HasSubstr("line 2: v_add_u32_e32 v30, v200, v2: the kernel has no register v200"));
  EXPECT_THAT(refusalOf("s_mov_b32 s30, s8\nv_readfirstlane_b32 s30, v0\nv_readlane_b32 s31, v0, s30"),
              HasSubstr("line 3: v_readlane_b32 s31, v0, s30: it needs 4 more wait states before it"));
  EXPECT_THAT(refusalOf("s_nop 0", {{sgpr(105), 1}}), HasSubstr("gfx90a has no register"));
  Insertion sampled = text("s_nop 0");
  sampled.sampling.every = 2;
  EXPECT_THAT(refusalOf(sampled), HasSubstr("assembly runs in every visit, for the lanes that are active"));
  Insertion removed = text("s_nop 0");
  removed.position = Position::Remove;
  EXPECT_THAT(refusalOf(removed), HasSubstr("is replaced by nothing"));
}

/// Workgroups of 1024 work-items have 128 vector registers per lane on gfx90a.
TEST_F(AssemblyTest, RoomForTheWorkgroup) {
  Subject subject(HARD_COMPILED);
  const Insertion insertion = text(subject.instrs("stack")[0], "v_mov_b32_e32 v200, 0");
  const Rewrite rewrite = must(subject.rewriter->rewrite(subject.file.kernel("stack"), {&insertion, 1}));
  EXPECT_THAT(rewrite.sites[0].rejected,
              HasSubstr("with v200, the kernel's workgroups would not fit on a compute unit"));
}

/// In waves of 32 lanes, on a target whose reads of scalar registers must be waited for.
TEST_F(AssemblyTest, OtherTargets) {
  for (const std::string target : {"gfx1030_32", "gfx1201_32"}) {
    Subject subject(TARGET_KERNELS "/assembled_" + target + ".co");
    const object::Symbol *kernel = nullptr;
    for (const object::Symbol &symbol : subject.file.object.symbols())
      if (!kernel && symbol.kind == object::SymbolKind::Kernel)
        kernel = &symbol;
    ASSERT_NE(kernel, nullptr);
    const Insertion insertion = text(subject.instrs(kernel->name)[0],
                                     "v_mov_b32_e32 v90, 1\nv_readfirstlane_b32 s90, v90\nv_mov_b32_e32 v91, s90");
    const Rewrite rewrite = must(subject.rewriter->rewrite(*kernel, {&insertion, 1}));
    EXPECT_EQ(rewrite.sites[0].rejected, "") << target;
    EXPECT_GE(rewrite.variant.after.vgprs, 92u);
  }
}

} // namespace
} // namespace luthier::rewrite::test
