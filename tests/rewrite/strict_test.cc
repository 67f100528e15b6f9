// Faults that a kind machine hides: state that hooks may not disturb although nothing names it, registers that share
// their place with others, distances that only hardware needs.
//
// Where the virtual GPU shows a fault by what a kernel computes, it is executed; where not, the rewritten code and its
// descriptor are looked at.
#include "analysis/hazards.h"
#include "analysis/replays.h"
#include "object/container.h"
#include "run_fixture.h"

#include <filesystem>

namespace luthier::rewrite::test {
namespace {

/// Rewritten code, decoded.
struct NewCode {
  std::unique_ptr<isa::Decoder> decoder;
  isa::InstrSequence sequence;

  NewCode(const Subject &subject, const Variant &variant)
      : decoder(must(isa::Decoder::create(subject.file.object.target(),
                                          variant.descriptor.waveSize(subject.file.object.target())))),
        sequence(must(decoder->decode(variant.code, 0))) {}
  std::span<const Instr> instrs() const { return sequence.instrs(); }
  std::vector<std::string> mnemonics() const {
    std::vector<std::string> list;
    for (const Instr &instr : instrs())
      list.push_back(decoder->text(instr));
    return list;
  }
  bool names(Reg reg) const {
    return std::ranges::any_of(instrs(), [&](const Instr &instr) {
      return std::ranges::any_of(instr.operands(), [&](const Operand &operand) {
        return operand.kind == OperandKind::Register && operand.regs.contains(reg);
      });
    });
  }
};

/// VCC, XNACK_MASK and FLAT_SCRATCH are the last of the SGPRs that a wave has: numbered ones that the code uses must
/// not be among those of them that it uses.
void expectSpecialsApart(const Subject &subject, const Variant &variant) {
  const NewCode code(subject, variant);
  unsigned numbered = 0, special = number(Reg::Ttmp0);
  for (const Instr &instr : code.instrs()) {
    if (instr.memorySpace() == MemorySpace::Scratch)
      special = std::min(special, number(Reg::FlatScrLo));
    for (const Operand &operand : instr.operands()) {
      if (operand.kind != OperandKind::Register || operand.regs.empty() || operand.regs.first >= Reg::Ttmp0)
        continue;
      if (operand.regs.first >= Reg::FlatScrLo)
        special = std::min(special, number(operand.regs.first) & ~1u);
      else
        numbered = std::max(numbered, number(operand.regs.first) + operand.regs.count);
    }
    for (RegRange range : instr.writes())
      if (range.first >= Reg::FlatScrLo && range.first < Reg::Ttmp0)
        special = std::min(special, number(range.first) & ~1u);
  }
  EXPECT_GE(variant.descriptor.sgprs(subject.file.object.target()), numbered + number(Reg::Ttmp0) - special)
      << variant.kernel->name << " names s" << numbered - 1;
  EXPECT_GE(variant.metadata.sgprCount ? variant.metadata.sgprCount : UINT32_MAX, numbered);
}

/// The rewritten kernel leaves the same in memory as the original on the physical machine: registers share their
/// places, start with anything, and are written by the hardware.
void expectSameStrictly(Machine &machine, const Subject &subject, const std::vector<std::byte> &rewritten,
                        std::string_view kernel, RunOptions options = {}) {
  for (const uint64_t seed : {1, 2, 3}) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    options.resources = seed;
    const Outcome original = machine.run(subject.file.bytes, kernel, options),
                  changed = machine.run(rewritten, kernel, options);
    EXPECT_EQ(original.error, "");
    EXPECT_EQ(changed.error, "");
    EXPECT_TRUE(changed.out == original.out);
  }
}

class StrictTest : public testing::Test {
protected:
  Insertion at(Subject &subject, std::string_view kernel, unsigned nop, std::string hook,
               std::vector<Argument> arguments = {}, RegRange result = {}) {
    return subject.before(subject.instr(kernel, "s_nop", nop), std::move(hook), std::move(arguments), result);
  }
  std::vector<Insertion> everywhere(Subject &subject, std::string_view kernel, const std::string &hook) {
    uint64_t n = 0;
    return subject.everywhere(kernel, [&](const Instr &instr, auto &list) {
      list.push_back(subject.before(instr, hook));
      for (size_t a = 0; a < subject.module->findHook(hook)->parameters.size(); ++a)
        list.back().arguments.push_back(Argument::constant(++n));
    });
  }

