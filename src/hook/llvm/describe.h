// Finds the hooks and variables in bitcode, and refuses what no fragment can have. Included only by sources of this
// layer.
#pragma once

#include "hook/llvm/llvm_support.h"
#include "hook/module.h"

namespace luthier::hook {

/// Fills in `impl.hooks` and `impl.variables`. An error names the hook or the variable.
Result<void> describe(llvm::Module &module, HookModule::Impl &impl);

} // namespace luthier::hook
