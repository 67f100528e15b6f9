// Turns a hook into a function of the shader convention whose arguments and results are the ports of a fragment.
// Included only by sources of this layer.
//
// Arguments marked inreg arrive in s0, s1, ..., the others in v0, v1, ...; results that are integers leave in s0, s1,
// ..., floats in v0, v1, ... So all inputs come first in both lists: what goes in and out has the same registers, and
// what only goes in is still there at the end.
// Everything a hook asks for (registers, variables per wave, values of the launch) becomes a local variable that starts
// as an argument and ends as a result; LLVM's passes remove the variables.
#pragma once

#include "hook/fragment.h"
#include "hook/llvm/llvm_support.h"
#include "hook/module.h"
#include "isa/target.h"

#include <llvm/IR/IRBuilder.h>

#include <span>
#include <vector>

namespace luthier::hook {

inline constexpr std::string_view kWrapperName = "luthier.fragment";
/// Device variables are called this and their number, so that relocations say which.
inline constexpr std::string_view kVariablePrefix = "luthier.variable.";

struct WrapRequest {
  const HookModule &module;
  const Hook &hook;
  std::span<const Source> sources;
  const isa::Target &target;
  unsigned waveSize;
  bool frame = false; ///< its local variables do not fit into registers
  /// The two that `hook` is made of, if it is conditional().
  const Hook *predicate = nullptr, *guarded = nullptr;
};

struct Ports {
  std::vector<Port> inputs, outputs;
};

/// Adds a function that calls the guarded hook where the predicate holds, if there is one.
Result<void> addConditional(llvm::Module &module, const WrapRequest &request);

/// Makes the hook the only function with a body and inlines all it calls. What hook.h declares stays a call.
Result<void> isolateHook(llvm::Module &module, const WrapRequest &request);

/// Wraps the isolated (and simplified) hook; the wrapper is what is left.
Result<Ports> wrapHook(llvm::Module &module, const WrapRequest &request);

/// A part of an address that a source needs as an input.
struct AddressPart {
  Part part;
  bool scalar;
  uint8_t dwords;
};
Result<std::vector<AddressPart>> addressParts(const Source &source, const isa::Target &target);
bool isAddress(SourceKind kind);
/// Bits of the address.
unsigned addressBits(SourceKind kind);
/// The effective address. `parts` are values of 32 bits per dword, in the order of addressParts.
llvm::Value *buildAddress(llvm::IRBuilder<> &builder, const Source &source, const isa::Target &target,
                          std::span<const std::vector<llvm::Value *>> parts);
/// The lane's number.
llvm::Value *buildLaneId(llvm::IRBuilder<> &builder);

} // namespace luthier::hook
