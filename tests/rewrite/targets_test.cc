// Every generation, and both sizes of waves where there are two: kernels compute the same under hooks that want more
// registers than there are, at every instruction; what belongs together stays together.
//
// Where the virtual GPU executes the target, kernels are run; the code is looked at in any case.
#include "analysis/hazards.h"
#include "analysis/seam_hazards.h"
#include "isa/pending_scalars.h"
#include "rewrite/points.h"
#include "trace_fixture.h"

#include <map>
#include <optional>

namespace luthier::rewrite::test {
namespace {

struct Kind {
  const char *target;
  unsigned waveSize;
};
void PrintTo(const Kind &kind, std::ostream *out) { *out << kind.target << " wave" << kind.waveSize; }

std::string fileOf(const char *name, const Kind &kind) {
  return fmt::format("{}/{}_{}_{}.co", TARGET_KERNELS, name, kind.target, kind.waveSize);
}

class TargetsTest : public testing::TestWithParam<Kind> {
protected:
  TargetsTest() : target_(*isa::findTarget(GetParam().target)) {
    if (target_.virtualGpu)
      machine_.emplace(GetParam().target);
  }

  /// Before every instruction of a kernel and of what it calls.
  std::vector<Insertion> every(Subject &subject, std::string_view kernel, const std::string &hook, unsigned step = 1) {
    unsigned n = 0;
    return subject.everywhere(kernel, [&](const Instr &instr, auto &list) {
      if (n++ % step == 0)
        list.push_back(with(subject, subject.before(instr, hook), n));
    });
  }
  static Insertion with(const Subject &subject, Insertion insertion, uint64_t value) {
    if (!subject.module->findHook(insertion.hook)->parameters.empty())
      insertion.arguments = {Argument::constant(value)};
    return insertion;
  }

  /// Decodes what was written: registers are there, clauses are whole, nothing comes behind what gives registers back.
  void expectWellFormed(const Subject &subject, const Variant &variant) {
    const object::KernelDescriptor &descriptor = variant.descriptor;
    ASSERT_EQ(descriptor.waveSize(target_), GetParam().waveSize);
    const auto decoder = must(isa::Decoder::create(target_, GetParam().waveSize));
    const auto code = must(decoder->decode(variant.code, 0));
    const auto instrs = code.instrs();
    if (isa::hasPendingScalars(target_))
      expectScalarsSeen(variant, code);
    const unsigned vgprs = target_.unifiedVgprs ? descriptor.accumOffset() : descriptor.vgprs(target_);
    for (size_t n = 0; n < instrs.size(); ++n) {
      const Instr &instr = instrs[n];
      for (const Operand &operand : instr.operands())
        if (operand.kind == OperandKind::Register && isVector(operand.regs.first)) {
          ASSERT_LE(number(operand.regs.first) - number(Reg::V0) + operand.regs.count, vgprs) << decoder->text(instr);
        }
      EXPECT_TRUE(instr.memorySpace() != MemorySpace::Scratch || descriptor.privateSegmentSize)
          << subject.file.object.origin();
      if (deallocatesVgprs(instr, target_)) {
        ASSERT_LT(n + 1, instrs.size());
        EXPECT_TRUE(instrs[n + 1].is(Property::EndProgram)) << decoder->text(instrs[n + 1]);
        EXPECT_EQ(instrs[n - 1].opcode(), Opcode::S_NOP);
      }
      if (instr.opcode() != Opcode::S_CLAUSE)
        continue;
      const auto members = static_cast<size_t>(instr.operands()[0].value & 0x3f) + 1;
      ASSERT_LT(n + members, instrs.size());
      for (size_t k = 2; k <= members; ++k)
        ASSERT_EQ(instrs[n + k].memorySpace(), instrs[n + 1].memorySpace())
            << decoder->text(instrs[n + k]) << " in a clause of " << decoder->text(instrs[n + 1]);
      ASSERT_NE(instrs[n + 1].memorySpace(), MemorySpace::None) << decoder->text(instrs[n + 1]);
    }
  }

