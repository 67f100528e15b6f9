// Small operations on LLVM's intermediate code. Included only by sources of this layer.
#pragma once

#include "hook/llvm/llvm_support.h"

#include <llvm/IR/IRBuilder.h>

#include <vector>

namespace luthier::hook {

/// A value of `type` from the registers that hold it, and back. Smaller values are in the lower bits of one.
llvm::Value *fromDwords(llvm::IRBuilder<> &builder, const std::vector<llvm::Value *> &dwords, llvm::Type *type);
std::vector<llvm::Value *> toDwords(llvm::IRBuilder<> &builder, llvm::Value *value, unsigned count);

/// Calls of what luthier/hook.h declares.
std::vector<llvm::CallInst *> reservedCalls(llvm::Function &function);

/// What a function does with a variable.
struct VariableUse {
  bool written = false; ///< or its address goes somewhere
  bool atomic = false;
};
VariableUse useOf(const llvm::GlobalVariable &global);

/// Makes users of `from`, which points to a variable in memory, use `to`, which points to a local one. A cast of `to`
/// to the address space of `from` would not do: memory and local variables are known to be apart. False when the
/// address is used in a way that cannot be followed.
bool moveToLocal(llvm::Value &from, llvm::Value &to);

} // namespace luthier::hook
