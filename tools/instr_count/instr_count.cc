// Counts executed instructions and the lanes that were active for them: per launch, kernel, block or instruction.
#include "instr_count_hooks.h"

#include <luthier/run_counts.h>

#include <map>

struct InstrCount : luthier::Tool {
  std::string per = choice("per", {"launch", "kernel", "block", "instruction"}, "what a row is of");
  bool ofLaunches = per == "launch" || per == "kernel";
  luthier::LaunchCounts launches{LUTHIER_LAUNCH_COUNTS(hooks)};
  luthier::RunCounts places{*this, LUTHIER_RUN_COUNTS(hooks)};
  std::map<luthier::KernelId, std::array<uint64_t, 3>> kernels; // launches, instructions, lanes

  void start() override { report().columns({"kernel", per == "kernel" ? "launches" : per, "instructions", "lanes"}); }

  void instrument(luthier::Kernel &kernel, luthier::Site at) override {
    ofLaunches ? launches.count(kernel, at) : places.count(kernel, at);
  }

  void finished(const luthier::Launch &launch) override {
    places.finished(launch);
    const auto [instructions, lanes] = launches.of(launch);
    if (per == "launch" && launch.instrumented())
      report().row(launch.kernel(), launch.numberOfKernel(), instructions, lanes);
    auto &sums = kernels[launch.kernel().id()];
    sums = {sums[0] + launch.instrumented(), sums[1] + instructions, sums[2] + lanes};
  }

  void exit() override {
    for (const auto &[kernel, sums] : kernels)
      if (per == "kernel")
        report().row(kernel, sums[0], sums[1], sums[2]);
    std::map<std::pair<luthier::KernelId, std::string>, std::array<uint64_t, 2>> rows;
    places.forEach([&](const luthier::InstrCount &count) {
      const luthier::Function &function = *count.function;
      const luthier::Instr &instr = per == "block" ? function.block(*count.instr)->front() : *count.instr;
      const std::string name = function.name() + " +" + std::to_string(instr.address() - function.address());
      auto &sums = rows[{count.kernel, name + ": " + function.text(instr)}];
      sums = {sums[0] + count.waves, sums[1] + count.lanes};
    });
    for (const auto &[place, sums] : rows)
      report().row(place.first, place.second, sums[0], sums[1]);
  }
};
LUTHIER_TOOL(InstrCount)
