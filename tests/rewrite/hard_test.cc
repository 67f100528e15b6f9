// Cases in which there is no room: no registers, no scratch, no reach; and code that depends on where it is.
#include "analysis/hazards.h"
#include "object/container.h"
#include "run_fixture.h"

#include <filesystem>

namespace luthier::rewrite::test {
namespace {

class HardTest : public testing::Test {
protected:
  std::vector<Insertion> every(Subject &subject, std::string_view kernel, const std::string &hook, unsigned step = 1) {
    unsigned n = 0;
    return subject.everywhere(kernel, [&](const Instr &instr, auto &list) {
      if (n++ % step == 0) {
        list.push_back(subject.before(instr, hook));
        if (!subject.module->findHook(hook)->parameters.empty())
          list.back().arguments = {Argument::constant(n)};
      }
    });
  }
  /// Registers that the code names are there.
  static void expectResources(const Subject &subject, const Rewrite &rewrite) {
    const isa::Target &target = subject.file.object.target();
    const Variant &variant = rewrite.variant;
    const object::KernelDescriptor &descriptor = variant.descriptor;
    const auto decoder = must(isa::Decoder::create(target, descriptor.waveSize(target)));
    const auto code = must(decoder->decode(variant.code, 0));
    unsigned sgprs = 0, vgprs = 0, accVgprs = 0;
    bool scratch = false;
    for (const Instr &instr : code.instrs()) {
      scratch |= instr.memorySpace() == MemorySpace::Scratch;
      for (const Operand &operand : instr.operands()) {
        const unsigned end = number(operand.regs.first) + operand.regs.count;
        if (operand.kind != OperandKind::Register || operand.regs.empty())
          continue;
        if (isVector(operand.regs.first))
          vgprs = std::max(vgprs, end - number(Reg::V0));
        else if (isAccumulator(operand.regs.first))
          accVgprs = std::max(accVgprs, end - number(Reg::A0));
        else if (end <= number(Reg::FlatScrLo))
          sgprs = std::max(sgprs, end);
      }
    }
    EXPECT_LE(sgprs, descriptor.sgprs(target));
    EXPECT_LE(vgprs, descriptor.accumOffset());
    EXPECT_LE(descriptor.accumOffset() + accVgprs, std::max(descriptor.vgprs(target), descriptor.accumOffset()));
    EXPECT_LE(vgprs, descriptor.vgprs(target));
    EXPECT_TRUE(!scratch || descriptor.privateSegmentSize);
  }
  void expectTransparent(Subject &subject, std::string_view kernel, const std::vector<Insertion> &insertions,
                         const RunOptions &options = {}) {
    const Rewrite rewrite = subject.rewrite(kernel, insertions);
    expectResources(subject, rewrite);
    expectSame(machine_, subject, must(emitMerged(subject.file.object, {&rewrite.variant, 1})), kernel, options);
  }

