// Counts executed instructions: per launch, kernel, block or instruction.
#include "instr_count_hooks.h"

#include <map>

struct InstrCount : luthier::Tool {
  std::string per = option("per", "launch", "what a row is of: launch, kernel, block or instruction");
  std::map<std::string, std::array<uint64_t, 3>> kernels;                // launches, instructions, lanes
  std::vector<std::tuple<std::string, std::string, std::string>> places; // of counters: kernel, function, which

  void start() override {
    if (per == "launch" || per == "kernel")
      report().columns({"kernel", per == "launch" ? "launch" : "launches", "instructions", "lanes"});
    else
      report().columns({"kernel", "function", per, "instructions", "lanes"});
  }

  void instrument(luthier::Kernel &kernel, luthier::Site at) override {
    for (const luthier::Function &function : kernel.functions())
      for (const luthier::Block &block : function.blocks()) {
        if (per == "block")
          places.emplace_back(kernel.name(), function.name(), std::to_string(block.number()));
        for (std::span<const luthier::Instr> run : block.runs())
          if (per == "instruction")
            for (const luthier::Instr &instr : run) {
              places.emplace_back(kernel.name(), function.name(), function.text(instr));
              countAt(at.before(instr), 1);
            }
          else if (per == "block")
            countAt(at.before(run.front()), static_cast<uint32_t>(run.size()));
          else
            at.before(run.front()).call(hooks::count, static_cast<uint32_t>(run.size()));
      }
    at.exit(kernel).call(hooks::flush);
  }

  void countAt(luthier::Point point, uint32_t n) {
    if (places.size() * 2 <= hooks::counters.count)
      point.call(hooks::countAt, static_cast<uint32_t>(places.size() - 1), n);
    else
      warn("there are more blocks or instructions than counters: not all are counted");
  }

  void finished(const luthier::Launch &launch) override {
    const std::string kernel = launch.kernel().name();
    const uint64_t instructions = launch.read(hooks::instructions), lanes = launch.read(hooks::lanes);
    if (per == "launch" && launch.instrumented())
      report().row(kernel, launch.numberOfKernel(), instructions, lanes);
    kernels[kernel] = {kernels[kernel][0] + launch.instrumented(), kernels[kernel][1] + instructions,
                       kernels[kernel][2] + lanes};
  }

  void exit() override {
    if (per == "kernel")
      for (const auto &[name, sums] : kernels)
        report().row(name, sums[0], sums[1], sums[2]);
    const std::vector<uint64_t> counters = places.empty() ? std::vector<uint64_t>() : read(hooks::counters);
    for (size_t n = 0; n < places.size() && 2 * n < counters.size(); ++n)
      std::apply([&](const auto &...place) { report().row(place..., counters[2 * n], counters[2 * n + 1]); },
                 places[n]);
  }
};
LUTHIER_TOOL(InstrCount)
