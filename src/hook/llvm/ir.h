// Small operations on LLVM's intermediate code. Included only by sources of this layer.
#pragma once

#include "hook/llvm/llvm_support.h"

#include <llvm/IR/IRBuilder.h>

#include <vector>

namespace luthier::hook {

inline constexpr unsigned kPrivateSpace = 5; ///< LLVM's address space of local variables
/// The name of local variables that stand for what a fragment is given or leaves.
inline constexpr const char *kPortVariable = "port";

/// A value of `type` from the registers that hold it, and back. Smaller values are in the lower bits of one; an array
/// is of 32-bit words.
llvm::Value *fromDwords(llvm::IRBuilder<> &builder, const std::vector<llvm::Value *> &dwords, llvm::Type *type);
std::vector<llvm::Value *> toDwords(llvm::IRBuilder<> &builder, llvm::Value *value, unsigned count);

/// Makes users of `instruction` use the value that the first active lane has, unless it is an aggregate.
void makeUniform(llvm::Instruction &instruction);

/// The same of conditions that become numbers which a function returns in scalar registers: LLVM makes such numbers in
/// vector registers, and then has no way to get them out.
void makeReturnedConditionsUniform(llvm::Function &function);

/// Stops the kernel, as a failed assertion does (luthier/hostcall.h). LLVM does not know that nothing comes after it.
void createStop(llvm::IRBuilder<> &builder);

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

/// Undoes casts of a pointer to LDS into one to device memory: functions of luthier/hook.h take all memory for that.
/// False when the address is used in a way that cannot be followed.
bool keepInLds(llvm::Value &pointer);

} // namespace luthier::hook
