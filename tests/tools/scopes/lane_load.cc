// How evenly lanes work: instructions of all, of the busiest and of the laziest lane of each launch.
#include "lane_load_hooks.h"

struct LaneLoad : luthier::Tool {
  void start() override { report().columns({"kernel", "launch", "lanes", "instructions", "most", "least"}); }

  void instrument(luthier::Kernel &kernel, luthier::Site at) override {
    for (const luthier::Function &function : kernel.functions())
      for (const luthier::Block &block : function.blocks())
        for (const std::span<const luthier::Instr> run : block.runs())
          at.before(run.front()).call(hooks::count, static_cast<uint32_t>(run.size()));
    at.exit(kernel).call(hooks::flush);
  }

  void finished(const luthier::Launch &launch) override {
    if (launch.instrumented())
      report().row(launch.kernel(), launch.numberOfKernel(), launch.read(hooks::lanes), launch.read(hooks::sum),
                   launch.read(hooks::most), launch.read(hooks::least));
  }
};
LUTHIER_TOOL(LaneLoad)
