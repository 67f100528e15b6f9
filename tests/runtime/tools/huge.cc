// A terabyte of variables.
#include "huge_hooks.h"
#include <luthier/tool.h>

namespace {
struct Huge : luthier::Tool {
  void instrument(luthier::Kernel &kernel, luthier::Site at) override { at.entry(kernel).call(hooks::count, 1u); }
};
} // namespace

LUTHIER_TOOL(Huge)
