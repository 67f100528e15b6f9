// Bank conflicts of LDS accesses, per instruction.
#include "counters.h"
#include "lds_conflicts_hooks.h"

#include <luthier/ratio.h>

#include <algorithm>
#include <bit>
#include <map>

struct LdsConflicts : luthier::Tool {
  void start() override {
    report().columns({"kernel", "address", "instruction", "source", "executed", "lanes", "cycles", "conflicts",
                      "per access", "most"});
  }

  void instrument(luthier::Kernel &kernel, luthier::Site at) override {
    const luthier::TargetFacts facts = kernel.targetFacts();
    for (const luthier::Function &function : kernel.functions())
      for (const luthier::Instr &instr : function.instrs()) {
        const auto access = instr.memory();
        if (!access || access->space != luthier::MemorySpace::Lds || !(access->load || access->store || access->atomic))
          continue;
        // A cycle moves a word of each bank: that many lanes' data.
        const uint32_t size = std::max<uint32_t>(std::bit_ceil(uint32_t{access->bytes}), facts.ldsBankBytes);
        const uint32_t group = std::min(facts.ldsBanks * facts.ldsBankBytes / size, kernel.waveSize());
        const bool interleaved = facts.ldsWideReadsInterleave && access->bytes == 16 && access->load && !access->store;
        for (unsigned which = 0; which <= access->two; ++which)
          at.before(instr).call(hooks::access, luthier::Arg(luthier::arg::address(which)), uint32_t{access->bytes},
                                facts.ldsBanks, facts.ldsBankBytes, group, interleaved);
      }
  }

  void exit() override {
    using namespace lds_conflicts;
    std::map<std::pair<luthier::KernelId, const luthier::Instr *>, std::array<uint64_t, kCounters>> seen;
    const auto sites = read(hooks::counters);
    for (const auto &site : sites) // ds_read2_b32 has two
      for (unsigned n = 0; n < kCounters; ++n) {
        uint64_t &sum = seen[{site.kernel, site.instr}][n];
        sum = n == Most ? std::max(sum, site.value[n]) : sum + site.value[n];
      }
    for (const auto &site : sites)
      if (const auto found = seen.extract({site.kernel, site.instr}); !found.empty() && found.mapped()[Executed]) {
        const auto &n = found.mapped();
        report().row(site.kernel, site.addressText(), site.text(), site.sourceText(), n[Executed], n[Lanes],
                     n[Needed] + n[Conflicts], n[Conflicts], luthier::ratio(n[Conflicts], n[Executed]), n[Most]);
      }
  }
};
LUTHIER_TOOL(LdsConflicts)
