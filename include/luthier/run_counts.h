// How often each instruction is executed, and for how many lanes: exact, at the cost of one hook for each run of
// instructions throughout which the same lanes are active. The rest is arithmetic on what is in the run.
//
//   #include <luthier/run_counts_hooks.h>                       // in the tool's .hip
//
//   luthier::countRuns(kernel, at, hooks::countRun);            // Tool::instrument
//   luthier::forEachCount(read(hooks::runCounts), [&](const luthier::InstrCount &count) { ... }); // Tool::exit
#pragma once

#include "luthier/tool.h"

namespace luthier {

/// An instruction and its executions. It is a place too: kernel, function, address, text and source line.
struct InstrCount : SiteOfValue {
  uint64_t waves = 0, lanes = 0;
};

inline void countRuns(Kernel &kernel, Site at, const Hook<> &countRun) {
  for (const Function &function : kernel.functions())
    for (const Block &block : function.blocks())
      for (const std::span<const Instr> run : block.runs())
        at.before(run.front()).call(countRun);
}

/// All instructions that are counted, executed or not, kernel by kernel in the order of the code.
template <class Visit>
void forEachCount(const std::vector<SiteValue<std::array<uint64_t, 2>>> &runs, const Visit &visit) {
  for (const auto &run : runs)
    for (const std::span<const Instr> instrs : run.function->block(*run.instr)->runs())
      if (&instrs.front() == run.instr)
        for (const Instr &instr : instrs) {
          InstrCount count{run, run.value[0], run.value[1]};
          count.instr = &instr;
          visit(count);
        }
}

} // namespace luthier
