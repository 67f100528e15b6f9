// Every kernel and function of a big library that others have compiled, for all its targets: Debian's rocRAND.

#include "analysis/budget.h"
#include "analysis/hazards.h"
#include "analysis/interprocedural.h"
#include "object/container.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>

namespace luthier::analysis {
namespace {

constexpr const char *kLibrary = "/usr/lib/x86_64-linux-gnu/librocrand.so.1";

struct Seen {
  unsigned kernels = 0;
  uint64_t instructions = 0;
  unsigned undefinedScalars = 0;
  Budget budget;
};

void check(const object::CodeObject &object, Seen &seen) {
  auto program = Program::create(object);
  ASSERT_TRUE(program) << program.error().message();
  auto graph = CallGraph::build(**program);
  ASSERT_TRUE(graph) << graph.error().message();
  auto liveness = ProgramLiveness::compute(**program, *graph);
  ASSERT_TRUE(liveness) << liveness.error().message();
  for (const CallNode &node : graph->nodes()) {
    SCOPED_TRACE(node.symbol->name);
    const Cfg &cfg = node.function->cfg();
    const auto fine = verify(cfg);
    ASSERT_TRUE(fine) << fine.error().message();
    for (const Block &block : cfg.blocks())
      EXPECT_NE(block.exit, Exit::Unknown);
    seen.instructions += cfg.instrs().size();
    const auto apart = verifyHazards(object.target(), cfg);
    ASSERT_TRUE(apart) << apart.error().message();

    const Liveness &live = *liveness->of(*node.symbol);
    live.walk([&](const Instr &instr, const LiveSets &sets) {
      // Nobody can tell active lanes from others where EXEC is dead.
      if (!sets.active.contains(Reg::ExecLo) && !sets.active.contains(Reg::ExecHi))
        ASSERT_EQ(sets.active, sets.inactive) << std::hex << instr.address();
      // Scalars have no lanes.
      for (Reg reg : {sgpr(0), sgpr(4), sgpr(30), Reg::VccLo, Reg::Scc, Reg::M0})
        ASSERT_EQ(sets.active.contains(reg), sets.inactive.contains(reg)) << std::hex << instr.address();
    });
    if (node.symbol->kind != object::SymbolKind::Kernel)
      continue;
    ++seen.kernels;
    const auto allocation = allocationOf(object, *node.symbol);
    ASSERT_TRUE(allocation) << allocation.error().message();
    const RegSet undefined = undefinedAtEntry(*allocation, live);
    for (unsigned n = 0; n < number(Reg::ScalarEnd); ++n)
      seen.undefinedScalars += undefined.contains(static_cast<Reg>(n));
    seen.budget += measure(*allocation, live, Waits::compute(cfg, object.target(), {.kernel = true, .returned = {}}));
  }
}

TEST(Corpus, RocrandForAllItsTargets) {
  if (!std::filesystem::exists(kLibrary))
    GTEST_SKIP() << kLibrary << " is not installed";
  const auto container = object::Container::open(kLibrary);
  ASSERT_TRUE(container) << container.error().message();
  const auto images = container->images();
  ASSERT_TRUE(images) << images.error().message();
  std::map<std::string, Seen> seen;
  for (const object::Image &image : *images) {
    const auto object = image.codeObject();
    ASSERT_TRUE(object) << object.error().message();
    SCOPED_TRACE(object->targetId());
    check(*object, seen[object->targetId()]);
    if (HasFatalFailure())
      return;
  }
  EXPECT_EQ(seen.size(), 7u);
  for (const auto &[target, s] : seen) {
    SCOPED_TRACE(target);
    EXPECT_EQ(s.kernels, 80u);
    EXPECT_GT(s.instructions, 40000u);
    // One kernel has a value that is undefined on a path that is never taken.
    EXPECT_LE(s.undefinedScalars, 4u);
    const auto points = static_cast<double>(s.budget.points);
    EXPECT_GT(static_cast<double>(s.budget.enough) / points, 0.9);
    printf("%-14s %u kernels, %llu instructions; dead per point: %.1f SGPRs, %.1f VGPRs in active lanes, %.1f in all; "
           "%.1f%% of points have 4 SGPRs and 2 VGPRs\n",
           target.c_str(), s.kernels, static_cast<unsigned long long>(s.instructions),
           static_cast<double>(s.budget.deadSgprs) / points, static_cast<double>(s.budget.deadVgprs) / points,
           static_cast<double>(s.budget.deadVgprsWave) / points, 100 * static_cast<double>(s.budget.enough) / points);
  }
}

} // namespace
} // namespace luthier::analysis
