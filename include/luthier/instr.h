// Instructions of AMD GPU machine code, without any type of LLVM.
//
// An Instr is a view of one decoded instruction: where it is, what it is, what it touches. It belongs to a decoded
// sequence (isa/decode.h) and is valid as long as that is. Opcodes are the vendor's mnemonics: Opcode::V_ADD_F32 is
// v_add_f32 in any encoding (VOP2, VOP3, SDWA, DPP) of any generation. The enumeration is written at build time from
// the tables of the installed LLVM (luthier/opcode.h).
#pragma once

#include "luthier/opcode.h"
#include "luthier/reg.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace luthier {

enum class OperandKind : uint8_t {
  Register,  ///< `regs`
  Immediate, ///< `value`: an inline constant as a number (the bits of a float), an offset, a branch distance in dwords
  Literal,   ///< `value`: the 32 bits that follow the instruction
  Modifier,  ///< `value`: neg/abs bits of a source, clamp, omod, op_sel, cache policy, DPP and SDWA controls
};

struct Operand {
  OperandKind kind = OperandKind::Immediate;
  bool written = false; ///< a register that the instruction writes
  bool read = false;    ///< a register that it reads; both for v_fmac_f32's destination
  RegRange regs = {};
  int64_t value = 0;
};

/// What an instruction is. Several apply to most.
enum class Property : uint32_t {
  Scalar = 1u << 0, ///< executed once per wave: SOP*, SMEM
  Vector = 1u << 1, ///< VALU
  Matrix = 1u << 2, ///< MFMA and AccVGPR moves
  Load = 1u << 3,
  Store = 1u << 4,
  Atomic = 1u << 5, ///< also Store; also Load when it returns a value
  Branch = 1u << 6, ///< direct, conditional or not
  Conditional = 1u << 7,
  IndirectBranch = 1u << 8, ///< s_setpc_b64, which also returns from functions
  Call = 1u << 9,           ///< s_swappc_b64, s_call_b64
  EndProgram = 1u << 10,    ///< s_endpgm and its variants
  Terminator = 1u << 11,    ///< control does not, or not always, go on to the next instruction
  Barrier = 1u << 12,
  Wait = 1u << 13, ///< s_waitcnt and its variants
  WritesExec = 1u << 14,
  CrossLane = 1u << 15,    ///< reads vector registers of other lanes, whether active or not
  IgnoresExec = 1u << 16,  ///< acts on vector registers without regard to EXEC: v_readlane_b32, v_writelane_b32, MFMA
  PartialWrite = 1u << 17, ///< leaves parts of a written register as they were (d16 loads, SDWA preserve, op_sel)
  Message = 1u << 18,      ///< s_sendmsg
  Export = 1u << 19,
};

/// Where a memory instruction goes.
enum class MemorySpace : uint8_t { None, Scalar, Flat, Global, Scratch, Lds, Gds, Buffer, Image };

/// The parts that make an address. The effective address is formed as the manual says for the space; unused parts are
/// empty or 0.
struct MemoryAccess {
  MemorySpace space = MemorySpace::None;
  bool load = false, store = false, atomic = false;
  uint16_t bytes = 0;    ///< per lane (per wave for Scalar), at one address
  RegRange vaddr = {};   ///< vector address or offset; with an index register too for Buffer (`idxen` before `offen`)
  RegRange saddr = {};   ///< scalar base (SMEM, Global, Scratch), or the resource of Buffer
  RegRange soffset = {}; ///< scalar offset register
  int32_t offset = 0;    ///< immediate, in bytes
  int32_t offset2 = 0;   ///< of the second access of ds_read2 and ds_write2
  bool two = false;      ///< whether there is a second access
  bool idxen = false, offen = false;
  bool toLds = false;   ///< a load whose data goes to LDS
  RegRange data = {};   ///< what is stored
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

  /// In the order of assembly text; hidden modifiers at their place.
  std::span<const Operand> operands() const { return {operands_, operandCount_}; }
  /// Registers that are read or written, implicit ones (VCC, EXEC, SCC, M0, MODE, FLAT_SCRATCH) included.
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
