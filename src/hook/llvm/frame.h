// Local variables that do not fit into registers: a frame of the hook's own in scratch.
//
// LLVM would put them where the kernel has its stack, at the start of the lane's scratch. So they are turned into plain
// private memory, at fixed distances from an address that the fragment is given (Port::Kind::Frame). Included only by
// sources of this layer.
#pragma once

#include "hook/fragment.h"
#include "hook/llvm/llvm_support.h"

namespace luthier::hook {

/// Whether it takes an element of a vector by a variable, for which LLVM may index registers: no fragment can.
bool indexesVector(const llvm::Instruction &instruction);

/// Replaces the local variables of an optimised wrapper. Returns how many bytes they take; what a wave hook reads back
/// is the same for all its lanes. An error names the hook.
Result<uint32_t> lowerLocals(llvm::Function &wrapper, llvm::Argument &frame, const Hook &hook);

} // namespace luthier::hook
