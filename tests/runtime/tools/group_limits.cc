// Counts lanes in 40,000 bytes of LDS, more than some launches leave; or wants half a gigabyte for each workgroup.
#include "group_limits_hooks.h"
#include <luthier/tool.h>

namespace {

struct GroupLimits : luthier::Tool {
  bool memory = flag("memory", "want memory instead of LDS");

  void start() override { report().columns({"kernel", "launch", "lanes"}); }
  void instrument(luthier::Kernel &kernel, luthier::Site at) override {
    if (memory) {
      at.entry(kernel).call(hooks::touch);
      return;
    }
    at.entry(kernel).call(hooks::count);
    at.exit(kernel).call(hooks::flush);
  }
  void finished(const luthier::Launch &launch) override {
    report().row(launch.kernel().name(), launch.number(), launch.read(hooks::lanes));
  }
};

} // namespace

LUTHIER_TOOL(GroupLimits)
