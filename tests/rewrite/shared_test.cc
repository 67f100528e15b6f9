// Hooks that are called instead of copied: what is chosen, what is in the code, and that it counts the same.
#include "rewrite/shared_hook.h"
#include "trace_fixture.h"

namespace luthier::rewrite::test {
namespace {

class SharedTest : public testing::Test {
protected:
  SharedTest() { subject_.rewriter->setForm(HookForm::Auto); }

  std::vector<Insertion> everywhere(const std::string &hook, HookForm form) {
    uint64_t n = 0;
    auto list = subject_.everywhere("loops", [&](const Instr &instr, auto &all) {
      all.push_back(subject_.before(instr, hook));
      if (!subject_.module->findHook(hook)->parameters.empty())
        all.back().arguments = {Argument::constant(++n)};
    });
    for (Insertion &insertion : list)
      insertion.form = form;
    return list;
  }
  static uint32_t callsOf(const Rewrite &rewrite) {
    uint32_t calls = 0;
    for (const SiteAccount &site : rewrite.sites)
      calls += site.calls;
    return calls;
  }
  static std::vector<CodeRange> sharedRanges(const Variant &variant) {
    std::vector<CodeRange> ranges;
    std::ranges::copy_if(variant.ranges, std::back_inserter(ranges),
                         [](const CodeRange &range) { return range.kind == CodeRange::Kind::SharedHook; });
    return ranges;
  }

