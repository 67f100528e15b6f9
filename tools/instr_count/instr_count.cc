// Counts executed instructions and the lanes that were active for them: per launch, kernel, block or instruction.
#include "instr_count_hooks.h"

#include <map>

struct InstrCount : luthier::Tool {
  std::string per = choice("per", {"launch", "kernel", "block", "instruction"}, "what a row is of");
  std::map<luthier::KernelId, std::array<uint64_t, 3>> kernels;           // launches, instructions, lanes
  std::map<std::pair<luthier::KernelId, std::string>, uint32_t> counters; // of blocks and instructions, by kernel

  void start() override { report().columns({"kernel", per == "kernel" ? "launches" : per, "instructions", "lanes"}); }

  void instrument(luthier::Kernel &kernel, luthier::Site at) override {
    for (const luthier::Function &function : kernel.functions())
      for (const luthier::Block &block : function.blocks())
        for (std::span<const luthier::Instr> run : block.runs()) {
          const uint32_t size = static_cast<uint32_t>(run.size()), step = per == "instruction" ? 1 : size;
          for (uint32_t n = 0; n < size; n += step)
            if (per == "launch" || per == "kernel")
              at.before(run[n]).call(hooks::count, step);
            else
              at.before(run[n]).call(hooks::countAt, counter(kernel, function, per == "block" ? block.front() : run[n]),
                                     step);
        }
    at.exit(kernel).call(hooks::flush);
  }

  uint32_t counter(const luthier::Kernel &kernel, const luthier::Function &function, const luthier::Instr &instr) {
    const std::string place = function.name() + " +" + std::to_string(instr.address() - function.address());
    std::pair key(kernel.id(), place + ": " + function.text(instr));
    if (counters.size() + 1 >= hooks::counters.count / 2)
      key = {{}, "(others)"};
    return counters.try_emplace(key, counters.size()).first->second;
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
    for (const auto counts = read(hooks::counters); const auto &[place, n] : counters)
      report().row(place.first, place.second, counts[2 * n], counts[2 * n + 1]);
  }
};
LUTHIER_TOOL(InstrCount)
