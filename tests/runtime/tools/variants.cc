// Instruments kernels in three ways, and lets launches take turns: instructions as they are, ten times as many, none.
// Says which kernels were loaded.
#include "variants_hooks.h"
#include <luthier/tool.h>

namespace {

struct Variants : luthier::Tool {
  unsigned ways = static_cast<unsigned>(number("ways", 3, "of instrumenting"));
  std::vector<std::string> kernels;

  void start() override { report().columns({"kernel", "launch", "variant", "instructions"}); }
  void loaded(const luthier::CodeObject &object) override {
    for (const std::string &name : object.kernels())
      kernels.push_back(name + " in object " + std::to_string(object.number()) + " for " + object.target() +
                        (object.uri().empty() ? "" : " from a file"));
  }
  void instrument(luthier::Kernel &kernel, luthier::Site at) override {
    report().row("instrument: " + kernel.name(), 0, kernel.variant(), 0);
    if (kernel.variant() == 2)
      return;
    for (const luthier::Function &function : kernel.functions())
      for (const luthier::Block &block : function.blocks())
        at.entry(block).call(hooks::count, block.size() * (kernel.variant() == 1 ? 10 : 1));
  }
  unsigned variant(const luthier::Launch &launch) override {
    return static_cast<unsigned>(launch.numberOfKernel() % ways);
  }
  void finished(const luthier::Launch &launch) override {
    report().row(launch.kernel().name(), launch.numberOfKernel(), launch.kernel().variant(),
                 launch.read(hooks::instructions));
  }
  void exit() override {
    for (const std::string &name : kernels)
      report().row("loaded: " + name, 0, 0, 0);
  }
};

} // namespace

LUTHIER_TOOL(Variants)
