// Functions of a file of hooks that call themselves, directly or through each other.
//
// Fragments cannot call. Functions of a cycle become one loop that keeps their activations in an array: a call stores
// the arguments and where to go on, and a return goes on there. The array is a local variable like any other
// (frame.h), so its size must be known: LUTHIER_RECURSION says how many activations there are at most. One more stops
// the kernel (s_trap 2). Included only by sources of this layer.
#pragma once

#include "hook/llvm/llvm_support.h"

#include <vector>

namespace luthier::hook {

/// What LUTHIER_RECURSION has said of a function, as its attribute.
inline constexpr const char *kRecursionAttribute = "luthier-recursion";
inline constexpr unsigned kMaxRecursion = 4096;

/// Functions that call each other, each of them itself in the end.
using Cycle = std::vector<llvm::Function *>;
std::vector<Cycle> cyclesOf(llvm::Module &module);

/// How many activations of these there are at most: the largest number that one of them states; 0 when none does.
/// An error names the function whose number is none.
Result<unsigned> recursionBound(const Cycle &cycle);

/// Replaces calls of functions that call themselves. Says whether there were any; an error names the function.
Result<bool> unwindRecursion(llvm::Module &module);

} // namespace luthier::hook
