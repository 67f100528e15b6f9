// Functions of linked code objects: where they are, who calls whom, what is live across calls.

#include "analysis/budget.h"
#include "analysis/callgraph.h"
#include "analysis/interprocedural.h"
#include "code.h"
#include "object/container.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace luthier::analysis::test {
namespace {

/// A code object from the build tree, analysed.
struct Loaded {
  std::optional<object::Container> container;
  std::vector<object::Image> images;
  std::optional<object::CodeObject> object;
  std::unique_ptr<Program> program;
  std::optional<CallGraph> graph;

  explicit Loaded(const std::string &path) { load(path); }

  void load(const std::string &path) {
    auto opened = object::Container::open(path);
    if (!opened)
      return fail(opened.error());
    container.emplace(*std::move(opened));
    auto found = container->images();
    if (!found)
      return fail(found.error());
    images = *std::move(found);
    auto parsed = images.at(0).codeObject();
    if (!parsed)
      return fail(parsed.error());
    object.emplace(*std::move(parsed));
    auto made = Program::create(*object);
    if (!made)
      return fail(made.error());
    program = *std::move(made);
    auto built = CallGraph::build(*program);
    if (!built)
      return fail(built.error());
    graph.emplace(*std::move(built));
  }

  static void fail(const Error &error) { ADD_FAILURE() << error.message(); }

