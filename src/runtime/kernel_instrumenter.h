// From a kernel object to an instrumented kernel: finds the code, asks the tools, has it rewritten and loaded.
//
// Whatever fails, the result is a kernel without a variant, which runs unmodified, and its account says why.
#pragma once

#include "hsa/interceptor.h"
#include "runtime/instrumented_kernel.h"
#include "runtime/kernel_filter.h"
#include "runtime/loaded_tools.h"

#include <memory>
#include <unordered_map>

namespace luthier::runtime {

/// Everything under the lock of tools.
class KernelInstrumenter {
public:
  KernelInstrumenter(LoadedTools &tools, RunAccount &account, ToolMemory &memory, HookModules &modules)
      : tools_(tools), account_(account), memory_(memory), modules_(modules) {}

  struct Options {
    KernelFilter filter;
    bool strict = false; ///< a site that is refused is a failure
  };
  /// Before the first kernel.
  void configure(Options options);

  /// Never null.
  std::shared_ptr<InstrumentedKernel> instrument(uint64_t kernelObject, const InstrumentedKernel::Choice &choice = {});
  /// Forgets what is known of the code of an executable.
  void forget(hsa_executable_t executable);

private:
  Result<std::shared_ptr<ObjectView>> viewOf(const hsa::SharedCode &code);
  /// Has the tools insert their hooks. Why there are none, if there are none.
  std::string askTools(InstrumentedKernel &kernel);

  LoadedTools &tools_;
  RunAccount &account_;
  ToolMemory &memory_;
  HookModules &modules_;
  Options options_;
  std::unique_ptr<hook::FragmentCompiler> compiler_;
  std::unordered_map<uint64_t, std::shared_ptr<ObjectView>> objects_; ///< by number of the captured code
};

} // namespace luthier::runtime
