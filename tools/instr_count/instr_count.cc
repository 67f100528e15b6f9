// Counts executed instructions and the lanes that were active for them: per launch, kernel, block or instruction.
#include "instr_count_hooks.h"

#include <map>

struct InstrCount : luthier::Tool {
  std::string per = choice("per", {"launch", "kernel", "block", "instruction"}, "what a row is of");
  std::map<luthier::KernelId, std::array<uint64_t, 3>> kernels; // launches, instructions, lanes

  void start() override { report().columns({"kernel", per == "kernel" ? "launches" : per, "instructions", "lanes"}); }

  void instrument(luthier::Kernel &kernel, luthier::Site at) override {
    for (const luthier::Function &function : kernel.functions())
      for (const luthier::Block &block : function.blocks())
        for (std::span<const luthier::Instr> run : block.runs()) {
          const uint32_t size = static_cast<uint32_t>(run.size()), step = per == "instruction" ? 1 : size;
          for (uint32_t n = 0; n < size; n += step)
            at.before(run[n]).call(per == "launch" || per == "kernel" ? hooks::count : hooks::countHere, step);
        }
    at.exit(kernel).call(hooks::flush);
  }

  void finished(const luthier::Launch &launch) override {
    const uint64_t instructions = launch.read(hooks::instructions), lanes = launch.read(hooks::lanes);
    if (per == "launch" && launch.instrumented())
      report().row(launch.kernel(), launch.numberOfKernel(), instructions, lanes);
    auto &sums = kernels[launch.kernel().id()];
    sums = {sums[0] + launch.instrumented(), sums[1] + instructions, sums[2] + lanes};
  }

  void exit() override {
    for (const auto &[kernel, sums] : kernels)
      if (per == "kernel")
        report().row(kernel, sums[0], sums[1], sums[2]);
    std::map<std::pair<luthier::KernelId, std::string>, std::array<uint64_t, 2>> places;
    for (const auto &site : read(hooks::counters)) {
      const luthier::Function &function = *site.function;
      const luthier::Instr &instr = per == "block" ? function.block(*site.instr)->front() : *site.instr;
      const std::string name = function.name() + " +" + std::to_string(instr.address() - function.address());
      auto &sums = places[{site.kernel, name + ": " + function.text(instr)}];
      sums = {sums[0] + site.value[0], sums[1] + site.value[1]};
    }
    for (const auto &[place, sums] : places)
      report().row(place.first, place.second, sums[0], sums[1]);
  }
};
LUTHIER_TOOL(InstrCount)
