// Who calls which device function how often; calls through function pointers included.
#include "call_graph_hooks.h"
#include "callees.h"

#include <map>

struct CallGraph : luthier::Tool {
  std::map<std::pair<luthier::KernelId, uint64_t>, std::string> names; // of functions, by their address in the file

  void start() override {
    report().columns({"kernel", "caller", "callee", "address", "source", "call", "calls", "lanes"});
  }

  void instrument(luthier::Kernel &kernel, luthier::Site at) override {
    for (const luthier::Function &function : kernel.functions())
      names[{kernel.id(), function.address()}] = function.name();
    for (const luthier::Function &function : kernel.functions())
      for (const luthier::Block &block : function.blocks())
        if (const luthier::Instr &last = block.back();
            function.callee(last)) // a call, or a jump that goes on elsewhere
          at.before(last).call(hooks::call);
        else if (last.is(luthier::Property::Call))
          at.before(last).call(hooks::callThrough, luthier::arg::callee());
  }

  void row(const luthier::SiteOfValue &site, const std::string &callee, const char *how, uint64_t calls,
           uint64_t lanes) {
    const auto line = site.source();
    const std::string source =
        line ? line->file.substr(line->file.rfind('/') + 1) + ":" + std::to_string(line->line) : "";
    if (calls)
      report().row(site.kernel, site.function->name(), callee, site.addressText(), source, how, calls, lanes);
  }

  void exit() override {
    for (const auto &site : read(hooks::direct)) {
      const std::string &name = names[{site.kernel, *site.function->callee(*site.instr)}];
      row(site, name, site.instr->is(luthier::Property::Call) ? "direct" : "jump", site.value[0], site.value[1]);
    }
    for (const auto &site : read(hooks::indirect)) {
      std::map<uint64_t, unsigned> callees; // in the order of the code, not in that of their first calls
      for (unsigned n = 0; n < call_graph::kCallees; ++n)
        callees.try_emplace(site.value[3 * n], n);
      for (const auto &[callee, n] : callees) {
        const std::string name = callee ? site.function->functionAt(callee) : "";
        row(site, name.empty() ? "(not in this code object)" : name, "pointer", site.value[3 * n + 1],
            site.value[3 * n + 2]);
      }
    }
    for (const auto &site : read(hooks::others))
      row(site, "(others)", "pointer", site.value[0], site.value[1]);
  }
};
LUTHIER_TOOL(CallGraph)
