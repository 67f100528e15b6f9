// From a kernel object to an instrumented kernel: finds the code, asks the tools, has it rewritten and loaded.
//
// Whatever fails, the result is a kernel without a variant, which runs unmodified, and its account says why.
#pragma once

#include "hsa/events.h"
#include "runtime/instrumented_kernel.h"
#include "runtime/kernel_filter.h"
#include "runtime/kernel_identity.h"
#include "runtime/loaded_tools.h"
#include "runtime/progress.h"
#include "runtime/run_details.h"

#include <memory>
#include <unordered_map>

namespace luthier::runtime {

/// Everything under the lock of tools.
class KernelInstrumenter {
public:
  KernelInstrumenter(LoadedTools &tools, RunAccount &account, RunDetails &details, KernelIdentities &identities,
                     ToolMemory &memory, SiteValues &siteValues, HookModules &modules, Progress &progress)
      : tools_(tools), account_(account), details_(details), identities_(identities), memory_(memory),
        siteValues_(siteValues), modules_(modules), progress_(progress) {}

  struct Options {
    KernelFilter filter;
    bool runtimeKernels = false; ///< HIP's own too
    rewrite::HookForm hookForm = rewrite::HookForm::Auto;
    bool strict = false; ///< a site that is refused is a failure
  };
  /// Before the first kernel.
  void configure(Options options);

  /// Never null.
  std::shared_ptr<InstrumentedKernel> instrument(uint64_t kernelObject, const InstrumentedKernel::Choice &choice = {});
  /// Forgets what is known of the code of an executable.
  void forget(hsa_executable_t executable);

private:
  struct Object {
    hsa::SharedCode code;
    uint64_t digest = 0;
    std::shared_ptr<ObjectView> view = {}; ///< when a kernel of it was first wanted
  };
  Object &objectOf(const hsa::SharedCode &code);
  Result<std::shared_ptr<ObjectView>> viewOf(Object &object);
  /// Has the tools insert their hooks. Why there are none, if there are none.
  std::string askTools(InstrumentedKernel &kernel);

  LoadedTools &tools_;
  RunAccount &account_;
  RunDetails &details_;
  KernelIdentities &identities_;
  ToolMemory &memory_;
  SiteValues &siteValues_;
  HookModules &modules_;
  Progress &progress_;
  Options options_;
  std::unique_ptr<hook::FragmentCompiler> compiler_;
  std::unordered_map<uint64_t, Object> objects_; ///< by number of the captured code
};

} // namespace luthier::runtime
