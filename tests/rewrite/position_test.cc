// Hooks run where and as often as their position says, in all waves; variables are as many as they should be; values of
// the launch are right in kernels that did not ask for them.
#include "note_fixture.h"

#include <set>

namespace luthier::rewrite::test {
namespace {

using hook::LaunchValue;

class PositionTest : public NoteFixture {
protected:
  Insertion edge(const Instr &from, uint64_t to, uint32_t what) const {
    Insertion insertion = note(Position::Edge, from.address(), what);
    insertion.edgeTo = to;
    return insertion;
  }
};

TEST_F(PositionTest, LoopsEdgesAndExits) {
  const auto &all = subject_.instrs("loops");
  const Instr &firstLoop = subject_.instr("loops", "s_cbranch_scc1", 0);
  const Instr &secondLoop = subject_.instr("loops", "s_cbranch_scc1", 1);
  const Instr &jump = subject_.instr("loops", "s_branch");
  const Instr &choice = subject_.instr("loops", "s_cbranch_scc1", 2);
  const std::vector<Insertion> insertions = {
      note(Position::Before, all[0].address(), 13),
      note(Position::BlockEntry, all[0].address(), 12),
      note(Position::FunctionEntry, 0, 11),
      note(Position::KernelEntry, 0, 10),
      edge(firstLoop, all[0].address(), 20),
      edge(firstLoop, firstLoop.end(), 21),
      note(Position::BlockEntry, *secondLoop.target(), 30),
      edge(secondLoop, *secondLoop.target(), 31),
      edge(secondLoop, secondLoop.end(), 32),
      edge(jump, *jump.target(), 40),
      edge(choice, *choice.target(), 50),
      edge(choice, choice.end(), 51),
      note(Position::KernelExit, 0, 60),
  };
  const auto notes = run(subject_, "loops", insertions, 7);
  for (uint32_t group = 0; group < 7; ++group) {
    std::vector<uint32_t> expected = {11, 10};
    const unsigned rounds = group < 5 ? 5 - group : 1;
    for (unsigned n = 0; n < rounds; ++n) {
      if (n)
        expected.push_back(20);
      expected.insert(expected.end(), {12, 13});
    }
    expected.insert(expected.end(), {21, 30, 31, 30, 31, 30, 32, 40});
    expected.insert(expected.end(), {group == 5 ? 50u : 51u, 60});
    EXPECT_EQ(notes.at(group), expected) << group;
  }
  const Rewrite rewrite = subject_.rewrite("loops", insertions);
  EXPECT_EQ(rewrite.sites.back().places, 2u);
  EXPECT_EQ(rewrite.sites.front().places, 1u);
}

TEST_F(PositionTest, Functions) {
  Subject calls(CALL_KERNELS);
  const Instr &call = calls.instr("calls", "s_swappc_b64");
  std::vector<Insertion> insertions = {calls.inFunction(note(Position::FunctionEntry, 0, 1), "helper"),
                                       calls.inFunction(note(Position::FunctionExit, 0, 2), "helper"),
                                       note(Position::After, call.address(), 3),
                                       note(Position::Before, call.address(), 4), note(Position::KernelExit, 0, 5)};
  std::vector<uint32_t> expected;
  for (unsigned n = 0; n < 4; ++n)
    expected.insert(expected.end(), {4, 1, 2, 3});
  expected.push_back(5);
  EXPECT_EQ(run(calls, "calls", insertions, 1).at(0), expected);
  EXPECT_EQ(calls.rewrite("calls", insertions).sites[1].places, 2u);

  // A function that calls itself, and one in which waves may end.
  insertions = {calls.inFunction(note(Position::FunctionEntry, 0, 1), "down"),
                calls.inFunction(note(Position::FunctionExit, 0, 2), "down")};
  expected.assign(6, 1);
  expected.insert(expected.end(), 6, 2);
  EXPECT_EQ(run(calls, "recursion", insertions, 1).at(0), expected);

  insertions = {note(Position::KernelExit, 0, 1)};
  const auto notes = run(calls, "leaves", insertions, 3);
  for (uint32_t group = 0; group < 3; ++group)
    EXPECT_EQ(notes.at(group), std::vector<uint32_t>{1}) << group;
}

TEST_F(PositionTest, EmptyExec) {
  // Where no lane is active, lane hooks do nothing and wave hooks run.
  const Instr &empty = subject_.instr("conditions", "s_addk_i32");
  const std::vector<Insertion> lane = {subject_.before(empty, "countLane")};
  EXPECT_EQ(
      valueOf<uint64_t>(expectSame(machine_, subject_, subject_.rewritten("conditions", lane), "conditions"), "total"),
      0u);
  const std::vector<Insertion> wave = {subject_.before(empty, "countWave"),
                                       subject_.before(empty, "hostileLane", {Argument::constant(1)})};
  EXPECT_EQ(
      valueOf<uint64_t>(expectSame(machine_, subject_, subject_.rewritten("conditions", wave), "conditions"), "total"),
      1u);
}

TEST_F(PositionTest, VariablesOfAllKinds) {
  std::vector<Insertion> insertions = subject_.everywhere("conditions", [&](const Instr &instr, auto &list) {
    list.push_back(subject_.before(instr, "count", {Argument::constant(1)}));
  });
  insertions.push_back(subject_.at(Position::KernelExit, 0, "flush"));
  const RunOptions options{.grid = {640}, .workgroup = {128}, .count = true};
  const uint64_t executed = machine_.run(subject_.file.bytes, "conditions", options).report.instructions.waves;
  ASSERT_GT(executed, 100u);
  const Outcome outcome =
      expectSame(machine_, subject_, subject_.rewritten("conditions", insertions), "conditions", options);
  EXPECT_EQ(valueOf<uint64_t>(outcome, "total"), executed + (executed << 30));
  EXPECT_EQ(valueOf<uint64_t>(outcome, "launchTotal"), executed);
}

/// What the launcher knows comes in a segment of its own; the kernel, and hooks that ask for it, find the arguments
/// where the application has put them.
TEST_F(PositionTest, ArgumentsStayWhereTheyAre) {
  Subject hard(HARD_KERNELS);
  auto *arguments = must(machine_.gpu().allocate<uint64_t>(2));
  auto *block = must(machine_.gpu().allocate<uint64_t>(64));
  const vgpu::Arguments given = machine_.arguments();
  memcpy(arguments, given.bytes().data(), given.bytes().size());
  const struct {
    Subject &subject;
    const char *kernel;
    bool values; ///< there are registers left for them
  } cases[] = {{subject_, "conditions", true}, {subject_, "addresses", true}, {subject_, "loops", true},
               {hard, "sgprsOnly", false},     {hard, "crowded", false},      {hard, "crowdedAccumulators", false}};
  for (const auto &[subject, kernel, values] : cases) {
    SCOPED_TRACE(kernel);
    const auto rewriter = must(Rewriter::create(subject.file.object, subject.compiler, LaunchBlocks::Segment));
    std::vector<Insertion> insertions = {subject.at(Position::KernelExit, 0, "countLaunch")};
    if (values)
      insertions.push_back(subject.at(Position::KernelExit, 0, "launchWave", {Argument::constant(0)}));
    const Rewrite rewrite = must(rewriter->rewrite(subject.file.kernel(kernel), insertions));
    for (const SiteAccount &site : rewrite.sites)
      EXPECT_TRUE(site.placed) << site.rejected;
    const LaunchSegment &segment = rewrite.variant.segment;
    EXPECT_EQ(segment.blocks, LaunchSegment::kOriginal + 8);
    EXPECT_EQ(segment.bytes, segment.blocks + 8);
    EXPECT_EQ(rewrite.variant.after.kernarg, rewrite.variant.before.kernarg);

    RunOptions options{.grid = {128}, .workgroup = {64}};
    const Outcome original = machine_.run(subject.file.bytes, kernel, options);
    options.arguments = vgpu::Arguments(arguments, block);
    const std::vector<std::byte> file = must(emitMerged(subject.file.object, {&rewrite.variant, 1}));
    for (const bool strict : {true, false}) {
      *block = 0;
      options.strict = strict;
      const Outcome outcome = machine_.run(file, kernel, options);
      EXPECT_EQ(outcome.error, "");
      EXPECT_TRUE(outcome.out == original.out);
      EXPECT_TRUE(outcome.in == original.in);
      EXPECT_EQ(*block, 2u);
      if (!values)
        continue;
      unsigned seen = 0;
      for (const Record &record : recordsOf(outcome))
        if (record.what == 3) {
          EXPECT_EQ(record.value, machine_.outAddress()); // the first argument, through the pointer that hooks get
          ++seen;
        }
      EXPECT_EQ(seen, 2u);
    }
  }
}

TEST_F(PositionTest, SegmentOfAKernelWithoutArguments) {
  auto *block = must(machine_.gpu().allocate<uint64_t>(64));
  const auto rewriter = must(Rewriter::create(subject_.file.object, subject_.compiler, LaunchBlocks::Segment));
  const Instr &at = subject_.instr("withoutArguments", "s_nop");
  const std::vector<Insertion> insertions = {
      subject_.before(at, "countLaunch"),
      subject_.before(at, "seeWave", {Argument::constant(1), Argument::reg({sgpr(0), 1})}),
      subject_.before(at, "seeWave64", {Argument::constant(2), Argument::launchValue(LaunchValue::KernargPtr)})};
  const Rewrite rewrite = must(rewriter->rewrite(subject_.file.kernel("withoutArguments"), insertions));
  for (const SiteAccount &site : rewrite.sites)
    EXPECT_TRUE(site.placed) << site.rejected;
  *block = 0;
  const uint64_t nothing = 0x123456789000; // what an application leaves in such a packet is of no interest to anybody
  const Outcome outcome =
      machine_.run(must(emitMerged(subject_.file.object, {&rewrite.variant, 1})), "withoutArguments",
                   {.grid = {192}, .workgroup = {64}, .arguments = vgpu::Arguments(nothing, block)});
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(*block, 3u);
  std::multiset<std::pair<uint32_t, uint64_t>> seen;
  for (const Record &record : recordsOf(outcome))
    seen.emplace(record.what, record.value);
  EXPECT_EQ(seen, (std::multiset<std::pair<uint32_t, uint64_t>>{
                      {1, 0}, {1, 1}, {1, 2}, {2, nothing}, {2, nothing}, {2, nothing}}));
}

/// Three dimensions; the kernels ask for one of them at most.
TEST_F(PositionTest, LaunchValues) {
  for (const char *kernel : {"conditions", "addresses", "loops"}) {
    SCOPED_TRACE(kernel);
    const std::vector<Insertion> insertions = {
        subject_.at(Position::KernelExit, 0, "launchWave", {Argument::constant(0)}),
        subject_.at(Position::KernelExit, 0, "launchLane", {Argument::constant(9)})};
    const RunOptions options{.grid = {32, 4, 6}, .workgroup = {16, 2, 2}};
    const Outcome outcome = expectSame(machine_, subject_, subject_.rewritten(kernel, insertions), kernel, options);
    std::map<uint64_t, unsigned> items;
    std::map<uint32_t, std::map<uint64_t, unsigned>> values;
    for (const Record &record : recordsOf(outcome))
      if (record.what == 9)
        ++items[record.value];
      else
        ++values[record.what][record.value];
    EXPECT_EQ(values[0], (std::map<uint64_t, unsigned>{{0, 6}, {1, 6}}));
    EXPECT_EQ(values[1], (std::map<uint64_t, unsigned>{{0, 6}, {1, 6}}));
    EXPECT_EQ(values[2], (std::map<uint64_t, unsigned>{{0, 4}, {1, 4}, {2, 4}}));
    EXPECT_EQ(values[3], (std::map<uint64_t, unsigned>{{machine_.outAddress(), 12}}));
    EXPECT_EQ(values[4], (std::map<uint64_t, unsigned>{{32, 12}}));
    ASSERT_EQ(items.size(), 64u);
    for (unsigned z = 0; z < 2; ++z)
      for (unsigned y = 0; y < 2; ++y)
        for (unsigned x = 0; x < 16; ++x)
          EXPECT_EQ((items[x | y << 10 | z << 20]), 12u);
  }
}

} // namespace
} // namespace luthier::rewrite::test
