// ROCm's device library in hooks: math functions (ocml), and what HIP's headers are made of (ockl).
//
// luthier_hook_bitcode links what a file of hooks calls of it. That is bitcode for any GPU; what it must know about one
// are constants, __oclc_*, which are set here when a fragment is compiled. And where HIP's headers ask for values of
// the launch (threadIdx.x), a hook gets them as luthier/hook.h does. Included only by sources of this layer.
#pragma once

#include "hook/llvm/llvm_support.h"
#include "isa/target.h"

namespace luthier::hook {

/// Whether a variable is one of the constants that this sets.
bool isLibraryConstant(std::string_view symbol);

/// Defines these for a target. Hooks keep denormals, round roots correctly and compute with NaNs and infinities.
void defineLibraryConstants(llvm::Module &module, const isa::Target &target, unsigned waveSize);

/// Makes the compiler's intrinsics for values of the launch calls of what luthier/hook.h declares.
void replaceLaunchIntrinsics(llvm::Module &module);

} // namespace luthier::hook
