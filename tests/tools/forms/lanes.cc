// Lanes that store.
#include "form_lanes_hooks.h"
#include "stores.h"

struct Lanes : luthier::Tool {
  void start() override { report().columns({"kernel", "lanes", "wrong"}); }
  void instrument(luthier::Kernel &kernel, luthier::Site at) override {
    forEachStore(kernel, [&](const luthier::Instr &store) { at.before(store).call(hooks::count); });
  }
  void finished(const luthier::Launch &launch) override {
    if (launch.instrumented())
      report().row(launch.kernel(), launch.read(hooks::lanes), launch.read(hooks::wrong));
  }
};
LUTHIER_TOOL(Lanes)
