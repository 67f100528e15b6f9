// How well memory accesses coalesce, per instruction (cache_lines.hip).
#include "cache_lines_hooks.h"

struct CacheLines : luthier::Tool {
  void start() override {
    report().columns({"kernel", "address", "instruction", "line", "executed", "lanes", "lines"});
  }

  void instrument(luthier::Kernel &kernel, luthier::Site at) override {
    for (const luthier::Function &function : kernel.functions())
      for (const luthier::Instr &instr : function.instrs())
        if (const auto memory = instr.memory();
            memory && (memory->space == luthier::MemorySpace::Global || memory->space == luthier::MemorySpace::Flat))
          at.before(instr).call(hooks::access, luthier::arg::address());
  }

  void exit() override {
    for (const luthier::SiteValue<std::array<uint64_t, 3>> &site : read(hooks::counts)) {
      const auto source = site.source();
      report().row(site.kernel, site.address(), site.text(), source ? source->line : 0, site.value[0], site.value[1],
                   site.value[2]);
    }
  }
};
LUTHIER_TOOL(CacheLines)
