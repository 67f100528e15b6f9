// Asks for a hook that LLVM ends its process over.
#include "gives_up_hooks.h"
#include <luthier/tool.h>

namespace {
struct GivesUp : luthier::Tool {
  void instrument(luthier::Kernel &kernel, luthier::Site at) override {
    at.entry(kernel).call(hooks::onlyGfx10, luthier::arg::reg(luthier::vgpr(0)));
  }
};
} // namespace

LUTHIER_TOOL(GivesUp)