  const object::Symbol &symbol(std::string_view name) const {
    const object::Symbol *found = object->find(name);
    if (!found) {
      ADD_FAILURE() << "no " << name;
      return object->symbols().front();
    }
    return *found;
  }
  const CallNode &node(std::string_view name) const { return graph->nodes()[graph->find(symbol(name))]; }
  const Cfg &cfg(std::string_view name) const { return node(name).function->cfg(); }
  /// Names of what it calls, with the kind: "call leaf".
  std::vector<std::string> calls(std::string_view name) const {
    std::vector<std::string> result;
    for (uint32_t number : node(name).calls) {
      const CallSite &site = graph->sites()[number];
      std::string text(toString(site.kind));
      if (site.callee != CallGraph::kNone)
        text += " " + std::string(graph->nodes()[site.callee].symbol->name);
      result.push_back(text);
    }
    return result;
  }
  std::vector<std::string> reachable(std::string_view name) const {
    std::vector<std::string> result;
    for (uint32_t n : graph->reachable(graph->find(symbol(name))))
      result.emplace_back(graph->nodes()[n].symbol->name);
    std::ranges::sort(result);
    return result;
  }
};

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Functions : public ::testing::TestWithParam<const char *> {
protected:
  Loaded loaded_{std::string(ANALYSIS_TEST_FILES) + "/functions." + GetParam() + ".co"};
};

TEST_P(Functions, EveryBlockIsRight) {
  for (const CallNode &node : loaded_.graph->nodes()) {
    const auto fine = verify(node.function->cfg());
    EXPECT_TRUE(fine) << node.symbol->name << ": " << fine.error().message();
  }
  EXPECT_EQ(loaded_.graph->nodes().size(), 19u);
}

TEST_P(Functions, CallsAreResolved) {
  EXPECT_THAT(loaded_.calls("direct"), ElementsAre("call leaf"));
  EXPECT_THAT(loaded_.calls("through_got"), ElementsAre("call by_got"));
  EXPECT_THAT(loaded_.calls("tails"), ElementsAre("call tail_caller"));
  EXPECT_THAT(loaded_.calls("tail_caller"), ElementsAre("tail leaf"));
  EXPECT_THAT(loaded_.calls("indirect"), ElementsAre("indirect"));
  EXPECT_THAT(loaded_.calls("loop_head"), IsEmpty());
  EXPECT_THAT(loaded_.calls("leaf"), IsEmpty());
  EXPECT_EQ(loaded_.cfg("leaf").blocks()[0].exit, Exit::Return);
}

TEST_P(Functions, AddressesTaken) {
  for (const CallNode &node : loaded_.graph->nodes())
    EXPECT_EQ(node.addressTaken, node.symbol->name == "in_table" || node.symbol->name == "stored") << node.symbol->name;
  EXPECT_THAT(loaded_.reachable("indirect"), ElementsAre("in_table", "indirect", "stored"));
  EXPECT_THAT(loaded_.reachable("direct"), ElementsAre("direct", "leaf"));
}

TEST_P(Functions, Recursion) {
  EXPECT_THAT(loaded_.calls("even"), ElementsAre("call odd"));
  EXPECT_THAT(loaded_.calls("odd"), ElementsAre("call even"));
  EXPECT_TRUE(loaded_.node("even").recursive);
  EXPECT_TRUE(loaded_.node("odd").recursive);
  EXPECT_TRUE(loaded_.node("itself").recursive);
  EXPECT_FALSE(loaded_.node("recursive").recursive);
  EXPECT_TRUE(loaded_.node("recursive").unboundedStack);
  EXPECT_TRUE(loaded_.node("indirect").unboundedStack);
  EXPECT_FALSE(loaded_.node("direct").unboundedStack);
  EXPECT_FALSE(loaded_.node("leaf").recursive);
  EXPECT_EQ(loaded_.node("even").component, loaded_.node("odd").component);
  EXPECT_LT(loaded_.node("even").component, loaded_.node("recursive").component);
  EXPECT_EQ(loaded_.cfg("even").blocks().back().exit, Exit::Return);   // restored from lanes
  EXPECT_EQ(loaded_.cfg("itself").blocks().back().exit, Exit::Return); // kept in s[34:35] across the call
}

TEST_P(Functions, WhatACallTouches) {
  const CallNode &direct = loaded_.node("direct");
  EXPECT_TRUE(direct.writes.contains(vgpr(1))); // in leaf
  EXPECT_FALSE(direct.writes.contains(vgpr(2)));
  EXPECT_FALSE(direct.reachesUnknown);
  EXPECT_TRUE(loaded_.node("odd").writes.contains(vgpr(40))); // in even
  EXPECT_TRUE(loaded_.node("indirect").reachesUnknown);
  EXPECT_TRUE(loaded_.node("indirect").writes.contains(vgpr(200)));
}

TEST_P(Functions, OverlapAndMissingSizes) {
  const Cfg &outer = loaded_.cfg("outer"), &inner = loaded_.cfg("inner");
  EXPECT_EQ(outer.instrs().size(), 3u);
  EXPECT_EQ(inner.instrs().size(), 4u);
  EXPECT_EQ(inner.instrs()[0].address(), outer.instrs()[1].address());
  EXPECT_EQ(inner.blocks().size(), 2u); // what is behind the return is kept
  EXPECT_FALSE(inner.blocks()[1].reachable);

  const Cfg &unsized = loaded_.cfg("unsized");
  ASSERT_EQ(unsized.blocks().size(), 1u);
  EXPECT_EQ(unsized.blocks()[0].exit, Exit::FallsOut);
  EXPECT_THAT(loaded_.calls("unsized"), ElementsAre("tail follower"));
}

TEST_P(Functions, LoopAtTheEntry) {
  const Cfg &cfg = loaded_.cfg("loop_head");
  ASSERT_EQ(cfg.blocks().size(), 2u);
  EXPECT_EQ(cfg.blocks()[0].predecessorCount, 1u);
  const Liveness liveness = Liveness::compute(cfg);
  EXPECT_EQ(where(liveness.atStart(0), sgpr(0)), "AI");
}

TEST_P(Functions, LivenessAcrossCalls) {
  auto liveness = ProgramLiveness::compute(*loaded_.program, *loaded_.graph, loaded_.symbol("direct"));
  ASSERT_TRUE(liveness) << liveness.error().message();
  const Liveness *kernel = liveness->of(loaded_.symbol("direct"));
  ASSERT_TRUE(kernel);
  // Before the call: v0 is read by the callee, v1 written by it, v5 read behind it, v9 by nobody.
  const LiveSets call = kernel->before(kernel->cfg().terminator(kernel->cfg().blocks()[0]));
  EXPECT_EQ(where(call, vgpr(0)), "A");
  EXPECT_EQ(where(call, vgpr(1)), "-");
  EXPECT_EQ(where(call, vgpr(5)), "A");
  EXPECT_EQ(where(call, vgpr(9)), "-");

  // In the callee, what its caller needs behind the call is live.
  const Liveness *leaf = liveness->of(loaded_.symbol("leaf"));
  ASSERT_TRUE(leaf);
  EXPECT_EQ(where(leaf->before(0u), vgpr(5)), "A");
  EXPECT_EQ(where(leaf->before(0u), vgpr(9)), "-");
  EXPECT_EQ(where(leaf->before(2u), vgpr(1)), "A");
  EXPECT_FALSE(liveness->of(loaded_.symbol("even")));

  // With all callers, among them a tail call on behalf of others.
  auto all = ProgramLiveness::compute(*loaded_.program, *loaded_.graph);
  ASSERT_TRUE(all);
  EXPECT_EQ(where(all->of(loaded_.symbol("leaf"))->before(0u), vgpr(5)), "A");
  EXPECT_EQ(where(all->of(loaded_.symbol("in_table"))->before(0u), vgpr(99)), "AI"); // called from who knows where
}

TEST_P(Functions, LivenessAcrossRecursion) {
  auto liveness = ProgramLiveness::compute(*loaded_.program, *loaded_.graph, loaded_.symbol("recursive"));
  ASSERT_TRUE(liveness) << liveness.error().message();
  const Liveness *odd = liveness->of(loaded_.symbol("odd"));
  ASSERT_TRUE(odd);
  EXPECT_EQ(where(odd->before(0u), vgpr(7)), "A");
  EXPECT_EQ(where(odd->before(1u), vgpr(7)), "A");                                  // of the next round
  EXPECT_EQ(where(odd->before(0u), vgpr(41)).find('I') != std::string::npos, true); // lanes hold a return address
}

TEST_P(Functions, SummariesAgreeWhicheverIsAskedFirst) {
  const uint64_t even = loaded_.symbol("even").address, odd = loaded_.symbol("odd").address;
  CallSummaries first(*loaded_.program), second(*loaded_.program);
  const Transfer evenFirst = *first.at(even), oddSecond = *first.at(odd);
  const Transfer oddFirst = *second.at(odd), evenSecond = *second.at(even);
  EXPECT_EQ(evenFirst, evenSecond);
  EXPECT_EQ(oddFirst, oddSecond);
  EXPECT_FALSE(first.at(0x10));
}

TEST_P(Functions, WaitsAcrossCalls) {
  CallWaits waits(*loaded_.program);
  const WaitState *leaf = waits.at(loaded_.symbol("leaf").address);
  ASSERT_TRUE(leaf); // it waits for everything at its entry, except for stores where they have a counter of their own
  EXPECT_EQ(leaf->most(Counter::Vm), 0u);
  EXPECT_EQ(leaf->most(Counter::Lgkm), 0u);
  EXPECT_FALSE(leaf->anyRegister());
  const WaitState *even = waits.at(loaded_.symbol("even").address);
  ASSERT_TRUE(even);
  EXPECT_TRUE(even->anyRegister()); // recursive, and waits for nothing
  EXPECT_FALSE(waits.at(0x10));

  const Cfg &cfg = loaded_.cfg("direct");
  const Waits inside = Waits::compute(cfg, loaded_.object->target(), waits.context(true));
  EXPECT_FALSE(inside.atStart(1).anyRegister());
  EXPECT_TRUE(Waits::compute(cfg, loaded_.object->target()).atStart(1).anyRegister());
}

INSTANTIATE_TEST_SUITE_P(Targets, Functions, ::testing::Values("gfx803", "gfx906", "gfx90a", "gfx1030"));

TEST(HostileFunctions, DepthAndEdgesAreBounded) {
  const Loaded loaded(std::string(ANALYSIS_TEST_FILES) + "/chain.co");
  ASSERT_EQ(loaded.graph->nodes().size(), 20003u);
  EXPECT_THAT(loaded.calls("head"), ElementsAre("call f0"));
  EXPECT_EQ(loaded.reachable("head").size(), 20002u);

  // Deep down nothing is known, and that is what is said.
  auto liveness = ProgramLiveness::compute(*loaded.program, *loaded.graph, loaded.symbol("head"));
  ASSERT_TRUE(liveness);
  EXPECT_EQ(where(liveness->of(loaded.symbol("head"))->before(0u), vgpr(7)), "AI");
  CallWaits waits(*loaded.program);
  const WaitState *left = waits.at(loaded.symbol("f0").address);
  ASSERT_TRUE(left);
  EXPECT_TRUE(left->anyRegister());

  const Cfg &jumps = loaded.cfg("jumps");
  EXPECT_TRUE(verify(jumps));
  EXPECT_EQ(jumps.blocks().size(), 8000u); // each s_getpc_b64's value is one more possible target
  EXPECT_LT(jumps.edges().size(), 1u << 17);
  EXPECT_TRUE(jumps.blocks()[1].addressTaken);
}

class NeverReturns : public ::testing::Test {
protected:
  const Block &last(std::string_view name) const { return loaded_.cfg(name).blocks().back(); }
  bool mayReturn(std::string_view name) const { return loaded_.program->mayReturn(loaded_.symbol(name).address); }
  const Transfer &summary(std::string_view name) { return *summaries_.at(loaded_.symbol(name).address); }

