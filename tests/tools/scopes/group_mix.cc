// Executed instructions by what their names begin with, per lane.
#include "group_mix_hooks.h"

#include <algorithm>

struct GroupMix : luthier::Tool {
  static constexpr std::string_view kKinds[] = {"s", "v", "ds", "global", "flat", "other"};

  void start() override { report().columns({"kernel", "launch", "s", "v", "ds", "global", "flat", "other"}); }

  void instrument(luthier::Kernel &kernel, luthier::Site at) override {
    for (const luthier::Function &function : kernel.functions())
      for (const luthier::Instr &instr : function.instrs()) {
        const std::string_view prefix = instr.mnemonic().substr(0, instr.mnemonic().find('_'));
        const auto *const kind = std::find(std::begin(kKinds), std::end(kKinds) - 1, prefix);
        at.before(instr).call(hooks::count, static_cast<uint32_t>(kind - kKinds));
      }
    at.exit(kernel).call(hooks::flush);
  }

  void finished(const luthier::Launch &launch) override {
    const std::vector<uint64_t> n = launch.read(hooks::lanes);
    if (launch.instrumented())
      report().row(launch.kernel(), launch.numberOfKernel(), n[0], n[1], n[2], n[3], n[4], n[5]);
  }
};
LUTHIER_TOOL(GroupMix)
