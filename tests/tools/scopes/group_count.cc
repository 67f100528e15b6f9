// Executed instructions of each launch by workgroup: all, the most, the least; and how many workgroups are not where
// their number says.
#include "group_count_hooks.h"

#include <algorithm>
#include <numeric>

struct GroupCount : luthier::Tool {
  void start() override {
    report().columns({"kernel", "launch", "workgroups", "instructions", "most", "least", "misplaced"});
  }

  void instrument(luthier::Kernel &kernel, luthier::Site at) override {
    for (const luthier::Function &function : kernel.functions())
      for (const luthier::Block &block : function.blocks())
        at.entry(block).call(hooks::count, block.size());
    at.exit(kernel).call(hooks::flush);
  }

  void finished(const luthier::Launch &launch) override {
    if (!launch.instrumented())
      return;
    const std::vector<uint64_t> counts = launch.read(hooks::instructions);
    const std::vector<uint32_t> ids = launch.read(hooks::id);
    const auto groups = [](uint32_t items, uint32_t size) { return (items + size - 1) / size; };
    const uint64_t x = groups(launch.grid().x, launch.workgroup().x), y = groups(launch.grid().y, launch.workgroup().y);
    uint64_t misplaced = 0;
    for (uint64_t n = 0; n < counts.size(); ++n)
      misplaced += ids[3 * n] + x * (ids[3 * n + 1] + y * ids[3 * n + 2]) != n;
    report().row(launch.kernel(), launch.numberOfKernel(), counts.size(),
                 std::accumulate(counts.begin(), counts.end(), uint64_t{0}), std::ranges::max(counts),
                 std::ranges::min(counts), misplaced);
  }
};
LUTHIER_TOOL(GroupCount)
