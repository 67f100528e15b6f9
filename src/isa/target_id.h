// Target ids: a processor and the features that code was compiled for, "gfx90a:sramecc+:xnack-".
//
// A feature that is not named is "any": the code runs with the feature on or off. One that is named must be what the
// agent has (LLVM's AMDGPUUsage, "Target ID").
#pragma once

#include "support/result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace luthier::isa {

enum class Feature : uint8_t { Unsupported, Any, Off, On };

struct TargetId {
  std::string processor; ///< "gfx90a"
  Feature xnack = Feature::Any;
  Feature sramecc = Feature::Any;

  /// From text; also the older spelling "gfx906+sram-ecc-xnack" is understood.
  static Result<TargetId> parse(std::string_view text);
  /// From the e_flags of a code object of that version. Processors that are not known get a name made of the number.
  static TargetId fromElf(uint32_t flags, unsigned codeObjectVersion);

  std::string text() const; ///< the canonical spelling

  bool operator==(const TargetId &) const = default;
};

/// Whether code for `code` runs where `wanted` describes the agent, or, with features left open in `wanted`, whether it
/// answers a request for it.
bool compatible(const TargetId &code, const TargetId &wanted);

} // namespace luthier::isa
