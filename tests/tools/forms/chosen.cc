// Stores: all, every 7th of each wave, those of every second wave, those of some lanes.
#include "form_chosen_hooks.h"
#include "stores.h"

struct Chosen : luthier::Tool {
  void start() override {
    report().columns({"kernel", "all", "sampled", "expected", "odd", "even and odd", "low", "high"});
  }
  void instrument(luthier::Kernel &kernel, luthier::Site at) override {
    at.entry(kernel).call(hooks::choose);
    forEachStore(kernel, [&](const luthier::Instr &store) {
      at.before(store).call(hooks::visit);
      at.before(store).call(hooks::sample).every(7, 0);
      at.before(store).call(hooks::whenOdd).when(hooks::odd);
      at.before(store).call(hooks::low).when(hooks::isLow);
      at.before(store).call(hooks::high).when(hooks::isHigh);
    });
    at.exit(kernel).call(hooks::finish, 7u);
  }
  void finished(const luthier::Launch &launch) override {
    if (launch.instrumented())
      report().row(launch.kernel(), launch.read(hooks::all), launch.read(hooks::sampled), launch.read(hooks::expected),
                   launch.read(hooks::ofOdd), launch.read(hooks::ofEven), launch.read(hooks::lowLanes),
                   launch.read(hooks::highLanes));
  }
};
LUTHIER_TOOL(Chosen)
