// Types of hooks' parameters and of variables, as the host side of a tool names them.
//
// Bitcode has sizes but no signs, and no names of structures that would mean anything to the host. The parameters of a
// hook are in its mangled name, so theirs are exact: what the source calls int32_t is int32_t. Variables have nothing
// of the kind: integers are unsigned (the tool casts them if it must), structures are bytes. Included only by sources
// of this layer.
#pragma once

#include <llvm/IR/DataLayout.h>
#include <llvm/IR/Function.h>

#include <string>
#include <vector>

namespace luthier::hook {

/// One per parameter. Numbers as they are; any pointer is "const void *"; a vector is "std::array<uint32_t, N>" of the
/// registers it takes. Where there is no mangled name (extern "C"), or it names a type that only the source knows (an
/// enumeration), integers are unsigned.
std::vector<std::string> hostTypesOfParameters(const llvm::Function &function);

/// "uint64_t", "float", "uint32_t[64]"; arrays of arrays are one array; "std::array<std::byte, 24>" for structures.
std::string hostTypeOfVariable(const llvm::Type &type, const llvm::DataLayout &layout);

} // namespace luthier::hook