  Machine machine_;
  Subject subject_{STATE_KERNELS};
};

TEST_F(SharedTest, OneCopy) {
  const std::vector<Insertion> called = everywhere("countLane", HookForm::Shared);
  const Rewrite shared = subject_.rewrite("loops", called);
  EXPECT_EQ(shared.sharedHooks, 1u);
  EXPECT_EQ(callsOf(shared), called.size());
  const auto ranges = sharedRanges(shared.variant);
  ASSERT_EQ(ranges.size(), 1u);
  EXPECT_EQ(shared.variant.functions.back().name, "hook.countLane");
  EXPECT_EQ(shared.variant.functions.back().offset, ranges[0].offset);
  EXPECT_EQ(shared.variant.functions.back().size, ranges[0].size);
  EXPECT_EQ(shared.variant.notes[ranges[0].note].find(fmt::format("countLane, called from {} places", called.size())),
            0u);

  const Rewrite copied = subject_.rewrite("loops", everywhere("countLane", HookForm::Inline));
  EXPECT_EQ(copied.sharedHooks, 0u);
  EXPECT_EQ(callsOf(copied), 0u);
  EXPECT_LT(shared.variant.code.size(), copied.variant.code.size());
  const Outcome one =
      expectSame(machine_, subject_, must(emitMerged(subject_.file.object, {&shared.variant, 1})), "loops");
  const Outcome many =
      expectSame(machine_, subject_, must(emitMerged(subject_.file.object, {&copied.variant, 1})), "loops");
  EXPECT_EQ(valueOf<uint64_t>(one, "total"), valueOf<uint64_t>(many, "total"));
  EXPECT_GT(valueOf<uint64_t>(one, "total"), 0u);
}

TEST_F(SharedTest, LargeHooksOfManyPlacesAreShared) {
  EXPECT_FALSE(growsTooMuch(1, 1 << 20)) << "there is only one copy of it anyway";
  EXPECT_FALSE(growsTooMuch(1'000'000, 64)) << "a call is hardly smaller";
  EXPECT_TRUE(growsTooMuch(1'000, 1'200));
  const auto insertions = everywhere("hostileLane", HookForm::Auto);
  const Rewrite few = subject_.rewrite("loops", std::span(insertions).first(2));
  EXPECT_EQ(callsOf(few), 0u);
  std::vector<Insertion> many;
  while (many.size() < 200)
    many.insert(many.end(), insertions.begin(), insertions.end());
  const Rewrite shared = subject_.rewrite("loops", many);
  EXPECT_EQ(shared.sharedHooks, 1u);
  EXPECT_GT(callsOf(shared), many.size() / 2);
  subject_.rewriter->setForm(HookForm::Inline);
  const Rewrite copied = subject_.rewrite("loops", many);
  EXPECT_EQ(copied.sharedHooks, 0u);
  EXPECT_GT(copied.variant.code.size(), 3 * shared.variant.code.size());
  for (const Rewrite *rewrite : {&shared, &copied})
    expectSame(machine_, subject_, must(emitMerged(subject_.file.object, {&rewrite->variant, 1})), "loops");
}

/// The same hook, called at some places and copied to others.
TEST_F(SharedTest, EachPlaceMaySay) {
  std::vector<Insertion> insertions = everywhere("countLane", HookForm::Shared);
  for (size_t n = 0; n < insertions.size(); n += 2)
    insertions[n].form = HookForm::Inline;
  const Rewrite rewrite = subject_.rewrite("loops", insertions);
  for (size_t n = 0; n < insertions.size(); ++n)
    EXPECT_EQ(rewrite.sites[n].calls, n % 2) << n;
  expectSame(machine_, subject_, must(emitMerged(subject_.file.object, {&rewrite.variant, 1})), "loops");
}

/// Modules with the same code have variables of their own.
TEST_F(SharedTest, ModulesDoNotShare) {
  std::vector<Insertion> insertions = everywhere("countLane", HookForm::Shared);
  const auto other = must(hook::HookModule::load(fileBytes(HARNESS_HOOKS), HARNESS_HOOKS));
  const size_t first = insertions.size();
  for (size_t n = 0; n < first; ++n) {
    insertions.push_back(insertions[n]);
    insertions.back().module = other;
  }
  const Rewrite rewrite = subject_.rewrite("loops", insertions);
  EXPECT_EQ(rewrite.sharedHooks, 2u);
  EXPECT_EQ(rewrite.variant.functions.back().name, "hook.countLane.1");
  const Outcome outcome =
      expectSame(machine_, subject_, must(emitMerged(subject_.file.object, {&rewrite.variant, 1})), "loops");
  EXPECT_GT(valueOf<uint64_t>(outcome, "total"), 0u);
  EXPECT_EQ(valueOf<uint64_t>(outcome, "total"), valueOf<uint64_t>(outcome, "luthierHarnessCount"));
}

/// A file with shared hooks is a file like any other: hooks in it are functions, with their own way to return.
TEST_F(SharedTest, InstrumentedAgain) {
  const Rewrite once = subject_.rewrite("loops", everywhere("count", HookForm::Shared));
  const std::vector<std::byte> file = must(emitMerged(subject_.file.object, {&once.variant, 1}));
  const Outcome first = machine_.run(file, "loops", {.count = true});
  ASSERT_EQ(first.error, "");

  Subject again(file, "instrumented once", HARNESS_HOOKS);
  const auto functions = must(again.rewriter->functionsOf(again.file.kernel("loops")));
  ASSERT_EQ(functions.size(), 2u);
  EXPECT_EQ(functions[1]->name, "loops$hook.count");
  const analysis::Function *hook = must(again.rewriter->program().function(*functions[1]));
  EXPECT_TRUE(std::ranges::any_of(hook->cfg().blocks(),
                                  [](const analysis::Block &block) { return block.exit == analysis::Exit::Return; }));
  for (const HookForm form : {HookForm::Inline, HookForm::Shared}) {
    again.rewriter->setForm(form);
    std::vector<Insertion> insertions = again.everywhere(
        "loops", [&](const Instr &instr, auto &all) { all.push_back(again.before(instr, "countWave")); });
    for (Insertion &insertion : insertions)
      insertion.arguments = {Argument::exec()};
    const Rewrite twice = again.rewrite("loops", insertions);
    const Outcome outcome =
        expectSame(machine_, again, must(emitMerged(again.file.object, {&twice.variant, 1})), "loops");
    EXPECT_EQ(valueOf<uint64_t>(outcome, "luthierHarnessLaunchCount"), first.report.instructions.lanes);
  }
}

} // namespace
} // namespace luthier::rewrite::test
