// LLVM's passes and its code generator. Included only by sources of this layer.
#pragma once

#include "hook/fragment.h"
#include "hook/llvm/llvm_support.h"
#include "isa/target.h"

#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <vector>

namespace luthier::hook {

Result<std::unique_ptr<llvm::TargetMachine>> createTargetMachine(const isa::Target &target, unsigned waveSize);

/// Inlines what is to be inlined and folds constants, so that what the hook asks for can be read off its calls.
void simplify(llvm::Module &module, llvm::TargetMachine &machine);

/// Optimises the wrapper and compiles it to an ELF object. An error names the hook.
Result<std::vector<char>> generateObject(llvm::Module &module, llvm::TargetMachine &machine, const Hook &hook);

/// Takes code and relocations out of the object.
Result<void> readObject(const std::vector<char> &object, const Hook &hook, Fragment &fragment);

} // namespace luthier::hook
