// Hooks that run in some visits only: which, at what cost, and that nobody else notices.
#include "note_fixture.h"

namespace luthier::rewrite::test {
namespace {

using hook::LaunchValue;

class SamplingTest : public NoteFixture {
protected:
  static constexpr uint32_t kGroups = 7;

  std::map<uint64_t, std::vector<uint32_t>> run(const std::vector<Insertion> &insertions) {
    return NoteFixture::run(subject_, "loops", insertions, kGroups);
  }
};

/// The kernel `loops` visits its first block 5 - group times, at least once, and its second loop's body three times.
TEST_F(SamplingTest, EveryNthVisit) {
  const uint64_t first = subject_.instrs("loops")[0].address();
  const uint64_t body = *subject_.instr("loops", "s_cbranch_scc1", 1).target();
  for (const uint32_t every : {1u, 2u, 3u, 100u}) {
    SCOPED_TRACE(every);
    const auto notes = run({note(Position::BlockEntry, first, 1, {.every = every}),
                            note(Position::BlockEntry, body, 2, {.every = every})});
    for (uint32_t group = 0; group < kGroups; ++group) {
      const uint32_t rounds = group < 5 ? 5 - group : 1;
      std::vector<uint32_t> expected((rounds + every - 1) / every, 1);
      expected.insert(expected.end(), (3 + every - 1) / every, 2);
      EXPECT_EQ(notes.at(group), expected) << group;
    }
  }
}

TEST_F(SamplingTest, SharedCounter) {
  const uint64_t first = subject_.instrs("loops")[0].address();
  const uint64_t body = *subject_.instr("loops", "s_cbranch_scc1", 1).target();
  const auto notes = run({note(Position::BlockEntry, first, 1, {.every = 3, .counter = 7}),
                          note(Position::BlockEntry, body, 2, {.every = 3, .counter = 7})});
  for (uint32_t group = 0; group < kGroups; ++group) {
    std::vector<uint32_t> visits(group < 5 ? 5 - group : 1, 1), expected;
    visits.insert(visits.end(), 3, 2);
    for (size_t n = 0; n < visits.size(); n += 3)
      expected.push_back(visits[n]);
    EXPECT_EQ(notes.at(group), expected) << group;
  }
}

/// A wave hook chooses waves at their start; in the others the hooks do not run.
TEST_F(SamplingTest, ChosenWaves) {
  const uint64_t first = subject_.instrs("loops")[0].address();
  Insertion choose =
      subject_.at(Position::KernelEntry, 0, "choose", {Argument::launchValue(LaunchValue::WorkgroupIdX)});
  const auto notes = run({choose, note(Position::BlockEntry, first, 1, {.when = "chosen"}),
                          note(Position::BlockEntry, first, 2, {.every = 2, .when = "chosen"})});
  for (uint32_t group = 0; group < kGroups; ++group) {
    if (group % 3) {
      EXPECT_FALSE(notes.contains(group));
      continue;
    }
    std::vector<uint32_t> expected;
    for (unsigned n = 0; n < (group < 5 ? 5 - group : 1); ++n) {
      expected.push_back(1);
      if (n % 2 == 0)
        expected.push_back(2);
    }
    EXPECT_EQ(notes.at(group), expected) << group;
  }
}

/// Instructions that a wave executes more, by the machine's own count.
TEST_F(SamplingTest, CostOfSkippedVisits) {
  const RunOptions options{.grid = {64}, .workgroup = {64}, .count = true};
  const auto executed = [&](const std::vector<std::byte> &file) {
    const Outcome outcome = machine_.run(file, "straight", options);
    EXPECT_EQ(outcome.error, "");
    return outcome.report.instructions.waves;
  };
  // SCC is dead at each of these, and in use at the others.
  for (const bool inUse : {false, true}) {
    SCOPED_TRACE(inUse);
    std::vector<Insertion> places;
    for (unsigned n = 0; n < 20; ++n) {
      const Instr &at = inUse ? subject_.instr("straight", "s_nop", 20 + n) : subject_.instr("straight", "s_nop", n);
      places.push_back(subject_.before(at, "hostileWave", {Argument::constant(n)}));
      places.back().sampling = {.every = 1000, .counter = 1};
    }
    const uint64_t all = executed(subject_.rewritten("straight", places)),
                   one = executed(subject_.rewritten("straight", std::span(places).first(1)));
    EXPECT_EQ(all - one, 19u * (inUse ? 4 : 2));
  }
}

/// Hooks that overwrite all they can, in some visits: the kernel must not notice, wherever they are.
TEST_F(SamplingTest, HostileHooksAreNotNoticed) {
  for (const auto &[file, kernels] :
       {std::pair<std::string, std::vector<std::string>>{STATE_KERNELS, {"loops", "conditions", "straight"}},
        {CALL_KERNELS, {"calls", "recursion"}},
        {HARD_KERNELS, {"crowded", "crowdedAccumulators", "full", "sgprsOnly"}}}) {
    Subject subject(file);
    for (const std::string &kernel : kernels)
      for (const std::string hook : {"hostileLane", "hostileWave"})
        for (const bool shared : {false, true}) {
          SCOPED_TRACE(kernel + " " + hook);
          const unsigned step = subject.instrs(kernel).size() > 100 ? 41 : 1;
          uint32_t n = 0;
          const std::vector<Insertion> insertions =
              subject.everywhere(kernel, [&](const Instr &instr, std::vector<Insertion> &list) {
                if (n++ % step)
                  return;
                list.push_back(subject.before(instr, hook, {Argument::constant(n)}));
                list.back().sampling = {.every = 2 + n % 2, .counter = shared ? std::optional(0u) : std::nullopt};
              });
          if (!shared && insertions.size() > 24)
            continue; // as many counters
          const auto rewritten = subject.rewritten(kernel, insertions);
          expectSame(machine_, subject, rewritten, kernel);
          expectSame(machine_, subject, rewritten, kernel, {.resources = 7});
        }
  }
}

/// A predicate decides for each lane.
TEST_F(SamplingTest, SomeLanes) {
  const Instr &place = subject_.instr("straight", "s_nop", 3);
  std::vector<Insertion> insertions = {
      subject_.before(place, "seeLane", {Argument::constant(1), Argument::reg({vgpr(1), 1})}),
      subject_.before(place, "seeLane", {Argument::constant(2), Argument::reg({vgpr(1), 1})}),
      subject_.before(place, "seeLane", {Argument::constant(3), Argument::reg({vgpr(1), 1})})};
  insertions[0].predicate = "everyFourth"; // v1 is four times the lane's number
  insertions[0].predicateArguments = {Argument::reg({vgpr(1), 1})};
  insertions[1].predicate = "inMask";
  insertions[1].predicateArguments = {Argument::constant(0x8000'0000'0000'0106)};
  insertions[2].predicate = "inMask";
  insertions[2].predicateArguments = {Argument::constant(0)};
  const Outcome outcome = expectSame(machine_, subject_, subject_.rewritten("straight", insertions), "straight");
  std::map<uint32_t, std::vector<uint32_t>> lanes;
  for (const Record &record : recordsOf(outcome)) {
    EXPECT_EQ(record.value, 4 * record.lane);
    lanes[record.what].push_back(record.lane);
  }
  for (auto &[what, list] : lanes)
    std::ranges::sort(list);
  std::vector<uint32_t> fourths;
  for (uint32_t lane = 0; lane < 64; lane += 4)
    fourths.push_back(lane);
  EXPECT_EQ(lanes[1], fourths);
  EXPECT_EQ(lanes[2], (std::vector<uint32_t>{1, 2, 8, 63}));
  EXPECT_TRUE(lanes[3].empty());
}

TEST_F(SamplingTest, PredicatesOfWaves) {
  Insertion insertion = note(Position::BlockEntry, subject_.instrs("loops")[0].address(), 1, {.every = 2});
  insertion.predicate = "isTwo";
  insertion.predicateArguments = {Argument::launchValue(LaunchValue::WorkgroupIdX)};
  const auto notes = run({insertion});
  EXPECT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes.at(2), (std::vector<uint32_t>(2, 1)));
}

TEST_F(SamplingTest, HostileHooksForSomeLanesAreNotNoticed) {
  for (const auto &[file, kernels] :
       {std::pair<std::string, std::vector<std::string>>{STATE_KERNELS, {"loops", "conditions"}},
        {CALL_KERNELS, {"calls"}},
        {HARD_KERNELS, {"full"}}}) {
    Subject subject(file);
    for (const std::string &kernel : kernels) {
      SCOPED_TRACE(kernel);
      const unsigned step = subject.instrs(kernel).size() > 100 ? 41 : 1;
      uint32_t n = 0;
      const std::vector<Insertion> insertions =
          subject.everywhere(kernel, [&](const Instr &instr, std::vector<Insertion> &list) {
            if (n++ % step)
              return;
            list.push_back(subject.before(instr, "hostileLane", {Argument::constant(n)}));
            list.back().predicate = "oddLane";
          });
      const auto rewritten = subject.rewritten(kernel, insertions);
      expectSame(machine_, subject, rewritten, kernel);
      expectSame(machine_, subject, rewritten, kernel, {.resources = 7});
    }
  }
}

/// All words of a structure arrive, also where it must be in memory.
TEST_F(SamplingTest, Structures) {
  const Instr &place = subject_.instr("straight", "s_nop", 3);
  std::vector<uint32_t> words = {1000};
  for (uint32_t n = 0; n < 9; n += 2)
    words.push_back(n | (n + 1) << 16);
  std::vector<Insertion> insertions = {
      subject_.before(place, "weigh", {Argument::constant(1), Argument::reg({vgpr(1), 1}), Argument::constant(words)})};
  const Outcome outcome = expectSame(machine_, subject_, subject_.rewritten("straight", insertions), "straight");
  const auto records = recordsOf(outcome);
  ASSERT_EQ(records.size(), 64u);
  for (const Record &record : records)
    EXPECT_EQ(record.value, 1000 + 4 * record.lane % 9);

  const auto reason = [&](Argument argument) {
    insertions[0].arguments[2] = std::move(argument);
    return must(subject_.rewriter->rewrite(subject_.file.kernel("straight"), insertions)).sites[0].reason;
  };
  EXPECT_EQ(reason(Argument::constant(std::vector<uint32_t>(3))),
            "argument 2: the constant has 96 bits, the parameter takes 192");
  EXPECT_EQ(reason(Argument::constant(7)),
            "argument 2: the parameter is a structure of 24 bytes, and the argument a number");
  EXPECT_EQ(reason(Argument::pc()), "argument 2: the parameter is a structure of 24 bytes, and the argument a number");
  EXPECT_EQ(reason(Argument::reg({vgpr(2), 6})), "");
}

/// SCC as a hook's argument, and as what gets its result.
TEST_F(SamplingTest, SccInAndOut) {
  const Instr &branch = subject_.instr("loops", "s_cbranch_scc1", 2);
  std::vector<Insertion> insertions = {subject_.before(branch, "flip", {Argument::scc()}, {Reg::Scc, 1})};
  insertions[0].sampling.every = 2; // the only visit is the first
  const auto flipped = machine_.run(subject_.rewritten("loops", insertions), "loops");
  insertions[0].sampling = {};
  const auto always = machine_.run(subject_.rewritten("loops", insertions), "loops");
  EXPECT_EQ(flipped.error, "");
  EXPECT_TRUE(flipped.out == always.out);
  // Never: nothing changes.
  insertions[0].sampling.when = "chosen";
  expectSame(machine_, subject_, subject_.rewritten("loops", insertions), "loops");
}

TEST_F(SamplingTest, Refusals) {
  const Instr &instr = subject_.instr("conditions", "s_addk_i32");
  const auto reason = [&](Position position, Sampling sampling) {
    Insertion insertion = subject_.at(position, instr.address(), "countWave");
    insertion.sampling = std::move(sampling);
    return must(subject_.rewriter->rewrite(subject_.file.kernel("conditions"), {&insertion, 1})).sites[0].reason;
  };
  EXPECT_EQ(reason(Position::Before, {.every = 0}), "every 0th visit is not possible: the minimum is 1");
  EXPECT_EQ(reason(Position::Replace, {.every = 2}),
            "the hook replaces the instruction, so it must run in every visit");
  EXPECT_EQ(reason(Position::Before, {.when = "chosne"}), std::string(STATE_HOOKS) + " has no variable chosne");
  EXPECT_EQ(reason(Position::Before, {.when = "seenWide"}),
            "seenWide cannot decide whether the hook runs: that takes a per-wave variable of at most 32 bits");
  EXPECT_EQ(reason(Position::Before, {.when = "total"}),
            "total cannot decide whether the hook runs: that takes a per-wave variable of at most 32 bits");
  const auto predicated = [&](std::string hook, std::string predicate, std::vector<Argument> arguments,
                              RegRange result = {}) {
    Insertion insertion = subject_.before(instr, std::move(hook), {}, result);
    insertion.predicate = std::move(predicate);
    insertion.predicateArguments = std::move(arguments);
    return must(subject_.rewriter->rewrite(subject_.file.kernel("conditions"), {&insertion, 1})).sites[0].reason;
  };
  EXPECT_EQ(predicated("countWave", "inMaks", {}), std::string(STATE_HOOKS) + " has no hook inMaks");
  EXPECT_EQ(predicated("countLane", "inMask", {}), "inMask takes 1 arguments, 0 are given");
  EXPECT_EQ(predicated("countLane", "inMask", {Argument::scc()}),
            "argument 0 of inMask: scc has 32 bits, the parameter takes 64");
  EXPECT_EQ(predicated("countWave", "oddLane", {}),
            "hook countWave runs once per wave, and oddLane, which decides about it, per lane");
  EXPECT_EQ(predicated("countLane", "countLane", {}), "countLane decides about hook countLane, and must return a bool");
  EXPECT_EQ(predicated("oddLane", "oddLane", {}, {vgpr(0), 1}),
            "oddLane decides whether it runs; if it does not, there is no result");
  // A counter for each of more places than there are registers; one for all.
  std::vector<Insertion> many;
  for (unsigned n = 0; n < 300; ++n) {
    many.push_back(subject_.before(instr, "countWave"));
    many.back().sampling.every = 2;
  }
  const Rewrite refused = must(subject_.rewriter->rewrite(subject_.file.kernel("conditions"), many));
  EXPECT_FALSE(refused.sites[0].placed);
  EXPECT_EQ(refused.sites[299].reason, "no registers are left for 300 counters of visits; sites can share one");
  for (Insertion &insertion : many)
    insertion.sampling.counter = 0;
  subject_.rewrite("conditions", many);
}

} // namespace
} // namespace luthier::rewrite::test
