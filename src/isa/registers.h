// The registers that an instruction names, by register file.
#pragma once

#include <cstdint>

namespace luthier::isa {

enum class RegisterFile : uint8_t {
  Scalar, ///< by number in the encoding: 102 FLAT_SCRATCH, 106 VCC, 124 M0, 126 EXEC
  Vector,
  Accumulator,
  Scc,
};

/// `count` consecutive registers from `first` on.
struct RegisterUse {
  RegisterFile file = RegisterFile::Scalar;
  uint16_t first = 0;
  uint16_t count = 1;
  bool read = false;
  bool write = false;
  bool implicit = false; ///< not in the assembly text

  bool operator==(const RegisterUse &) const = default;
};

} // namespace luthier::isa
