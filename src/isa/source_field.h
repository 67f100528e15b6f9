// Fields of the machine code that LLVM's operands do not fully show. It gives the values of literals, but does not tell
// them from inline constants of the same value; and some immediates come as they are encoded. Included only by sources
// of this layer.
#pragma once

#include "isa/form.h"
#include "isa/target.h"

#include <cstdint>
#include <cstring>

namespace luthier::isa {

inline uint32_t wordAt(const uint8_t *bytes) {
  uint32_t word;
  memcpy(&word, bytes, sizeof word);
  return word;
}

/// Whether the source of this role is a literal, as its field says.
inline bool isLiteral(LiteralField field, Role role, const uint8_t *bytes) {
  const unsigned source = static_cast<unsigned>(role) - static_cast<unsigned>(Role::Source0);
  switch (field) {
  case LiteralField::Scalar:
    return source < 2 && (wordAt(bytes) >> (8 * source) & 0xff) == 0xff;
  case LiteralField::Vop:
    return source == 0 && (wordAt(bytes) & 0x1ff) == 0xff;
  case LiteralField::Vop3:
    return source < 3 && (wordAt(bytes + 4) >> (9 * source) & 0x1ff) == 0xff;
  case LiteralField::Dual:
    return (role == Role::Source0 && (wordAt(bytes) & 0x1ff) == 0xff) ||
           (role == Role::Source0Y && (wordAt(bytes + 4) & 0x1ff) == 0xff);
  case LiteralField::None:
    break;
  }
  return false;
}

inline int64_t signExtended(int64_t value, unsigned bits) {
  const unsigned shift = 64 - bits;
  return static_cast<int64_t>(static_cast<uint64_t>(value) << shift) >> shift;
}

/// A register operand, and which half of it where it has 16 bits. `half` is of its form.
struct RegisterOperand {
  RegRange regs;
  bool high;
};
inline RegisterOperand registerOperand(const RegisterRow &row, bool half) {
  RegisterOperand result = {{static_cast<Reg>(row.first), row.count}, row.high};
  constexpr unsigned kHigh = 128;
  if (half && isVector(result.regs.first) && number(result.regs.first) >= number(Reg::V0) + kHigh) {
    result.regs.first = static_cast<Reg>(number(result.regs.first) - kHigh);
    result.high = true;
  }
  return result;
}

inline bool hasFlatOffset(MemorySpace space) {
  return space == MemorySpace::Flat || space == MemorySpace::Global || space == MemorySpace::Scratch;
}
/// The immediate offset of FLAT, GLOBAL and SCRATCH, of which LLVM has the field.
inline int64_t flatOffset(const Target &target, MemorySpace space, int64_t value) {
  const unsigned bits = target.flatOffsetBits;
  if (bits == 0)
    return 0;
  const bool hasSign = space != MemorySpace::Flat || target.signedFlatOffset;
  return hasSign ? signExtended(value, bits) : value & ((int64_t{1} << (bits - 1)) - 1);
}

} // namespace luthier::isa
