// What kinds of instructions and operands there are: the part of luthier/instr.h that knows no opcodes, and from which
// therefore the generator of the opcodes can be built.
#pragma once

#include <cstdint>

namespace luthier {

enum class OperandKind : uint8_t {
  Register,  ///< `regs`
  Immediate, ///< `value`: an inline constant as a number (the bits of a float), an offset, a branch distance in dwords
  Literal,   ///< `value`: the 32 bits that follow the instruction
  Modifier,  ///< `value`: neg/abs bits of a source, clamp, omod, op_sel, cache policy, DPP and SDWA controls
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
  Indexed = 1u << 20,   ///< reads or writes registers that depend on M0; all that it may are in reads() and writes()
  IndexMode = 1u << 21, ///< s_set_gpr_idx_on and its like: switches indexing of the VGPRs of other instructions
  SkipMode = 1u << 23,  ///< s_setvskip: instructions that are not Scalar may be skipped from now on
  Dual = 1u << 22,      ///< two operations in one (gfx11, v_dual_*); the opcode is the first one's
};

/// Where a memory instruction goes. Instructions that only pass through the unit have a space too (ds_bpermute_b32,
/// s_memtime, buffer_wbl2), but are neither Load nor Store; their results arrive as late as those of loads.
enum class MemorySpace : uint8_t { None, Scalar, Flat, Global, Scratch, Lds, Gds, Buffer, Image };

} // namespace luthier
