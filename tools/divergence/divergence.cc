// Where lanes part: conditional branches (taken, not taken, divergent), or how full waves are in each block.
#include "divergence_hooks.h"

#include <luthier/ratio.h>
#include <luthier/run_counts.h>

#include <map>

struct Divergence : luthier::Tool {
  std::string per = choice("per", {"branch", "block"}, "what a row is of");
  std::map<luthier::KernelId, unsigned> waveSizes;
  luthier::RunCounts counts{*this, LUTHIER_RUN_COUNTS(hooks)};

  void start() override {
    if (per == "branch")
      report().columns({"kernel", "address", "branch", "source", "executed", "taken", "not taken", "divergent"});
    else
      report().columns({"kernel", "block", "first instruction", "source", "instructions", "lanes", "lanes %"});
  }

  void instrument(luthier::Kernel &kernel, luthier::Site at) override {
    waveSizes[kernel.id()] = kernel.waveSize();
    if (per == "block")
      return counts.count(kernel, at);
    for (const luthier::Function &function : kernel.functions())
      for (const luthier::Block &block : function.blocks()) {
        for (const luthier::Instr &instr : block.instrs())
          if (instr.is(luthier::Property::WritesExec))
            at.before(instr).call(hooks::writesExec);
        if (!block.back().is(luthier::Property::Conditional))
          continue;
        const bool testsExec = block.back().mnemonic().find("exec") != std::string_view::npos;
        at.before(block.back()).call(hooks::branch, testsExec);
        for (const uint32_t next : block.successors())
          if (function.blocks()[next].front().address() == block.back().target())
            at.edge(block, function.blocks()[next]).call(hooks::take);
      }
  }

  void finished(const luthier::Launch &launch) override { counts.finished(launch); }

  void exit() override {
    using Place = std::pair<luthier::KernelId, const luthier::Instr *>;
    std::map<Place, uint64_t> takenAt, divergentAt;
    for (const auto &site : read(hooks::taken))
      takenAt[{site.kernel, site.instr}] = site.value;
    for (const auto &site : read(hooks::divergent))
      divergentAt[{site.kernel, site.instr}] = site.value;
    for (const auto &site : read(hooks::executed))
      if (const uint64_t taken = takenAt[{site.kernel, site.instr}]; site.value)
        report().row(site.kernel, site.addressText(), site.text(), site.sourceText(), site.value, taken,
                     site.value - taken, divergentAt[{site.kernel, site.instr}]);

    std::vector<luthier::InstrCount> blocks; // a block's sums, with its first instruction
    counts.forEach([&](const luthier::InstrCount &count) {
      const luthier::Instr *first = &count.function->block(*count.instr)->front();
      if (blocks.empty() || blocks.back().instr != first || blocks.back().kernel != count.kernel) {
        blocks.push_back(count);
        blocks.back().instr = first;
        return;
      }
      blocks.back().waves += count.waves;
      blocks.back().lanes += count.lanes;
    });
    for (const luthier::InstrCount &block : blocks)
      if (block.waves)
        report().row(block.kernel, block.addressText(), block.text(), block.sourceText(), block.waves, block.lanes,
                     luthier::ratio(100 * block.lanes, block.waves * waveSizes[block.kernel]));
  }
};
LUTHIER_TOOL(Divergence)
