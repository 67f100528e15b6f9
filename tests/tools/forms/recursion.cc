// Lanes that store.
#include "form_recursion_hooks.h"
#include "stores.h"

struct Recursion : luthier::Tool {
  void start() override { report().columns({"kernel", "lanes"}); }
  void instrument(luthier::Kernel &kernel, luthier::Site at) override {
    uint32_t site = 0;
    forEachStore(kernel, [&](const luthier::Instr &store) { at.before(store).call(hooks::count, site++); });
  }
  void finished(const luthier::Launch &launch) override {
    if (launch.instrumented())
      report().row(launch.kernel(), launch.read(hooks::lanes));
  }
};
LUTHIER_TOOL(Recursion)
