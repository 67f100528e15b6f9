// An instruction set architecture, as HSA names it: what code must be compiled for to run on an agent.
#pragma once

#include "hsa/handle.h"
#include "isa/target.h"

#include <array>

namespace luthier::hsa {

class Isa : public Handle<Isa, hsa_isa_t> {
public:
  static constexpr std::string_view kWhat = "ISA";
  using Handle::Handle;

  /// "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-".
  static Result<Isa> fromName(std::string_view name);

  Result<std::string> name() const;
  /// The part of the name behind the triple: "gfx90a:sramecc+:xnack-".
  Result<std::string> targetId() const;
  /// Luthier's row for it; an error names an ISA that Luthier does not know.
  Result<const luthier::isa::Target *> target() const;

  /// Lanes of a wave. ROCr 5.2.3 says 64 for every ISA, including those that have 32 as well.
  Result<std::vector<uint32_t>> wavefrontSizes() const;
  Result<uint32_t> maxWorkgroupSize() const;
  Result<std::array<uint16_t, 3>> maxWorkgroup() const;
  Result<hsa_dim3_t> maxGrid() const;
  Result<bool> hasFastF16() const;
  /// Whether code for it can be of the profile.
  Result<bool> supports(hsa_profile_t profile) const;
};

} // namespace luthier::hsa
