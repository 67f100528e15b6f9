// Executed instructions per function; runs are found by looking at neighbours.
#include "form_per_site_hooks.h"

#include <map>

struct PerSite : luthier::Tool {
  void start() override { report().columns({"kernel", "function", "line known", "instructions"}); }

  static bool startsRun(const luthier::Function &function, const luthier::Instr &instr) {
    const luthier::Instr *before = function.previous(instr);
    return !before || function.block(*before) != function.block(instr);
  }
  void instrument(luthier::Kernel &kernel, luthier::Site at) override {
    for (const luthier::Function &function : kernel.functions())
      for (const luthier::Instr &instr : function.instrs())
        if (startsRun(function, instr))
          at.before(instr).call(hooks::count);
  }
  void exit() override {
    std::map<std::pair<luthier::KernelId, std::string>, std::pair<uint64_t, bool>> functions;
    for (const auto &site : read(hooks::hits)) {
      uint64_t length = 1;
      for (const luthier::Instr *next = site.function->next(*site.instr); next && !startsRun(*site.function, *next);
           next = site.function->next(*next))
        ++length;
      auto &[sum, line] = functions[{site.kernel, site.function->name()}];
      sum += site.value * length;
      line |= site.source().has_value();
    }
    for (const auto &[key, value] : functions)
      report().row(key.first, key.second, value.second, value.first);
  }
};
LUTHIER_TOOL(PerSite)
