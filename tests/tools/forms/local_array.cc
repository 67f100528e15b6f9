// Executed instructions by what their names begin with.
#include "form_local_array_hooks.h"
#include "mix.h"

#include <algorithm>

struct LocalArray : luthier::Tool {
  static constexpr std::string_view kNames[] = {"s", "v", "ds", "global", "flat", "other"};

  void start() override { report().columns({"kernel", "s", "v", "ds", "global", "flat", "other"}); }

  void instrument(luthier::Kernel &kernel, luthier::Site at) override {
    uint32_t site = 0;
    for (const luthier::Function &function : kernel.functions())
      for (const luthier::Block &block : function.blocks()) {
        Mix mix = {};
        for (const luthier::Instr &instr : block.instrs()) {
          const std::string_view prefix = instr.mnemonic().substr(0, instr.mnemonic().find('_'));
          ++mix.of[std::find(std::begin(kNames), std::end(kNames) - 1, prefix) - kNames];
        }
        at.entry(block).call(hooks::count, mix, site++);
      }
  }

  void finished(const luthier::Launch &launch) override {
    const std::vector<uint64_t> n = launch.read(hooks::executed);
    if (launch.instrumented())
      report().row(launch.kernel(), n[0], n[1], n[2], n[3], n[4], n[5]);
  }
};
LUTHIER_TOOL(LocalArray)
