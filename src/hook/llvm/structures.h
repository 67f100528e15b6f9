// Parameters of hooks that are structures.
//
// Clang passes a structure of up to 16 registers as its members, one parameter each, or packed into one or two numbers
// if it has at most 64 bits; a larger one by reference. So a hook's function has other parameters than its source. That
// is undone here: a hook has one parameter for each structure again, an array of 32-bit words with its bytes. Which
// parameters belong together, and where, is what the function's own start says: it stores them into the local variable
// that is the source's parameter. That is there as long as nobody has optimised the bitcode (docs/hooks.md); hooks of
// optimised bitcode have a parameter for each member.
#pragma once

#include "hook/llvm/llvm_support.h"

namespace luthier::hook {

/// Of such a parameter: the structure's size in bytes.
inline constexpr llvm::StringRef kBytesAttribute = "luthier-bytes";

/// Of all hooks of the module.
void joinStructures(llvm::Module &module);

} // namespace luthier::hook