  Loaded loaded_{std::string(ANALYSIS_TEST_FILES) + "/never_returns.co"};
  CallSummaries summaries_{*loaded_.program};
};

TEST_F(NeverReturns, EveryBlockIsRight) {
  for (const CallNode &node : loaded_.graph->nodes()) {
    const auto fine = verify(node.function->cfg());
    EXPECT_TRUE(fine) << node.symbol->name << ": " << fine.error().message();
  }
}

TEST_F(NeverReturns, CodeRunsOut) {
  for (const char *name : {"traps", "ends_in_call", "ends_in_call_before_function", "ends_in_trap",
                           "ends_in_conditional", "ends_in_nothing"}) {
    EXPECT_EQ(last(name).exit, Exit::RunsOut) << name;
    EXPECT_EQ(loaded_.node(name).hasUnknown, false) << name;
  }
  EXPECT_EQ(last("ends_in_conditional").successorCount, 1u); // back to its start
  // Where code does follow.
  EXPECT_EQ(last("debug_traps").exit, Exit::FallsOut);
  EXPECT_THAT(loaded_.calls("debug_traps"), ElementsAre("tail behind_debug_trap"));
  EXPECT_THAT(loaded_.calls("ends_in_nops"), ElementsAre("tail behind_nops"));
  for (const char *name : {"unnamed_code_follows", "too_many_nops_follow"}) {
    EXPECT_EQ(last(name).exit, Exit::FallsOut) << name;
    EXPECT_TRUE(loaded_.node(name).hasUnknown) << name;
  }
}

TEST_F(NeverReturns, FunctionsThatDoNotComeBack) {
  for (const char *name :
       {"traps", "loops", "ends_in_call", "ends_in_call_before_function", "tails_into_loops", "ends_in_trap"})
    EXPECT_FALSE(mayReturn(name)) << name;
  for (const char *name : {"debug_traps", "behind_call", "checks", "maybe_tails"})
    EXPECT_TRUE(mayReturn(name)) << name;
  EXPECT_TRUE(loaded_.program->mayReturn(4)); // no function starts there
  // A recursion without end is not seen through, and comes to an end itself.
  EXPECT_TRUE(verify(loaded_.cfg("itself")));
  EXPECT_THAT(loaded_.reachable("calls_checks"), ElementsAre("calls_checks", "checks", "ends_in_call", "traps"));
}

TEST_F(NeverReturns, CallsOfThemHaveNoSuccessor) {
  const Cfg &cfg = loaded_.cfg("checks");
  ASSERT_EQ(cfg.blocks().size(), 3u);
  EXPECT_EQ(cfg.blocks()[1].call, CallKind::Direct);
  EXPECT_EQ(cfg.blocks()[1].exit, Exit::RunsOut);
  EXPECT_EQ(cfg.blocks()[1].successorCount, 0u);
  EXPECT_EQ(cfg.blocks()[2].predecessorCount, 1u);
  EXPECT_EQ(cfg.blocks()[2].exit, Exit::Return); // s[30:31] are as they came in on the only way there is
  EXPECT_FALSE(loaded_.node("calls_checks").reachesUnknown);
}

TEST_F(NeverReturns, NothingIsLiveWhereCodeRunsOut) {
  const auto liveness = ProgramLiveness::compute(*loaded_.program, *loaded_.graph, loaded_.symbol("calls_checks"));
  ASSERT_TRUE(liveness) << liveness.error().message();
  const Liveness &checks = *liveness->of(loaded_.symbol("checks"));
  // On the way to the call only what the callee needs, not what the rest of the function or its caller does.
  EXPECT_EQ(where(checks.atStart(1), vgpr(6)), "A");
  EXPECT_EQ(where(checks.atStart(1), vgpr(4)), "-");
  EXPECT_EQ(where(checks.atStart(1), vgpr(10)), "-");
  EXPECT_EQ(where(checks.atStart(1), sgpr(30)), "-");
  EXPECT_EQ(where(checks.atStart(2), vgpr(4)), "A");
  EXPECT_EQ(where(checks.atStart(2), vgpr(10)), "A"); // the caller's
  EXPECT_EQ(where(checks.atStart(0), vgpr(10)), "A");
  const Liveness &traps = *liveness->of(loaded_.symbol("traps"));
  EXPECT_EQ(where(traps.atStart(0), vgpr(0)), "A");
  EXPECT_EQ(where(traps.atStart(0), vgpr(10)), "-");
  EXPECT_EQ(where(traps.atStart(0), sgpr(0)), "AI"); // what the trap handler finds the queue in
  EXPECT_TRUE(summary("traps")(LiveSets::everything()).active.contains(sgpr(0)));
  EXPECT_FALSE(summary("traps")(LiveSets::everything()).active.contains(vgpr(4)));
}

TEST(CompiledFunctions, CallGraph) {
  const Loaded loaded(std::string(ANALYSIS_TEST_FILES) + "/compiled.co");
  EXPECT_THAT(loaded.calls("calls_helper"), ElementsAre("call helper", "call helper"));
  EXPECT_THAT(loaded.calls("no_calls"), IsEmpty());
  EXPECT_THAT(loaded.calls("calls_pointer"), ElementsAre("indirect"));
  EXPECT_TRUE(loaded.node("twice").addressTaken);
  EXPECT_TRUE(loaded.node("thrice").addressTaken);
  EXPECT_FALSE(loaded.node("helper").addressTaken);
  EXPECT_THAT(loaded.reachable("calls_pointer"), ElementsAre("calls_pointer", "thrice", "twice"));
  for (const char *name : {"helper", "twice", "thrice"})
    EXPECT_EQ(loaded.cfg(name).blocks().back().exit, Exit::Return) << name;
  for (const CallNode &node : loaded.graph->nodes()) {
    const auto fine = verify(node.function->cfg());
    EXPECT_TRUE(fine) << node.symbol->name << ": " << fine.error().message();
  }
}

TEST(CompiledFunctions, KernelsNeedOnlyWhatIsSetUp) {
  const Loaded loaded(std::string(ANALYSIS_TEST_FILES) + "/compiled.co");
  auto graph = *loaded.graph;
  for (const char *name : {"calls_helper", "no_calls"}) {
    auto liveness = ProgramLiveness::compute(*loaded.program, graph, loaded.symbol(name));
    ASSERT_TRUE(liveness);
    const auto allocation = allocationOf(*loaded.object, loaded.symbol(name));
    ASSERT_TRUE(allocation);
    const RegSet undefined = undefinedAtEntry(*allocation, *liveness->of(loaded.symbol(name)));
    // The compiler adds the scratch wave offset (s9) to the buffer even where no scratch is asked for and it is not
    // set.
    for (unsigned n = 0; n < number(Reg::ScalarEnd); ++n)
      if (n != 9)
        EXPECT_FALSE(undefined.contains(static_cast<Reg>(n))) << name << " " << toString(static_cast<Reg>(n));
  }
}

} // namespace
} // namespace luthier::analysis::test
