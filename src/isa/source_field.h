// Fields of the machine code that LLVM's operands do not fully show. It gives the values of literals, but does not tell
// them from inline constants of the same value; and some immediates come as they are encoded. Included only by sources
// of this layer.
#pragma once

#include "isa/form.h"

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
  case LiteralField::Dual: // SRC0 of both halves are at the same place of their dwords
    return (wordAt(bytes) & 0x1ff) == 0xff || (wordAt(bytes + 4) & 0x1ff) == 0xff;
  case LiteralField::None:
    break;
  }
  return false;
}

inline int64_t signExtended(int64_t value, unsigned bits) {
  const unsigned shift = 64 - bits;
  return static_cast<int64_t>(static_cast<uint64_t>(value) << shift) >> shift;
}

inline bool hasFlatOffset(MemorySpace space) {
  return space == MemorySpace::Flat || space == MemorySpace::Global || space == MemorySpace::Scratch;
}
/// The immediate offset of FLAT, GLOBAL and SCRATCH, of which LLVM has the field: `bits` are the target's
/// flatOffsetBits. FLAT's own has no sign, and one bit less.
inline int64_t flatOffset(MemorySpace space, unsigned bits, int64_t value) {
  if (bits == 0)
    return 0;
  return space == MemorySpace::Flat ? value & ((int64_t{1} << (bits - 1)) - 1) : signExtended(value, bits);
}

} // namespace luthier::isa
