// Instructions of AMD GPU machine code, without any type of LLVM.
//
// An Instr is a view of one decoded instruction: where it is, what it is, what it touches. It belongs to a decoded
// sequence (isa/decode.h) and is valid as long as that is. Opcodes are the vendor's mnemonics: Opcode::V_ADD_F32 is
// v_add_f32 in any encoding (VOP2, VOP3, SDWA, DPP) of any generation. The enumeration is written at build time from
// the tables of the installed LLVM (luthier/opcode.h).
#pragma once

#include "luthier/opcode.h"
#include "luthier/property.h"
#include "luthier/reg.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace luthier {

struct Operand {
  OperandKind kind = OperandKind::Immediate;
  bool written = false; ///< a register that the instruction writes
  bool read = false;    ///< a register that it reads; both for v_fmac_f32's destination
  RegRange regs = {};   ///< none for sources that are computed and not kept in a register (src_vccz, src_shared_base)
  int64_t value = 0;    ///< for such sources: their number in the encoding
};

/// The parts that make an address. The effective address is formed as the manual says for the space; unused parts are
/// empty or 0.
struct MemoryAccess {
  MemorySpace space = MemorySpace::None;
  bool load = false, store = false, atomic = false;
  uint16_t bytes = 0;    ///< per lane (per wave for Scalar), at one address; at most, where a format decides
  RegRange vaddr = {};   ///< vector address or offset; with an index register too for Buffer (`idxen` before `offen`)
  RegRange saddr = {};   ///< scalar base (SMEM, Global, Scratch), or the resource of Buffer
  RegRange soffset = {}; ///< scalar offset register
  int32_t soffsetValue = 0; ///< the constant in its place
  int32_t offset = 0;       ///< immediate, in bytes
  int32_t offset2 = 0;      ///< of the second access of ds_read2 and ds_write2
  bool two = false;         ///< whether there is a second access
  bool idxen = false, offen = false;
  bool toLds = false;   ///< a load whose data goes to LDS
  RegRange data = {};   ///< what is stored; an atomic's operand, with the value to compare behind it for cmpswap
  RegRange data2 = {};  ///< of the second access, or the second operand of LDS atomics
  RegRange result = {}; ///< what is loaded
};

class Instr {
public:
  /// Address in the code object's image, or where it is loaded: whatever the sequence was decoded for.
  uint64_t address() const { return address_; }
  uint64_t end() const { return address_ + size_; }
  uint32_t size() const { return size_; }
  std::span<const uint8_t> bytes() const { return {bytes_, size_}; }

  Opcode opcode() const { return opcode_; }
  std::string_view mnemonic() const { return luthier::mnemonic(opcode_); }

  /// In the order of assembly text; hidden modifiers at their place. Registers that the encoding implies are not among
  /// them even if the text has them (VCC of v_addc_co_u32 in VOP2), nor is a second mention of one that is both
  /// destination and source.
  std::span<const Operand> operands() const { return {operands_, operandCount_}; }
  /// Registers that are read or written, implicit ones (VCC, EXEC, SCC, M0, MODE, FLAT_SCRATCH) included. What is
  /// written only in part, or perhaps not at all, is in both: what is in writes() alone is overwritten (in active
  /// lanes).
  std::span<const RegRange> reads() const { return {regs_, readCount_}; }
  std::span<const RegRange> writes() const { return {regs_ + readCount_, writeCount_}; }

  bool is(Property property) const { return (properties_ & static_cast<uint32_t>(property)) != 0; }
  MemorySpace memorySpace() const { return space_; }
  /// Parts of its address; nothing for an instruction that accesses no memory.
  std::optional<MemoryAccess> memory() const;

  /// Where a direct branch or s_call_b64 goes.
  std::optional<uint64_t> target() const;

  // Filled in by the decoder.
  uint64_t address_ = 0;
  const uint8_t *bytes_ = nullptr;
  const Operand *operands_ = nullptr;
  const RegRange *regs_ = nullptr;
  uint32_t properties_ = 0;
  uint32_t form_ = 0; ///< LLVM's number of this encoding of the opcode, for isa::text and the encoder
  Opcode opcode_ = {};
  uint8_t size_ = 0;
  uint8_t operandCount_ = 0;
  uint8_t readCount_ = 0, writeCount_ = 0;
  MemorySpace space_ = MemorySpace::None;
};

} // namespace luthier
