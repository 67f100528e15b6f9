// A tool with a bug: its hook writes where no memory is.
#include "wild_hooks.h"
#include <luthier/tool.h>

namespace {
struct Wild : luthier::Tool {
  void instrument(luthier::Kernel &kernel, luthier::Site at) override { at.entry(kernel).call(hooks::writeAnywhere); }
};
} // namespace

LUTHIER_TOOL(Wild)
