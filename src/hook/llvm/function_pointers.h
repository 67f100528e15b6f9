// Pointers to functions within a file of hooks.
//
// Fragments have no addresses: they are copied to wherever they are needed. So a pointer to a function is a number, the
// same in all hooks of a file and in its variables, and a call through a pointer is a choice among the functions of its
// type. Included only by sources of this layer.
#pragma once

#include <llvm/IR/Module.h>

namespace luthier::hook {

/// Replaces addresses of functions that are defined in the module by numbers from 1 up, and calls through pointers by
/// calls of the functions that they may mean. A pointer that means none of them stops the kernel (s_trap 2). What there
/// is no function for stays as it was.
void numberFunctions(llvm::Module &module);

} // namespace luthier::hook
