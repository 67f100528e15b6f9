// LLVM's passes and its code generator. Included only by sources of this layer.
#pragma once

#include "hook/fragment.h"
#include "hook/llvm/llvm_support.h"
#include "isa/target.h"

#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <vector>

namespace luthier::hook {

/// `frame`: local variables are in scratch (frame.h).
Result<std::unique_ptr<llvm::TargetMachine>> createTargetMachine(const isa::Target &target, unsigned waveSize,
                                                                 bool frame);

/// Inlines all calls and folds constants, so that what the hook asks for can be read off its calls.
Result<void> simplify(llvm::Module &module, llvm::TargetMachine &machine);

/// Optimises the wrapper.
void optimize(llvm::Module &module, llvm::TargetMachine &machine);

struct GeneratedObject {
  std::vector<char> elf;
  uint64_t stackBytes = 0; ///< that LLVM has put where the kernel has its stack: the code cannot be used
};

/// Compiles the optimised wrapper. An error names the hook.
Result<GeneratedObject> generateObject(llvm::Module &module, llvm::TargetMachine &machine, const Hook &hook);

/// Takes code and relocations out of the object.
Result<void> readObject(const std::vector<char> &object, const Hook &hook, Fragment &fragment);

} // namespace luthier::hook