  /// Inserted code reads no SGPR whose last write may not be seen yet, whoever wrote it. Which SGPRs vector
  /// instructions have read is forgotten behind each site that has such, so that those of the kernel and of the site
  /// itself count.
  void expectScalarsSeen(const Variant &variant, const isa::InstrSequence &code) {
    const auto eachInstr = [&](const CodeRange &range, auto &&see) {
      for (uint64_t at = range.offset; at < range.offset + range.size;) {
        const Instr *instr = code.at(at);
        ASSERT_TRUE(instr);
        see(*instr);
        at += instr->size();
      }
    };
    const auto isInserted = [](const CodeRange &range) {
      return range.kind == CodeRange::Kind::Glue || range.kind == CodeRange::Kind::Fragment;
    };
    RegSet readByKernel;
    std::map<uint32_t, RegSet> readBySite;
    for (const CodeRange &range : variant.ranges)
      eachInstr(range, [&](const Instr &instr) {
        (isInserted(range) ? readBySite[range.site] : readByKernel) |= analysis::scalarsReadByVectors({&instr, 1});
      });
    std::optional<isa::PendingScalars> state;
    uint64_t end = 0;
    uint32_t site = UINT32_MAX;
    for (const CodeRange &range : variant.ranges) {
      if (range.kind == CodeRange::Kind::Island && range.offset == end)
        end += range.size; // the code jumps over it
      if (!isInserted(range))
        continue;
      if (range.offset != end || range.site != site) {
        const RegSet read = readByKernel | readBySite[range.site];
        state.emplace(read, read);
      }
      end = range.offset + range.size;
      site = range.site;
      eachInstr(range, [&](const Instr &instr) {
        EXPECT_FALSE(state->holdUp(instr)) << instr.mnemonic() << " at " << instr.address();
        state->execute(instr);
        if (instr.is(Property::Branch) && !instr.is(Property::Conditional))
          state->wait(); // nobody falls through
      });
    }
  }

  RunOptions optionsFor(std::string_view kernel) {
    RunOptions options{.grid = {192}, .workgroup = {64}};
    if (kernel == "dynamicLds")
      options.dynamicLds = 256;
    if (kernel == "manyArguments")
      options.arguments = vgpu::Arguments(machine_->outAddress(), machine_->inAddress(), 7u, 11u, 13u, 17u,
                                          uint64_t{1} << 40, uint64_t{19});
    return options;
  }

  /// The rewritten kernel computes the same.
  std::optional<Outcome> expectTransparent(Subject &subject, std::string_view kernel,
                                           const std::vector<Insertion> &insertions) {
    const Rewrite rewrite = subject.rewrite(kernel, insertions);
    expectWellFormed(subject, rewrite.variant);
    const auto file = must(emitMerged(subject.file.object, {&rewrite.variant, 1}));
    if (!machine_)
      return {};
    return expectSame(*machine_, subject, file, kernel, optionsFor(kernel));
  }

