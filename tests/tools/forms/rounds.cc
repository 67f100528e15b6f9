// Rounds of loops; calls through pointers.
#include "form_rounds_hooks.h"

struct Rounds : luthier::Tool {
  void start() override { report().columns({"kernel", "headers", "edges", "calls", "named", "unnamed"}); }
  void instrument(luthier::Kernel &kernel, luthier::Site at) override {
    for (const luthier::Function &function : kernel.functions()) {
      for (const luthier::Loop &loop : function.loops()) {
        if (loop.header->number() == 0) // a call begins it, and no edge
          continue;
        at.entry(*loop.header).call(hooks::header);
        for (const auto *list : {&loop.entries, &loop.backEdges})
          for (const luthier::BlockEdge &edge : *list)
            at.edge(edge).call(hooks::edge);
      }
      for (const luthier::Instr &instr : function.instrs())
        if (instr.is(luthier::Property::Call)) {
          at.before(instr).call(hooks::call);
          if (!function.callee(instr))
            at.before(instr).call(hooks::byPointer, luthier::arg::callee());
        }
    }
  }
  void finished(const luthier::Launch &launch) override {
    uint32_t named = 0, unnamed = 0;
    for (const auto &site : read(hooks::callee))
      if (site.value && site.kernel == launch.kernel().id())
        ++(launch.kernel().functionAt(site.value).empty() ? unnamed : named);
    if (launch.instrumented())
      report().row(launch.kernel(), launch.read(hooks::headers), launch.read(hooks::edges), launch.read(hooks::calls),
                   named, unnamed);
  }
};
LUTHIER_TOOL(Rounds)
