// How well memory accesses coalesce, per instruction: cache lines touched, and patterns of addresses.
#include "classes.h"
#include "coalescing_hooks.h"

#include <luthier/ratio.h>

#include <bit>

struct Coalescing : luthier::Tool {
  void start() override {
    report().columns({"kernel", "address", "instruction", "source", "executed", "lanes", "lines", "per access", "most",
                      "broadcast", "consecutive", "strided", "scattered"});
  }

  void instrument(luthier::Kernel &kernel, luthier::Site at) override {
    const auto shift = static_cast<uint32_t>(std::countr_zero(kernel.targetFacts().cacheLine));
    for (const luthier::Function &function : kernel.functions())
      for (const luthier::Instr &instr : function.instrs())
        if (const auto access = instr.memory(); access && (access->load || access->store || access->atomic))
          if (access->space == luthier::MemorySpace::Global || access->space == luthier::MemorySpace::Flat ||
              access->space == luthier::MemorySpace::Buffer)
            at.before(instr).call(hooks::access, luthier::arg::address(), uint32_t{access->bytes}, shift);
  }

  void exit() override {
    using namespace coalescing;
    for (const auto &site : read(hooks::counters))
      if (const auto &n = site.value; n[Executed])
        report().row(site.kernel, site.addressText(), site.text(), site.sourceText(), n[Executed], n[Lanes], n[Lines],
                     luthier::ratio(n[Lines], n[Executed]), n[Most], n[Broadcast], n[Consecutive], n[Strided],
                     n[Scattered]);
  }
};
LUTHIER_TOOL(Coalescing)
