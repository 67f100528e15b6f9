// What a HookModule keeps: the bitcode and what was found in it. Shared with the compiler of fragments.
#pragma once

#include "hook/module.h"

#include <array>
#include <map>

namespace luthier::hook {

struct HookModule::Impl {
  std::string origin;
  std::vector<std::byte> bitcode;
  std::string digest; ///< of the bitcode
  std::vector<Hook> hooks;
  std::vector<Variable> variables;

  // Derived from the above (HookModule::make).
  std::map<std::string, uint32_t, std::less<>> variableOfSymbol; ///< index into `variables`
  std::array<Block, kStorages> blocks = {};
};

/// Registers that a variable takes, if it is kept in such.
inline unsigned registersOf(const Variable &variable) { return static_cast<unsigned>((variable.size + 3) / 4); }
inline constexpr uint64_t kMaxBytesInRegisters = 64;
inline constexpr uint64_t kMaxVariableBytes = 1ull << 31;     ///< addends are 32 bits with a sign
inline constexpr uint64_t kMaxVariableAlignment = 1ull << 32; ///< LLVM has none that is larger
inline constexpr size_t kMaxVariables = 65535;                ///< Port::index names them
/// What the compiler calls a hook together with its predicate.
inline constexpr std::string_view kConditionalSymbol = "luthier.conditional";
inline constexpr uint8_t kMaxParameterDwords = 16; ///< of a vector
inline constexpr uint8_t kMaxStructureDwords = 32;

} // namespace luthier::hook
