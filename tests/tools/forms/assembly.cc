// Executed instructions, counted by instructions that are written here.
#include "form_assembly_hooks.h"

struct Assembly : luthier::Tool {
  void start() override { report().columns({"kernel", "registers", "instructions"}); }

  /// Two scalar registers that the kernel's code does not name.
  static std::vector<unsigned> freeScalars(const luthier::Kernel &kernel) {
    luthier::RegSet named;
    for (const luthier::Function &function : kernel.functions())
      for (const luthier::Instr &instr : function.instrs())
        for (const auto list : {instr.reads(), instr.writes()})
          for (const luthier::RegRange range : list)
            named.insert(range);
    std::vector<unsigned> free;
    for (unsigned n = 102; n-- > 20 && free.size() < 2;)
      if (!named.contains(luthier::sgpr(n)))
        free.push_back(n);
    return free;
  }
  void instrument(luthier::Kernel &kernel, luthier::Site at) override {
    const std::vector<unsigned> free = freeScalars(kernel);
    if (free.size() < 2)
      return;
    const luthier::RegRange counter{luthier::sgpr(free[0]), 1}, scc{luthier::Reg::Scc, 1};
    const std::string sum = "s" + std::to_string(free[0]), kept = "s" + std::to_string(free[1]);
    at.entry(kernel).assembly("s_mov_b32 " + sum + ", 0").changes(counter);
    for (const luthier::Function &function : kernel.functions())
      for (const luthier::Block &block : function.blocks())
        at.entry(block)
            .assembly("s_cselect_b32 " + kept + ", 1, 0 // SCC\n" + "s_add_u32 " + sum + ", " + sum + ", " +
                      std::to_string(block.size()) + "\n" + "s_cmp_lg_u32 " + kept + ", 0")
            .changes(counter)
            .changes(scc);
    at.exit(kernel).call(hooks::flush, luthier::arg::reg(counter.first));
  }
  void finished(const luthier::Launch &launch) override {
    if (launch.instrumented())
      report().row(launch.kernel(), freeScalars(launch.kernel()).size(), launch.read(hooks::executed));
  }
};
LUTHIER_TOOL(Assembly)
