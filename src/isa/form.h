// What is known about each form of each instruction before a single operand is looked at.
//
// LLVM tells encodings of one instruction apart (VOP2, VOP3, SDWA, with and without an address register, per
// generation): 40,000 forms. A row says which portable opcode a form is, what it does and which of LLVM's operands are
// what, so that decoding is looking up and copying. The rows are written at build time (generate/), where names may be
// taken apart at leisure, and are shared: forms that agree have one row.
#pragma once

#include "luthier/property.h"
#include "luthier/reg.h"

#include <cstdint>
#include <span>

namespace luthier::isa {

/// What an operand is for.
enum class Role : uint8_t {
  Other,
  Destination,
  Destination1, ///< v_swap_b32's second
  Source0,      ///< where a literal may stand: the number is that of the encoding's field
  Source1,
  Source2,
  Constant,  ///< a literal by the form's nature: v_madak_f32
  Immediate, ///< SIMM16 that is none of the following
  BranchTarget,
  HardwareRegister,
  VectorAddress,
  ScalarBase, ///< saddr, sbase, srsrc
  ScalarOffset,
  Offset,
  Offset0,
  Offset1,
  Data,
  Data1,
  Gds,
  Source0Modifiers,
  Source1Modifiers,
  Source2Modifiers,
  Clamp,
  OutputModifier, ///< omod
  DppControl,
  Dpp8, ///< the lane that each of eight reads
  RowMask,
  BankMask,
  BoundControl,
  FetchInactive, ///< fi
  DestinationSelect,
  DestinationUnused,
  Source0Select,
  Source1Select,
  Tfe,
  CachePolicy, ///< GLC is bit 0
  Format,      ///< of typed buffers
  Cbsz,
  Abid,
  Blgp,
  IndexModes,   ///< of s_set_gpr_idx_on
  DestinationY, ///< of a VOPD's second half, and its sources; those of the first half are as without one
  Source0Y,
  Source1Y,
  Source2Y,
};

enum class OperandShape : uint8_t {
  Value,    ///< a register, an inline constant or a literal
  Constant, ///< always a literal
  Number,   ///< an immediate
  Modifier,
};

struct OperandForm {
  uint8_t index; ///< in LLVM's list
  Role role;
  OperandShape shape;
  bool written;
  bool read;
  /// 16 bits in a short encoding of gfx11 and later: VGPRs from 128 on stand for high halves of those from 0 on.
  bool half = false;

  bool operator==(const OperandForm &) const = default;
};

/// Where the form's source fields are, to tell a literal from an inline constant of the same value.
enum class LiteralField : uint8_t {
  None,
  Scalar, ///< SSRC0 and SSRC1, eight bits each from bit 0 on
  Vop,    ///< SRC0, nine bits
  Vop3,   ///< three fields of nine bits in the second dword
  Dual,   ///< SRC0 of both halves of a VOPD, nine bits of each dword
};

/// What must be looked at in an instruction of this form, beyond its operands.
enum FormFlag : uint32_t {
  kLdsLimitInM0 = 1u << 0,   ///< reads M0 up to gfx8
  kSdwa = 1u << 1,           ///< keeps parts of its destination as DestinationUnused, if it has one, says
  kDpp = 1u << 2,            ///< keeps its destination where BoundControl and the masks say
  kKeepsHalf = 1u << 3,      ///< 16-bit results that leave the other half alone on gfx9 and later
  kKeepsHalf10 = 1u << 4,    ///< ... on gfx10 and later
  kWritesHardware = 1u << 5, ///< s_setreg
  kReadsHardware = 1u << 6,  ///< s_getreg
  kIndexedRead = 1u << 7,    ///< the register read is the one named plus M0
  kIndexedWrite = 1u << 8,
  kScalar64 = 1u << 9, ///< names EXEC or VCC as a pair even in wave32: s_and_saveexec_b64
  kFork = 1u << 10,    ///< keeps a stack of EXEC and PC in SGPRs
  kTwoOffsets = 1u << 11,
  kStride64 = 1u << 12, ///< the two offsets count in units of 64 elements
  kToLds = 1u << 13,
  kIdxen = 1u << 14,
  kOffen = 1u << 15,
  kIndexOn = 1u << 16,     ///< switches indexing of VGPRs on
  kIndexOff = 1u << 17,    ///< and off
  kDppMasks = 1u << 18,    ///< of DPP with 16 lanes to a row; DPP8 has none
  kTfe = 1u << 19,         ///< loads that may leave registers alone: they report a fault, or M0 leaves some out
  kSelectsHalf = 1u << 20, ///< VOP3 with a 16-bit result: bit 14 says which half, even where assembly has no op_sel
  kPacked = 1u << 21,      ///< VOP3P: modifiers are for both halves of a source, op_sel_hi and neg_hi among them
  kOpSelField = 1u << 22,  ///< VOP3 that has op_sel, bits 11 to 14, even where assembly has not
};

struct Form {
  uint16_t opcode; ///< luthier::Opcode
  uint8_t size;    ///< in bytes, without a literal that may follow; 0: LLVM's own, in no machine code
  LiteralField literal;
  uint32_t properties;
  uint32_t flags;
  MemorySpace space;
  uint8_t bytes; ///< of memory per lane
  uint8_t operandCount;
  uint8_t implicitReadCount;
  uint8_t implicitWriteCount;
  uint32_t operands;  ///< of the first in the shared list
  uint16_t implicits; ///< of the first read in the shared list, the writes behind

  bool operator==(const Form &) const = default;
};

/// One of LLVM's registers. FLAT_SCRATCH stands for either place where it can be.
struct RegisterRow {
  uint16_t first;
  uint8_t count;
  uint8_t code; ///< the source number of one that is computed and not stored (vccz, src_shared_base), else 0
  bool high;    ///< the upper 16 bits of it
};

// The tables, by LLVM's numbers of instructions and registers.
extern const std::span<const uint16_t> kFormOfInstruction; ///< an index into kForms
extern const std::span<const Form> kForms;
extern const std::span<const OperandForm> kOperandForms;
extern const std::span<const RegRange> kImplicitRegisters;
extern const std::span<const RegisterRow> kRegisterRows;

inline const Form &formOf(uint32_t llvmOpcode) { return kForms[kFormOfInstruction[llvmOpcode]]; }
inline std::span<const OperandForm> operandsOf(const Form &form) {
  return kOperandForms.subspan(form.operands, form.operandCount);
}

} // namespace luthier::isa
