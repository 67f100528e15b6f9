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

  Result<std::string> name() const;
  /// The part of the name behind the triple: "gfx90a:sramecc+:xnack-".
  Result<std::string> targetId() const;
  /// Luthier's row for it; an error names an ISA that Luthier does not know.
  Result<const luthier::isa::Target *> target() const;

  Result<uint32_t> maxWorkgroupSize() const;
  Result<std::array<uint16_t, 3>> maxWorkgroup() const;
  Result<hsa_dim3_t> maxGrid() const;
};

} // namespace luthier::hsa
