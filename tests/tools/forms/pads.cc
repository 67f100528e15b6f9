// Executed instructions of all lanes.
#include "form_pads_hooks.h"

struct Pads : luthier::Tool {
  void start() override { report().columns({"kernel", "lanes"}); }
  void instrument(luthier::Kernel &kernel, luthier::Site at) override {
    at.entry(kernel).call(hooks::take);
    for (const luthier::Function &function : kernel.functions())
      for (const luthier::Block &block : function.blocks())
        for (const std::span<const luthier::Instr> run : block.runs())
          at.before(run.front()).call(hooks::count, static_cast<uint32_t>(run.size()));
    at.exit(kernel).call(hooks::give);
  }
  void finished(const luthier::Launch &launch) override {
    if (launch.instrumented())
      report().row(launch.kernel(), launch.read(hooks::lanes));
  }
};
LUTHIER_TOOL(Pads)
