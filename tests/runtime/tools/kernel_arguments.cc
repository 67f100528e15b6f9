// The first argument of each launch: as the host finds it when the kernel is launched, and as a hook finds it
// (kernel_arguments.hip).
#include "kernel_arguments_hooks.h"

#include <map>

struct KernelArguments : luthier::Tool {
  std::map<uint64_t, uint64_t> submitted; ///< by launch

  void start() override { report().columns({"kernel", "launch", "gpu", "host", "hook"}); }

  void instrument(luthier::Kernel &kernel, luthier::Site at) override {
    const std::vector<luthier::KernelArgument> all = kernel.arguments();
    if (all.empty() || all[0].hidden)
      return;
    // At the end, where the registers that had the address are long gone.
    if (all[0].size == 4)
      at.exit(kernel).call(hooks::look32, luthier::arg::kernarg(0));
    else
      at.exit(kernel).call(hooks::look64, luthier::arg::kernarg(0));
  }

  luthier::Decision launch(luthier::Launch &launch) override {
    const std::vector<std::byte> all = launch.arguments();
    const luthier::KernelArgument first = launch.kernel().arguments()[0];
    uint64_t &value = submitted[launch.number()];
    if (first.offset + first.size <= all.size() && first.size <= sizeof value)
      __builtin_memcpy(&value, all.data() + first.offset, first.size);
    return luthier::Decision::Instrumented;
  }

  void finished(const luthier::Launch &launch) override {
    report().row(launch.kernel(), launch.number(), launch.gpu(), submitted[launch.number()], launch.read(hooks::seen));
  }
};
LUTHIER_TOOL(KernelArguments)
