// Logarithms of how many lanes store.
#include "form_math_hooks.h"
#include "stores.h"

struct Math : luthier::Tool {
  void start() override { report().columns({"kernel", "lanes", "waves", "logarithms", "letters"}); }
  void instrument(luthier::Kernel &kernel, luthier::Site at) override {
    forEachStore(kernel, [&](const luthier::Instr &store) { at.before(store).call(hooks::count, 0u); });
  }
  void finished(const luthier::Launch &launch) override {
    const std::vector<uint64_t> waves = launch.read(hooks::histogram);
    for (size_t n = 0; n < waves.size() && launch.instrumented(); ++n)
      if (waves[n])
        report().row(launch.kernel(), n + 1, waves[n], uint64_t{0}, uint64_t{0});
    if (launch.instrumented())
      report().row(launch.kernel(), 0, 0, launch.read(hooks::logarithms), launch.read(hooks::letters));
  }
};
LUTHIER_TOOL(Math)