  Machine machine_;
};

TEST_F(HardTest, AllRegistersInUse) {
  Subject subject(HARD_KERNELS);
  for (const char *kernel : {"crowded", "crowdedAccumulators"})
    for (const char *hook : {"hostileLane", "hostileWave", "countLane", "countWave"}) {
      SCOPED_TRACE(fmt::format("{} in {}", hook, kernel));
      std::vector<Insertion> insertions;
      for (unsigned n = 0; n < 2; ++n) {
        const Instr &at = subject.instr(kernel, "s_nop", n);
        insertions.push_back(subject.before(at, hook));
        if (!subject.module->findHook(hook)->parameters.empty())
          insertions.back().arguments = {Argument::constant(n + 3)};
      }
      expectTransparent(subject, kernel, insertions, {.grid = {192}, .workgroup = {64}});
    }
}

/// Scratch appears where there was none.
TEST_F(HardTest, SpillWithoutScratch) {
  Subject subject(HARD_KERNELS);
  const std::vector<Insertion> insertions = {
      subject.before(subject.instr("crowdedAccumulators", "s_nop"), "hostileLane", {Argument::constant(1)})};
  const Rewrite rewrite = subject.rewrite("crowdedAccumulators", insertions);
  EXPECT_EQ(rewrite.variant.before.scratch, 0u);
  EXPECT_GE(rewrite.variant.after.scratch, 40u * 4);
  EXPECT_GE(rewrite.sites[0].saved, 80u);
  EXPECT_EQ(rewrite.variant.metadata.privateSegmentFixedSize, rewrite.variant.descriptor.privateSegmentSize);
}

/// No scalar register is left for a variable per wave: it lives in lanes of a vector register.
TEST_F(HardTest, WaveVariableInLanes) {
  Subject subject(HARD_KERNELS);
  std::vector<Insertion> insertions;
  for (unsigned n = 0; n < 2; ++n)
    insertions.push_back(subject.before(subject.instr("sgprsOnly", "s_nop", n), "count", {Argument::constant(n + 3)}));
  insertions.push_back(subject.at(Position::KernelExit, 0, "flush"));
  const Outcome outcome =
      expectSame(machine_, subject, subject.rewritten("sgprsOnly", insertions), "sgprsOnly", {.grid = {192}});
  EXPECT_EQ(valueOf<uint64_t>(outcome, "total"), 3 * (7 + (uint64_t{7} << 30)));
}

/// Nor is a vector register: the address of variables per launch is in the wave's scratch.
TEST_F(HardTest, LaunchVariableWithoutRegisters) {
  Subject subject(HARD_KERNELS);
  for (const char *kernel : {"crowded", "crowdedAccumulators"}) {
    SCOPED_TRACE(kernel);
    std::vector<Insertion> insertions;
    for (unsigned n = 0; n < 2; ++n)
      insertions.push_back(subject.before(subject.instr(kernel, "s_nop", n), "countLaunch"));
    const Outcome outcome = expectSame(machine_, subject, subject.rewritten(kernel, insertions), kernel,
                                       {.grid = {192}, .workgroup = {64}});
    EXPECT_EQ(valueOf<uint64_t>(outcome, "launchTotal"), 3u * 2);
  }
}

/// Nor is a vector register: variables are in the wave's scratch, and so are registers that hooks displace.
TEST_F(HardTest, WaveVariableInMemory) {
  Subject subject(HARD_KERNELS);
  for (const char *kernel : {"crowded", "crowdedAccumulators"}) {
    SCOPED_TRACE(kernel);
    std::vector<Insertion> insertions;
    for (unsigned n = 0; n < 2; ++n) {
      const Instr &at = subject.instr(kernel, "s_nop", n);
      insertions.push_back(subject.before(at, "count", {Argument::constant(n + 3)}));
      insertions.push_back(subject.before(at, "countLane"));
    }
    insertions.push_back(subject.at(Position::KernelExit, 0, "flush"));
    const Outcome outcome = expectSame(machine_, subject, subject.rewritten(kernel, insertions), kernel,
                                       {.grid = {192}, .workgroup = {64}});
    EXPECT_EQ(valueOf<uint64_t>(outcome, "total"), 3 * (7 + (uint64_t{7} << 30)) + 2 * 192);
    EXPECT_EQ(valueOf<uint64_t>(outcome, "launchTotal"), 3u * 7);
  }
}

/// Not even M0 is free: nothing is left to save a first register with.
TEST_F(HardTest, NothingIsFree) {
  Subject subject(HARD_KERNELS);
  for (const char *hook : {"hostileLane", "hostileWave", "countLane", "countWave"}) {
    SCOPED_TRACE(hook);
    std::vector<Insertion> insertions;
    for (unsigned n = 0; n < 2; ++n) {
      insertions.push_back(subject.before(subject.instr("full", "s_nop", n), hook));
      if (!subject.module->findHook(hook)->parameters.empty())
        insertions.back().arguments = {Argument::constant(n + 3)};
    }
    expectTransparent(subject, "full", insertions, {.grid = {192}, .workgroup = {64}});
  }
}

TEST_F(HardTest, GrowsBeyondReach) {
  Subject subject(HARD_KERNELS);
  subject.rewriter->setForm(HookForm::Inline);
  const std::vector<Insertion> insertions = every(subject, "far", "countLane");
  const Rewrite rewrite = subject.rewrite("far", insertions);
  EXPECT_GT(rewrite.variant.code.size(), 2u * 128 * 1024);
  EXPECT_TRUE(std::ranges::any_of(rewrite.variant.ranges,
                                  [](const CodeRange &r) { return r.kind == CodeRange::Kind::Island; }));
  expectSame(machine_, subject, must(emitMerged(subject.file.object, {&rewrite.variant, 1})), "far");
}

TEST_F(HardTest, CodeThatKnowsWhereItIs) {
  Subject calls(CALL_KERNELS), compiled(HARD_COMPILED);
  for (const char *hook : {"countLane", "hostileLane", "hostileWave"}) {
    for (const char *kernel : {"calls", "pointers", "jumps", "recursion", "leaves", "checkHolds"}) {
      SCOPED_TRACE(fmt::format("{} in {}", hook, kernel));
      expectTransparent(calls, kernel, every(calls, kernel, hook), {.grid = {256}, .workgroup = {64}});
    }
    for (const char *kernel : {"pointerCalls", "virtualCalls", "switches", "recursive", "stack"}) {
      SCOPED_TRACE(fmt::format("{} in {}", hook, kernel));
      expectTransparent(compiled, kernel, every(compiled, kernel, hook, 3));
    }
  }
}

/// Code runs out behind calls of functions that never return, and behind traps. A wave that gets there traps as in the
/// original; the others go on.
TEST_F(HardTest, FunctionsThatNeverReturn) {
  Subject subject(CALL_KERNELS);
  const RunOptions options{.grid = {256}, .workgroup = {64}};
  const Outcome original = machine_.run(subject.file.bytes, "checkFails", options);
  EXPECT_THAT(original.error, testing::HasSubstr("s_trap"));
  for (const char *hook : {"countLane", "hostileLane", "hostileWave"}) {
    SCOPED_TRACE(hook);
    const Rewrite rewrite = subject.rewrite("checkFails", every(subject, "checkFails", hook));
    EXPECT_EQ(rewrite.openCalls, 0u); // also the return behind the call that never comes back is one
    const Outcome outcome =
        machine_.run(must(emitMerged(subject.file.object, {&rewrite.variant, 1})), "checkFails", options);
    EXPECT_THAT(outcome.error, testing::HasSubstr("s_trap"));
    EXPECT_EQ(outcome.out[512], 77u); // what the function does before it traps
  }
}

/// A wave that comes back where nothing follows must not run into what the layout has put there.
TEST_F(HardTest, NothingFollows) {
  Subject subject(CALL_KERNELS);
  const Rewrite rewrite = subject.rewrite("endsInCall", every(subject, "endsInCall", "countWave"));
  ASSERT_EQ(rewrite.variant.functions.size(),
            2u + rewrite.sharedHooks); // the copy of the function that it calls comes next
  const Outcome outcome = machine_.run(must(emitMerged(subject.file.object, {&rewrite.variant, 1})), "endsInCall");
  EXPECT_EQ(outcome.error, "");
  for (uint32_t lane = 0; lane < 64; ++lane)
    ASSERT_EQ(outcome.out[lane], lane);
  EXPECT_EQ(valueOf<uint64_t>(outcome, "total"), subject.instrs("endsInCall").size() + 5); // once through helper
}

/// Both kernels call it, each with hooks of its own, in one file.
TEST_F(HardTest, SharedFunction) {
  Subject subject(CALL_KERNELS);
  const object::Symbol *helper = subject.file.object.find("helper");
  ASSERT_TRUE(helper);
  const Insertion change = subject.inFunction(
      subject.at(Position::FunctionEntry, 0, "addSeven", {Argument::reg({vgpr(2), 1})}, {vgpr(2), 1}), "helper");
  const Insertion count = subject.inFunction(subject.at(Position::FunctionEntry, 0, "countWave"), "helper");
  const std::vector<Variant> variants = {subject.rewrite("calls", {&count, 1}).variant,
                                         subject.rewrite("callsToo", {&change, 1}).variant};
  const std::vector<std::byte> file = must(emitMerged(subject.file.object, variants));
  const Outcome counted = expectSame(machine_, subject, file, "calls");
  EXPECT_EQ(valueOf<uint64_t>(counted, "total"), 4u);
  const Outcome changed = machine_.run(file, "callsToo");
  EXPECT_EQ(valueOf<uint64_t>(changed, "total"), 0u);
  for (uint32_t lane = 0; lane < 64; ++lane) {
    uint32_t x = lane;
    for (unsigned n = 1; n <= 7; ++n)
      x = n & 1 ? (x + 7) ^ 5 : x + 7 + 3;
    ASSERT_EQ(changed.out[lane], x);
  }
}

/// All of rocRAND's kernels: no pair of instructions gets too close, whatever is put between.
TEST_F(HardTest, WaitStatesInRocrand) {
  constexpr const char *kLibrary = "/usr/lib/x86_64-linux-gnu/librocrand.so.1";
  if (!std::filesystem::exists(kLibrary))
    GTEST_SKIP() << kLibrary << " is not installed";
  const auto container = must(object::Container::open(kLibrary));
  std::vector<std::byte> bytes;
  for (const object::Image &image : must(container.images()))
    if (const auto object = must(image.codeObject()); object.targetId().starts_with("gfx90a"))
      bytes.assign(object.elf().begin(), object.elf().end());
  ASSERT_FALSE(bytes.empty());
  Subject subject(std::move(bytes), kLibrary, STATE_HOOKS);
  std::vector<Variant> variants;
  unsigned n = 0;
  for (const object::Symbol &kernel : subject.file.object.kernels()) {
    std::vector<Insertion> insertions = subject.everywhere(kernel.name, [&](const Instr &instr, auto &list) {
      if (++n % 23 == 0)
        list.push_back(subject.before(instr, n % 2 ? "hostileLane" : "hostileWave", {Argument::constant(n)}));
    });
    const analysis::Cfg &cfg = subject.function(kernel.name).cfg();
    for (const analysis::Block &block : cfg.blocks())
      insertions.push_back(subject.at(Position::BlockEntry, cfg.start(block), "count", {Argument::constant(1)}));
    variants.push_back(subject.rewrite(kernel.name, insertions).variant);
  }
  const File file(must(emitMerged(subject.file.object, variants)));
  const auto program = must(analysis::Program::create(file.object));
  for (const Variant &variant : variants) {
    const analysis::Function *function = must(program->function(file.kernel(variant.kernel->name)));
    const auto good = analysis::verifyHazards(file.object.target(), function->cfg());
    EXPECT_TRUE(good) << variant.kernel->name << ": " << good.error().message();
  }
  EXPECT_EQ(variants.size(), 80u);
}

/// What a removed instruction kept apart stays apart.
TEST_F(HardTest, RemovedInstructionsLeaveTheirWaitStates) {
  Subject subject(STATE_KERNELS);
  std::vector<Insertion> insertions;
  for (unsigned n = 0; n < 4; ++n) {
    Insertion &gone = insertions.emplace_back();
    gone.position = Position::Remove;
    gone.address = subject.instr("spaced", "v_mov_b32", n).address();
  }
  const File file(subject.rewritten("spaced", insertions));
  const auto program = must(analysis::Program::create(file.object));
  const auto good =
      analysis::verifyHazards(file.object.target(), must(program->function(file.kernel("spaced")))->cfg());
  EXPECT_TRUE(good) << good.error().message();
  expectSame(machine_, subject, file.bytes, "spaced");
}

} // namespace
} // namespace luthier::rewrite::test
