// An instruction by the roles of its operands: what an interpreter fills its records from.
//
// Nothing in it depends on an encoding. Registers are Reg, whatever number a generation gives them (M0 and the null
// register change places); a source tells inline constants, which an instruction's types give a meaning, from literals;
// modifiers mean the same in VOP3, SDWA and DPP. Instr (isa/decode.h) is for those who want to know what an instruction
// reads and writes; this is for those who execute it.
#pragma once

#include "isa/form.h"
#include "luthier/opcode.h"

#include <cstdint>
#include <span>

namespace luthier::isa {

enum class SourceKind : uint8_t {
  Register,
  Computed, ///< `value` is its number in the encoding: isa::src::kSharedBase and the like
  Integer,  ///< an inline constant from -16 to 64
  Float,    ///< an inline constant: `value` is its number, from isa::src::kFloatFirst on
  Literal,  ///< a dword behind the instruction
  Number,   ///< no source: an offset, a modifier, a selection
};

/// Bits of the modifiers of a source.
enum SourceModifier : uint8_t {
  kNegate = 1,
  kAbsolute = 2,
  kNegateHigh = 2,  ///< kPacked: the high half; there is no absolute value
  kHighToLow = 4,   ///< kPacked: op_sel, the low result takes the source's high half
  kHighToHigh = 8,  ///< kPacked: op_sel_hi, the high result does
  kSignExtend = 16, ///< SDWA
};

struct EncodedOperand {
  Role role;
  SourceKind kind;
  bool written;
  RegRange regs;
  int64_t value;
};

struct EncodedInstr {
  static constexpr unsigned kMost = 24;

  Opcode opcode;
  Opcode first, second; ///< what the halves of a VOPD do, by their names without it
  uint8_t size;         ///< in bytes, with a literal
  MemorySpace space;
  uint8_t count;
  /// VOP3's op_sel, and what short encodings have in its place: a bit per source, its high half; bit 3: the result's.
  uint8_t opSel;
  uint32_t properties;
  uint32_t flags; ///< FormFlag
  const Form *form;
  EncodedOperand list[kMost]; ///< in the order of assembly

  std::span<const EncodedOperand> operands() const { return {list, count}; }
  bool is(Property property) const { return (properties & static_cast<uint32_t>(property)) != 0; }
  /// Whether it writes `reg` without an operand that says so.
  bool writesImplicitly(Reg reg) const;
};

struct LlvmMc;
struct Target;

/// Fills `out` from the instruction that `bytes` start with. False if they do not.
bool decodeEncoded(const LlvmMc &mc, const Target &target, std::span<const uint8_t> bytes, uint64_t address,
                   EncodedInstr &out);

} // namespace luthier::isa