  Machine machine_;
};

/// The index of s_set_gpr_idx_on is in M0, which hooks overwrite.
TEST_F(StrictTest, IndexSurvivesHooks) {
  Subject subject(STATE_KERNELS, STRICT_HOOKS);
  const std::vector<std::byte> file = subject.rewritten("indexed", everywhere(subject, "indexed", "clobber"));
  expectSame(machine_, subject, file, "indexed");
  expectSameStrictly(machine_, subject, file, "indexed");
}

TEST_F(StrictTest, VccIsAllocated) {
  Subject subject(STRICT_KERNELS_NO_XNACK, STRICT_HOOKS);
  const std::vector<Insertion> insertions = {
      at(subject, "tight", 0, "larger", {Argument::reg({vgpr(0), 1}), Argument::reg({vgpr(1), 1})})};
  const Rewrite rewrite = subject.rewrite("tight", insertions);
  const NewCode code(subject, rewrite.variant);
  EXPECT_TRUE(std::ranges::any_of(code.instrs(), [](const Instr &instr) {
    return std::ranges::any_of(instr.writes(), [](RegRange range) { return range.contains(Reg::VccLo); });
  }));
  expectSpecialsApart(subject, rewrite.variant);
  expectSameStrictly(machine_, subject, must(emitMerged(subject.file.object, {&rewrite.variant, 1})), "tight");
}

TEST_F(StrictTest, FlatScratchIsAllocated) {
  Subject subject(STRICT_KERNELS_NO_XNACK, STRICT_HOOKS);
  const std::vector<Insertion> insertions = {at(subject, "tightSpill", 0, "wide", {Argument::constant(3)})};
  const Rewrite rewrite = subject.rewrite("tightSpill", insertions);
  EXPECT_TRUE(NewCode(subject, rewrite.variant).names(Reg::FlatScrLo));
  expectSpecialsApart(subject, rewrite.variant);
  expectSameStrictly(machine_, subject, must(emitMerged(subject.file.object, {&rewrite.variant, 1})), "tightSpill");
}

/// Kernels without a hook that needs them get no more registers.
TEST_F(StrictTest, NothingIsAllocatedInVain) {
  Subject subject(STRICT_KERNELS_NO_XNACK, STRICT_HOOKS);
  const isa::Target &target = subject.file.object.target();
  const object::KernelDescriptor original = must(subject.file.object.descriptor(subject.file.kernel("tight")));
  ASSERT_EQ(original.sgprs(target), 16u);
  const std::vector<Insertion> insertions = {
      at(subject, "tight", 0, "addSeven", {Argument::reg({vgpr(3), 1})}, {vgpr(3), 1})};
  EXPECT_EQ(subject.rewrite("tight", insertions).variant.descriptor.sgprs(target), 16u);
}

/// Hardware writes XNACK_MASK unless XNACK is known to be off.
TEST_F(StrictTest, XnackMaskIsTheHardwares) {
  for (const char *path : {HARD_KERNELS, HARD_KERNELS_XNACK, HARD_KERNELS_NO_XNACK}) {
    SCOPED_TRACE(path);
    Subject subject(path, STATE_HOOKS);
    for (const char *kernel : {"crowded", "crowdedAccumulators"}) {
      SCOPED_TRACE(kernel);
      std::vector<Insertion> insertions;
      for (unsigned n = 0; n < 2; ++n)
        insertions.push_back(at(subject, kernel, n, "countLaunch"));
      const Rewrite rewrite = subject.rewrite(kernel, insertions);
      EXPECT_EQ(NewCode(subject, rewrite.variant).names(Reg::XnackMaskLo), path == std::string(HARD_KERNELS_NO_XNACK));
      const std::vector<std::byte> file = must(emitMerged(subject.file.object, {&rewrite.variant, 1}));
      expectSameStrictly(machine_, subject, file, kernel, {.grid = {192}, .workgroup = {64}});
    }
  }
}

/// Before gfx10, VCCZ is set by writes of all of VCC only.
TEST_F(StrictTest, VcczIsNotStale) {
  Subject subject(STRICT_KERNELS, STRICT_HOOKS);
  constexpr RegRange kVcc{Reg::VccLo, 2}, kHalf{Reg::VccHi, 1};
  const std::vector<Insertion> cases[] = {
      {at(subject, "branchesOnVccz", 0, "nothing", {Argument::reg(kVcc)}, kVcc)},
      {at(subject, "branchesOnVccz", 0, "half", {Argument::reg(kHalf)}, kHalf)},
      {at(subject, "branchesOnVccz", 0, "half", {Argument::reg({Reg::VccLo, 1})}, {Reg::VccLo, 1})},
  };
  for (const std::vector<Insertion> &insertions : cases) {
    const Rewrite rewrite = subject.rewrite("branchesOnVccz", insertions);
    const NewCode code(subject, rewrite.variant);
    bool stale = false;
    for (const Instr &instr : code.instrs()) {
      if (instr.opcode() == Opcode::S_CBRANCH_VCCZ) {
        EXPECT_FALSE(stale) << "VCC was written by halves";
      }
      for (RegRange range : instr.writes())
        if (range.contains(Reg::VccLo) || range.contains(Reg::VccHi))
          stale = !(range.contains(Reg::VccLo) && range.contains(Reg::VccHi));
    }
    const Outcome outcome =
        machine_.run(must(emitMerged(subject.file.object, {&rewrite.variant, 1})), "branchesOnVccz", {.resources = 1});
    EXPECT_EQ(outcome.error, "");
    EXPECT_EQ(outcome.out[0], &insertions == &cases[0] ? 1u : 2u);
  }
}

/// Distances are kept over the ends of blocks too, whatever is inserted at both sides of them, and between the entry
/// and the first instruction.
class NeighbourTest : public StrictTest {
protected:
  void expectDistances(Subject &subject, std::string_view kernel, const std::vector<Insertion> &insertions) {
    const File file(subject.rewritten(kernel, insertions));
    const auto program = must(analysis::Program::create(file.object));
    const auto good =
        analysis::verifyHazards(file.object.target(), must(program->function(file.kernel(kernel)))->cfg());
    EXPECT_TRUE(good) << good.error().message();
  }
};

constexpr RegRange kV5{vgpr(5), 1}, kV6{vgpr(6), 1}, kV7{vgpr(7), 1};

TEST_F(NeighbourTest, AcrossABranch) {
  Subject subject(STRICT_KERNELS, STRICT_HOOKS);
  const auto branch = [&](unsigned n) -> const Instr & { return subject.instr("shortBlocks", "s_cbranch_scc1", n); };
  // Written before, and behind: a hook at the end of one block, and one at the start of another.
  expectDistances(
      subject, "shortBlocks",
      {subject.before(branch(0), "addSeven", {Argument::reg(kV5)}, kV5),
       subject.before(subject.instr("shortBlocks", "v_mov_b32", 0), "fromNeighbour", {Argument::reg(kV5)}, kV5)});
  expectDistances(
      subject, "shortBlocks",
      {subject.before(branch(1), "addSeven", {Argument::reg(kV5)}, kV5),
       subject.before(subject.instr("shortBlocks", "v_mov_b32", 0), "fromNeighbour", {Argument::reg(kV5)}, kV5)});
  // Through a block of one instruction; and what the guest itself reads by DPP at the other end of a loop.
  expectDistances(
      subject, "shortBlocks",
      {subject.before(subject.instr("shortBlocks", "s_branch", 0), "addSeven", {Argument::reg(kV5)}, kV5),
       subject.before(subject.instr("shortBlocks", "v_mov_b32", 2), "fromNeighbour", {Argument::reg(kV5)}, kV5)});
  expectDistances(subject, "shortBlocks", {subject.before(branch(1), "addSeven", {Argument::reg(kV7)}, kV7)});
}

TEST_F(NeighbourTest, OnEdges) {
  Subject subject(STRICT_KERNELS, STRICT_HOOKS);
  const analysis::Cfg &cfg = subject.function("shortBlocks").cfg();
  std::vector<Insertion> insertions;
  for (const analysis::Edge &edge : cfg.edges()) {
    Insertion &on = insertions.emplace_back(subject.at(
        Position::Edge, cfg.terminator(cfg.blocks()[edge.from]).address(), "addSeven", {Argument::reg(kV5)}, kV5));
    on.edgeTo = cfg.start(cfg.blocks()[edge.to]);
  }
  for (const analysis::Block &block : cfg.blocks())
    insertions.push_back(
        subject.at(Position::BlockEntry, cfg.start(block), "fromNeighbour", {Argument::reg(kV5)}, kV5));
  expectDistances(subject, "shortBlocks", insertions);
}

TEST_F(NeighbourTest, BehindTheEntry) {
  Subject subject(STRICT_KERNELS, STRICT_HOOKS);
  const Argument id = Argument::launchValue(LaunchValue::WorkitemIdX);
  for (const char *kernel : {"shortBlocks", "movesIdsFirst"}) {
    SCOPED_TRACE(kernel);
    expectDistances(subject, kernel, {subject.at(Position::KernelEntry, 0, "fromNeighbour", {id}, kV6)});
    expectDistances(subject, kernel,
                    {subject.at(Position::KernelEntry, 0, "addSeven", {id}, kV6),
                     subject.at(Position::BlockEntry, subject.instrs(kernel)[0].address(), "fromNeighbour",
                                {Argument::reg(kV6)}, kV6)});
  }
  // The entry takes the other work-item ids out of v0 again.
  expectDistances(subject, "movesIdsFirst",
                  {subject.before(subject.instr("movesIdsFirst", "global_store_dword"), "addSeven",
                                  {Argument::launchValue(LaunchValue::WorkitemIdZ)})});
}

/// What a hook computes does not depend on the guest's rounding, nor the guest's on the hook's.
TEST_F(StrictTest, HooksRoundAsEver) {
  Subject subject(STRICT_KERNELS, STRICT_HOOKS);
  const float third = 1.0f / 3, small = 1.5e-38f / 3;
  for (const char *kernel : {"rounds", "roundsFromStart", "roundsByRegister"})
    for (unsigned n = 0; n < (std::string_view(kernel) == "rounds" ? 3u : 1u); ++n) {
      SCOPED_TRACE(fmt::format("{} {}", kernel, n));
      const std::vector<Insertion> insertions = {at(subject, kernel, n, "divide", {Argument::constant(n & 1)})};
      const Outcome outcome = expectSame(machine_, subject, subject.rewritten(kernel, insertions), kernel);
      float quotients[4];
      memcpy(quotients, outcome.variable("quotients").data(), sizeof quotients);
      EXPECT_EQ(quotients[n & 1], third);
      EXPECT_EQ(quotients[2 + (n & 1)], small);
    }
}

/// Where the guest has not changed it, nothing is done about it.
TEST_F(StrictTest, ModeCostsNothingWhereItIsKnown) {
  Subject subject(STRICT_KERNELS, STRICT_HOOKS);
  const auto writes = [&](std::string_view kernel, unsigned nop, const char *hook) {
    const std::vector<Insertion> insertions = {at(subject, kernel, nop, hook,
                                                  subject.module->findHook(hook)->parameters.empty()
                                                      ? std::vector<Argument>()
                                                      : std::vector<Argument>{Argument::constant(0)})};
    const NewCode code(subject, subject.rewrite(kernel, insertions).variant);
    return std::ranges::count_if(code.instrs(), [](const Instr &i) { return i.mnemonic().starts_with("s_setreg"); });
  };
  EXPECT_EQ(writes("rounds", 2, "divide"), 2);          // the guest's own, and back to what it was
  EXPECT_EQ(writes("rounds", 0, "count"), 2);           // no floating point
  EXPECT_EQ(writes("rounds", 0, "divide"), 4);          // set and put back
  EXPECT_EQ(writes("roundsFromStart", 0, "divide"), 2); // known from the descriptor
  EXPECT_EQ(writes("roundsByRegister", 0, "divide"), 4);
}

/// Exceptions of hooks are not the guest's.
TEST_F(StrictTest, FlagsOfHooksAreTakenBack) {
  Subject subject(STRICT_KERNELS, STRICT_HOOKS);
  const auto text = [&](std::string_view kernel) {
    const std::vector<Insertion> insertions = {at(subject, kernel, 0, "invalid")};
    return NewCode(subject, subject.rewrite(kernel, insertions).variant).mnemonics();
  };
  for (const char *kernel : {"looksAtFlags", "trapsOnInvalid"}) {
    SCOPED_TRACE(kernel);
    const std::vector<std::string> code = text(kernel);
    const auto has = [&](std::string_view part) {
      return std::ranges::count_if(code, [&](const std::string &line) { return line.find(part) != line.npos; });
    };
    EXPECT_EQ(has("s_setreg_b32 hwreg(HW_REG_TRAPSTS, 0, 9)"), 1);
    EXPECT_EQ(has("s_setreg_imm32_b32 hwreg(HW_REG_MODE"), std::string_view(kernel) == "trapsOnInvalid" ? 2 : 0);
  }
  const std::vector<std::string> code = text("rounds");
  EXPECT_TRUE(std::ranges::none_of(code, [](const std::string &line) { return line.find("TRAPSTS") != line.npos; }));
}

/// Exports and GDS read their sources late: who overwrites these must wait for EXPCNT too.
TEST_F(StrictTest, WaitsForLateReaders) {
  Subject subject(LATE_READERS, STRICT_HOOKS);
  const std::vector<Insertion> insertions = {at(subject, "exports", 0, "wide", {Argument::constant(3)})};
  const Rewrite rewrite = subject.rewrite("exports", insertions);
  EXPECT_EQ(rewrite.sites[0].waits, 1u);
  const NewCode code(subject, rewrite.variant);
  const std::vector<std::string> lines = code.mnemonics();
  const auto gds = std::ranges::find_if(lines, [](const std::string &line) { return line.find("gds") != line.npos; });
  ASSERT_NE(gds, lines.end());
  const auto wait = std::find_if(gds, lines.end(), [](const std::string &l) { return l.find("s_waitcnt") != l.npos; });
  ASSERT_NE(wait, lines.end());
  EXPECT_THAT(*wait, testing::HasSubstr("expcnt(0)"));
}

/// Where an access may be repeated, nothing of its run may have overwritten its address.
TEST_F(StrictTest, RepeatedAccessesFindTheirAddresses) {
  for (const char *path : {STRICT_KERNELS, STRICT_KERNELS_NO_XNACK}) {
    Subject subject(path, STRICT_HOOKS);
    subject.rewriter->setForm(HookForm::Inline); // a call and a return keep accesses apart by themselves
    const Rewrite rewrite = subject.rewrite("loadsInARow", everywhere(subject, "loadsInARow", "store"));
    const NewCode code(subject, rewrite.variant);
    unsigned spoilt = 0; // stores of hooks with operands that the next instruction overwrites
    for (size_t n = 0; n + 1 < code.instrs().size(); ++n) {
      const Instr &store = code.instrs()[n], &load = code.instrs()[n + 1];
      if (store.mnemonic() == "global_store_dword" && load.mnemonic() == "global_load_dword")
        for (RegRange written : load.writes())
          spoilt += std::ranges::any_of(store.reads(), [&](RegRange read) { return read.contains(written.first); });
    }
    EXPECT_EQ(spoilt != 0, path == std::string(STRICT_KERNELS_NO_XNACK));
    expectSame(machine_, subject, must(emitMerged(subject.file.object, {&rewrite.variant, 1})), "loadsInARow");
  }
}

/// All of rocRAND's kernels.
class StrictRocrandTest : public testing::TestWithParam<const char *> {};

TEST_P(StrictRocrandTest, IsRight) {
  constexpr const char *kLibrary = "/usr/lib/x86_64-linux-gnu/librocrand.so.1";
  if (!std::filesystem::exists(kLibrary))
    GTEST_SKIP() << kLibrary << " is not installed";
  const auto container = must(object::Container::open(kLibrary));
  std::vector<std::byte> bytes;
  for (const object::Image &image : must(container.images()))
    if (const auto object = must(image.codeObject()); object.targetId() == GetParam())
      bytes.assign(object.elf().begin(), object.elf().end());
  ASSERT_FALSE(bytes.empty());
  Subject subject(std::move(bytes), kLibrary, STATE_HOOKS);
  unsigned n = 0;
  for (const object::Symbol &kernel : subject.file.object.kernels()) {
    const std::vector<Insertion> insertions = subject.everywhere(kernel.name, [&](const Instr &instr, auto &list) {
      if (++n % 5 == 0)
        list.push_back(subject.before(instr, n % 3 ? "countLane" : "countWave"));
      if (n % 31 == 0)
        list.push_back(subject.before(instr, n % 2 ? "hostileLane" : "hostileWave", {Argument::constant(n)}));
    });
    const Rewrite rewrite = subject.rewrite(kernel.name, insertions);
    expectSpecialsApart(subject, rewrite.variant);
    const File file(must(emitMerged(subject.file.object, {&rewrite.variant, 1})));
    const auto program = must(analysis::Program::create(file.object));
    const analysis::Cfg &cfg = must(program->function(file.kernel(kernel.name)))->cfg();
    const auto distances = analysis::verifyHazards(file.object.target(), cfg);
    EXPECT_TRUE(distances) << kernel.name << ": " << distances.error().message();
    if (subject.file.object.targetId().find("xnack-") == std::string_view::npos) {
      const auto replays = analysis::verifyReplays(cfg);
      EXPECT_TRUE(replays) << kernel.name << ": " << replays.error().message();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, StrictRocrandTest, testing::Values("gfx90a:xnack-", "gfx90a:xnack+"),
                         [](const auto &info) { return std::string(info.param).ends_with('+') ? "xnack" : "none"; });

} // namespace
} // namespace luthier::rewrite::test
