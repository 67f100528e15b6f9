// What a HookModule keeps: the bitcode and what was found in it. Shared with the compiler of fragments.
#pragma once

#include "hook/module.h"

#include <map>

namespace luthier::hook {

struct HookModule::Impl {
  std::string origin;
  std::vector<std::byte> bitcode;
  std::string digest; ///< of the bitcode
  std::vector<Hook> hooks;
  std::vector<Variable> variables;
  std::map<std::string, uint32_t, std::less<>> variableOfSymbol; ///< index into `variables`
  uint64_t perLaunchBytes = 0;
  uint64_t perLaunchAlignment = 1;
};

/// Scalar registers that a variable of Storage::PerWave takes.
inline unsigned waveDwords(const Variable &variable) { return static_cast<unsigned>((variable.size + 3) / 4); }
inline constexpr uint64_t kMaxPerWaveBytes = 64;

} // namespace luthier::hook