  const isa::Target &target_;
  std::optional<Machine> machine_;
};

/// Compiled code, with hooks that leave nothing as it was but what they must.
TEST_P(TargetsTest, Compiled) {
  Subject subject(fileOf("compiled", GetParam()));
  for (const object::Symbol &kernel : subject.file.object.kernels())
    for (const char *hook : {"hostileLane", "hostileWave", "countLane", "countWave"}) {
      SCOPED_TRACE(fmt::format("{} in {}", hook, kernel.name));
      expectTransparent(subject, kernel.name, every(subject, kernel.name, hook));
    }
}

/// Calls, pointers to functions, jumps by tables, recursion, a stack.
TEST_P(TargetsTest, CodeThatKnowsWhereItIs) {
  Subject subject(fileOf("hard", GetParam()));
  for (const char *kernel : {"pointerCalls", "virtualCalls", "switches", "recursive", "stack"})
    for (const char *hook : {"hostileLane", "hostileWave", "countLane"}) {
      SCOPED_TRACE(fmt::format("{} in {}", hook, kernel));
      // With 256 vector registers for four waves, hooks of 40 need scratch, of which such a kernel has no end.
      const object::KernelDescriptor descriptor = must(subject.file.object.descriptor(subject.file.kernel(kernel)));
      if (target_.vgprFileLanes > 256 || !descriptor.dynamicStack() || hook == std::string_view("countLane"))
        expectTransparent(subject, kernel, every(subject, kernel, hook, 3));
    }
}

TEST_P(TargetsTest, Conditions) {
  Subject subject(fileOf("assembled", GetParam()));
  for (const char *kernel : {"conditions", "clauses"})
    for (const char *hook : {"hostileLane", "hostileWave", "countLane", "countWave"}) {
      SCOPED_TRACE(fmt::format("{} in {}", hook, kernel));
      expectTransparent(subject, kernel, every(subject, kernel, hook));
    }
}

/// Hooks that run in some visits only.
TEST_P(TargetsTest, Sampled) {
  const auto expectSampled = [&](Subject &subject, std::string_view kernel, std::vector<Insertion> insertions) {
    for (Insertion &insertion : insertions)
      insertion.sampling = {.every = 3, .counter = 0};
    expectTransparent(subject, kernel, insertions);
    for (Insertion &insertion : insertions)
      insertion.sampling = {.every = 2, .counter = 0, .when = "chosen"};
    insertions.push_back(subject.at(Position::KernelEntry, 0, "choose", {Argument::constant(0)}));
    expectTransparent(subject, kernel, insertions);
  };
  Subject compiled(fileOf("compiled", GetParam())), assembled(fileOf("assembled", GetParam()));
  for (const char *hook : {"hostileLane", "hostileWave", "countWave"}) {
    SCOPED_TRACE(hook);
    for (const object::Symbol &kernel : compiled.file.object.kernels())
      expectSampled(compiled, kernel.name, every(compiled, kernel.name, hook));
    expectSampled(assembled, "conditions", every(assembled, "conditions", hook));
    for (const char *kernel : {"twoLeft", "sgprsOnly", "vgprsOnly"}) {
      SCOPED_TRACE(kernel);
      std::vector<Insertion> insertions;
      for (unsigned n = 0; n < 2; ++n)
        insertions.push_back(with(assembled, assembled.before(assembled.instr(kernel, "s_nop", n), hook), n + 3));
      expectSampled(assembled, kernel, insertions);
    }
  }
}

/// Few registers are left, or none of one kind.
TEST_P(TargetsTest, Crowded) {
  Subject subject(fileOf("assembled", GetParam()));
  for (const char *kernel : {"twoLeft", "sgprsOnly", "vgprsOnly"})
    for (const char *hook : {"hostileLane", "hostileWave", "countLane", "countWave"}) {
      SCOPED_TRACE(fmt::format("{} in {}", hook, kernel));
      std::vector<Insertion> insertions;
      for (unsigned n = 0; n < 2; ++n)
        insertions.push_back(with(subject, subject.before(subject.instr(kernel, "s_nop", n), hook), n + 3));
      expectTransparent(subject, kernel, insertions);
    }
}

/// All registers are in use: a hook is placed and does no harm, or is refused with a reason.
TEST_P(TargetsTest, Full) {
  Subject subject(fileOf("assembled", GetParam()));
  for (const char *hook : {"hostileLane", "hostileWave", "countLane", "countWave"}) {
    SCOPED_TRACE(hook);
    const Insertion insertion = with(subject, subject.before(subject.instr("crowded", "s_nop"), hook), 3);
    const Rewrite rewrite = must(subject.rewriter->rewrite(subject.file.kernel("crowded"), {&insertion, 1}));
    EXPECT_NE(rewrite.sites[0].placed, rewrite.sites[0].rejected.find("register") != std::string::npos)
        << rewrite.sites[0].rejected;
    expectWellFormed(subject, rewrite.variant);
    if (machine_)
      expectSame(*machine_, subject, must(emitMerged(subject.file.object, {&rewrite.variant, 1})), "crowded",
                 {.grid = {192}, .workgroup = {64}});
  }
}

TEST_P(TargetsTest, GrowsBeyondReach) {
  Subject subject(fileOf("assembled", GetParam()));
  subject.rewriter->setForm(HookForm::Inline);
  const Rewrite rewrite = subject.rewrite("far", every(subject, "far", "countLane"));
  EXPECT_GT(rewrite.variant.code.size(), 2u * 128 * 1024);
  EXPECT_TRUE(std::ranges::any_of(rewrite.variant.ranges,
                                  [](const CodeRange &r) { return r.kind == CodeRange::Kind::Island; }));
  if (machine_)
    expectSame(*machine_, subject, must(emitMerged(subject.file.object, {&rewrite.variant, 1})), "far");
}

/// Hooks that are called, from beyond the reach of a call.
TEST_P(TargetsTest, CallsBeyondReach) {
  Subject subject(fileOf("assembled", GetParam()));
  std::vector<Insertion> insertions = every(subject, "far", "countLane");
  for (Insertion &insertion : insertions)
    insertion.form = HookForm::Inline;
  for (Insertion &insertion : every(subject, "far", "countLaunch")) {
    insertion.form = HookForm::Shared;
    insertions.push_back(std::move(insertion));
  }
  const Rewrite rewrite = subject.rewrite("far", insertions);
  EXPECT_GT(rewrite.variant.code.size(), 2u * 128 * 1024);
  const bool called = !isa::hasPendingScalars(target_);
  EXPECT_EQ(rewrite.sharedHooks, called ? 1u : 0u);
  EXPECT_EQ(std::ranges::count_if(rewrite.sites, [](const SiteAccount &site) { return site.calls == 1; }),
            static_cast<ptrdiff_t>(called ? insertions.size() / 2 : 0));
  expectWellFormed(subject, rewrite.variant);
  if (!machine_)
    return;
  const auto file = must(emitMerged(subject.file.object, {&rewrite.variant, 1}));
  const Outcome shared = expectSame(*machine_, subject, file, "far");
  for (Insertion &insertion : insertions)
    insertion.form = HookForm::Inline;
  const Outcome copied = machine_->run(subject.rewritten("far", insertions), "far");
  for (const char *variable : {"total", "launchTotal"}) {
    EXPECT_EQ(valueOf<uint64_t>(shared, variable), valueOf<uint64_t>(copied, variable)) << variable;
    EXPECT_GT(valueOf<uint64_t>(shared, variable), 0u);
  }
}

/// Variables per wave and per launch, from a wave's first instruction to its last.
TEST_P(TargetsTest, Variables) {
  Subject subject(fileOf("assembled", GetParam()));
  const unsigned waves = 192 / GetParam().waveSize;
  for (const char *kernel : {"conditions", "sgprsOnly"}) {
    SCOPED_TRACE(kernel);
    const std::vector<Insertion> insertions = {subject.at(Position::KernelEntry, 0, "count", {Argument::constant(3)}),
                                               subject.at(Position::KernelExit, 0, "count", {Argument::constant(4)}),
                                               subject.at(Position::KernelExit, 0, "flush"),
                                               subject.at(Position::KernelEntry, 0, "countLane")};
    const auto outcome = expectTransparent(subject, kernel, insertions);
    if (!outcome)
      continue;
    EXPECT_EQ(valueOf<uint64_t>(*outcome, "total"), waves * (7 + (uint64_t{7} << 30)) + 192);
    EXPECT_EQ(valueOf<uint64_t>(*outcome, "launchTotal"), waves * 7u);
  }
}

/// Variables per lane count what one atomic per visit counts, also of lanes that are off when the wave ends.
TEST_P(TargetsTest, PerLaneVariables) {
  for (const auto &[file, kernel] :
       std::initializer_list<std::pair<const char *, const char *>>{{"assembled", "conditions"},
                                                                    {"assembled", "sgprsOnly"},
                                                                    {"compiled", "collatz"},
                                                                    {"compiled", "calls"},
                                                                    {"hard", "pointerCalls"},
                                                                    {"hard", "recursive"}}) {
    SCOPED_TRACE(kernel);
    Subject subject(fileOf(file, GetParam()));
    const unsigned step = file == std::string_view("hard") ? 3 : 1;
    const auto atomics = expectTransparent(subject, kernel, every(subject, kernel, "countLane", step));
    std::vector<Insertion> insertions = subject.everywhere(kernel, [&, n = 0u](const Instr &instr, auto &list) mutable {
      if (n++ % step == 0)
        list.push_back(subject.before(instr, "countLanes", {Argument::constant(1)}));
    });
    insertions.push_back(subject.at(Position::KernelExit, 0, "flushLanes"));
    const auto outcome = expectTransparent(subject, kernel, insertions);
    if (!outcome)
      continue;
    const auto visits = valueOf<uint64_t>(*atomics, "total");
    EXPECT_GT(visits, 192u);
    EXPECT_EQ(valueOf<uint64_t>(*outcome, "launchTotal"), visits);
    EXPECT_EQ(valueOf<uint64_t>(*outcome, "total"), visits << 31);
  }
}

/// Work-items that do not fill the last wave, and hooks at the end of a kernel that lanes have left early.
TEST_P(TargetsTest, PerLaneVariablesOfAPartialWave) {
  if (!machine_)
    return;
  Subject subject(fileOf("compiled", GetParam()));
  const std::vector<Insertion> insertions = {
      subject.at(Position::KernelEntry, 0, "countLanes", {Argument::constant(1)}),
      subject.at(Position::KernelExit, 0, "flushLanes")};
  const RunOptions options{.grid = {150}, .workgroup = {75}};
  const Outcome outcome = expectSame(*machine_, subject, subject.rewritten("collatz", insertions), "collatz", options);
  EXPECT_EQ(valueOf<uint64_t>(outcome, "launchTotal"), 150u);
}

/// LDS of hooks, behind the kernel's own and what the launch adds to that, zero when a workgroup of several waves
/// starts.
TEST_P(TargetsTest, Lds) {
  for (const auto &[file, kernel] :
       std::initializer_list<std::pair<const char *, const char *>>{{"assembled", "conditions"},
                                                                    {"assembled", "sgprsOnly"},
                                                                    {"compiled", "scan"},
                                                                    {"compiled", "dynamicLds"},
                                                                    {"compiled", "calls"},
                                                                    {"hard", "pointerCalls"}}) {
    SCOPED_TRACE(kernel);
    Subject subject(fileOf(file, GetParam()));
    const unsigned step = file == std::string_view("hard") ? 3 : 1;
    const auto atomics = expectTransparent(subject, kernel, every(subject, kernel, "countLane", step));
    std::vector<Insertion> insertions = every(subject, kernel, "countLds", step);
    insertions.push_back(subject.at(Position::KernelExit, 0, "flushLds"));
    const auto outcome = expectTransparent(subject, kernel, insertions);
    if (!outcome)
      continue;
    const auto visits = valueOf<uint64_t>(*atomics, "total");
    EXPECT_GT(visits, 192u);
    EXPECT_EQ(valueOf<uint64_t>(*outcome, "launchTotal"), visits);
    EXPECT_EQ(valueOf<uint64_t>(*outcome, "total"), visits << 31);
  }
}

TEST_P(TargetsTest, LdsOfSeveralWaves) {
  if (!machine_)
    return;
  Subject subject(fileOf("compiled", GetParam()));
  for (const unsigned odd : {0u, 5u}) { // bytes that make it begin where nothing is aligned
    std::vector<Insertion> insertions = every(subject, "dynamicLds", "countLds");
    insertions.push_back(subject.at(Position::KernelExit, 0, "flushLds"));
    const RunOptions options{.grid = {896}, .workgroup = {224}, .dynamicLds = 1024 + odd};
    const Outcome atomics =
        expectSame(*machine_, subject, subject.rewritten("dynamicLds", every(subject, "dynamicLds", "countLane")),
                   "dynamicLds", options);
    const Outcome outcome =
        expectSame(*machine_, subject, subject.rewritten("dynamicLds", insertions), "dynamicLds", options);
    EXPECT_EQ(valueOf<uint64_t>(outcome, "launchTotal"), valueOf<uint64_t>(atomics, "total"));
  }
}

/// What cannot be is refused: by place and reason.
TEST_P(TargetsTest, RefusedOfWorkgroups) {
  Subject subject(fileOf("assembled", GetParam()));
  const std::vector<Insertion> insertions = {subject.at(Position::KernelEntry, 0, "countGroup"),
                                             subject.at(Position::KernelEntry, 0, "countLane")};
  const Rewrite rewrite = must(subject.rewriter->rewrite(subject.file.kernel("conditions"), insertions));
  EXPECT_NE(rewrite.sites[0].rejected.find("it has per-workgroup variables"), std::string::npos)
      << rewrite.sites[0].rejected;
  EXPECT_TRUE(rewrite.sites[1].placed);
}

/// Hooks before and behind what ends a kernel run before its registers are given back, in their order.
TEST_P(TargetsTest, TheVeryEnd) {
  Subject subject(fileOf("assembled", GetParam()));
  const auto instrs = subject.instrs("clauses");
  std::vector<Insertion> insertions;
  for (size_t n = instrs.size() - 3; n < instrs.size(); ++n)
    insertions.push_back(subject.before(instrs[n], "countLane"));
  insertions.push_back(subject.at(Position::KernelExit, 0, "countLane"));
  const auto outcome = expectTransparent(subject, "clauses", insertions);
  if (outcome)
    EXPECT_EQ(valueOf<uint64_t>(*outcome, "total"), 4u * 192);
}

/// Masks have 64 bits whatever the wave: zeros above its lanes.
TEST_P(TargetsTest, Masks) {
  Subject subject(fileOf("assembled", GetParam()));
  const unsigned lanes = GetParam().waveSize;
  const uint64_t all = lanes == 64 ? ~0ull : (1ull << lanes) - 1, odd = all & 0xaaaa'aaaa'aaaa'aaaa;
  enum : uint32_t { kBallot, kLaneExec, kWaveExec, kArgument };
  const std::vector<Insertion> insertions = {
      subject.at(Position::KernelEntry, 0, "ballotOdd", {Argument::constant(kBallot)}),
      subject.at(Position::KernelEntry, 0, "laneExec", {Argument::constant(kLaneExec)}),
      subject.at(Position::KernelEntry, 0, "readExec", {Argument::constant(kWaveExec)}),
      subject.at(Position::KernelEntry, 0, "seeWave64", {Argument::constant(kArgument), Argument::exec()})};
  const auto outcome = expectTransparent(subject, "conditions", insertions);
  if (!outcome)
    return;
  std::map<uint32_t, std::map<std::pair<uint32_t, uint64_t>, unsigned>> seen;
  for (const Record &record : recordsOf(*outcome))
    ++seen[record.what][{record.lane, record.value}];
  for (unsigned lane = 0; lane < lanes; ++lane) {
    EXPECT_EQ((seen[kBallot][{lane, odd}]), 192 / lanes);
    EXPECT_EQ((seen[kLaneExec][{lane, all}]), 192 / lanes);
  }
  EXPECT_EQ((seen[kWaveExec][{kWholeWave, all}]), 192 / lanes);
  EXPECT_EQ((seen[kArgument][{kWholeWave, all}]), 192 / lanes);
}

/// What goes back to VCC goes to as much of it as is a mask: VCC_HI keeps what it has in waves of 32 lanes.
TEST_P(TargetsTest, VccGoesBack) {
  Subject subject(fileOf("assembled", GetParam()));
  std::vector<Insertion> twice;
  for (const Instr &instr : subject.instrs("conditions"))
    if (instr.mnemonic() == "v_cndmask_b32" || instr.mnemonic().find("saveexec") != std::string_view::npos)
      for (unsigned n = 0; n < 2; ++n)
        twice.push_back(subject.before(instr, "invert", {Argument::vcc()}, {Reg::VccLo, 2}));
  ASSERT_EQ(twice.size(), 4u);
  expectTransparent(subject, "conditions", twice);
}

/// Arguments that the hardware puts into SGPRs: as long as hooks leave room for them, it does; else the code does.
class PreloadTest : public TargetsTest {};

TEST_P(PreloadTest, ArgumentsArrive) {
  Subject subject(fmt::format("{}/preloaded_{}.co", TARGET_KERNELS, GetParam().target));
  unsigned dropped = 0;
  for (const char *kernel : {"manyLoads", "collatz", "calls", "manyArguments"}) {
    const object::KernelDescriptor original = must(subject.file.object.descriptor(subject.file.kernel(kernel)));
    ASSERT_GT(original.preloadLength(), 0u);
    for (const char *hook : {"hostileLane", "countLane", "seeWave64"}) {
      SCOPED_TRACE(fmt::format("{} in {}", hook, kernel));
      const bool asksForMore = hook == std::string_view("seeWave64");
      std::vector<Insertion> insertions;
      for (const hook::LaunchValue value :
           {hook::LaunchValue::DispatchPtr, hook::LaunchValue::QueuePtr, hook::LaunchValue::DispatchId})
        insertions.push_back(
            subject.at(Position::KernelExit, 0, "seeWave64", {Argument::constant(1), Argument::launchValue(value)}));
      if (!asksForMore)
        insertions = every(subject, kernel, hook);
      const Rewrite rewrite = subject.rewrite(kernel, insertions);
      const object::KernelDescriptor &descriptor = rewrite.variant.descriptor;
      EXPECT_TRUE(descriptor.preloadLength() == original.preloadLength() ||
                  (asksForMore && descriptor.preloadLength() == 0));
      dropped += descriptor.preloadLength() == 0;
      const Outcome outcome = expectSame(
          *machine_, subject, must(emitMerged(subject.file.object, {&rewrite.variant, 1})), kernel, optionsFor(kernel));
      if (asksForMore)
        EXPECT_EQ(valueOf<uint32_t>(outcome, "recordCount"), 3u * 3);
    }
  }
  EXPECT_GE(dropped, 1u); // at least manyArguments has no room for three pointers more
}

INSTANTIATE_TEST_SUITE_P(Kinds, PreloadTest, testing::Values(Kind{"gfx90a", 64}, Kind{"gfx942", 64}),
                         [](const auto &info) { return std::string(info.param.target); });

INSTANTIATE_TEST_SUITE_P(Kinds, TargetsTest,
                         testing::Values(Kind{"gfx908", 64}, Kind{"gfx942", 64}, Kind{"gfx1010", 32},
                                         Kind{"gfx1030", 32}, Kind{"gfx1030", 64}, Kind{"gfx1100", 32},
                                         Kind{"gfx1100", 64}, Kind{"gfx1201", 32}, Kind{"gfx1201", 64}),
                         [](const auto &info) { return fmt::format("{}_{}", info.param.target, info.param.waveSize); });

} // namespace
} // namespace luthier::rewrite::test
