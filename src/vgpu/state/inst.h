// A decoded instruction: what the interpreter executes.
//
// Instructions are decoded once into fixed-size records that stand at one record per dword of code, so that a branch is
// pointer arithmetic. A record holds the handler and operands already resolved as far as decoding can: register
// numbers as register-file indices, constants as ready-made arrays of lanes.
#pragma once

#include <cstdint>

namespace luthier::vgpu {

struct Inst;
struct Row;
struct Wave;

/// Executes one instruction and returns the one to execute next; null when the wave must stop (`Wave::stop` says why).
///
/// A threaded handler does not return to its caller but jumps to the handler of the next instruction, so that straight
/// code runs without coming back to a loop. It returns what the last one returns: control flow never threads.
using Handler = const Inst *(*)(Wave &, const Inst *);

/// How an operand's bits are interpreted; decides what a constant expands to and what modifiers do.
enum class Type : uint8_t {
  None,
  U32,
  I32,
  F32,
  U64,
  I64,
  F64,
  U16,
  I16,
  F16,
  PkU16,
  PkI16,
  PkF16,
  PkBf16, ///< constants are in both halves
  PkF32,
  Mask
};

constexpr bool isFloat(Type t) {
  return t == Type::F32 || t == Type::F64 || t == Type::F16 || t == Type::PkF16 || t == Type::PkBf16 ||
         t == Type::PkF32;
}
constexpr bool is64(Type t) {
  return t == Type::U64 || t == Type::I64 || t == Type::F64 || t == Type::PkF32 || t == Type::Mask;
}
constexpr bool is16(Type t) { return t == Type::U16 || t == Type::I16 || t == Type::F16; }

enum class SrcKind : uint8_t {
  None,
  Vgpr,     ///< reg: index into Wave::v
  Scalar,   ///< reg: index into Wave::s; 64-bit values use reg and reg + 1
  Constant, ///< lanes: low halves in [0, 64), high halves in [64, 128)
  Special,  ///< reg: source code of SCC, VCCZ, EXECZ or an aperture register
};

/// Source modifiers, in Inst::srcMods.
inline constexpr uint8_t kAbs = 1;
inline constexpr uint8_t kNeg = 2;
inline constexpr uint8_t kOpSel = 4;   ///< VOP3: take the high half. VOP3P: low result takes the high half
inline constexpr uint8_t kOpSelHi = 8; ///< VOP3P: high result takes the high half
inline constexpr uint8_t kNegHi = 16;  ///< VOP3P: negate the half used for the high result

/// Inst::flags.
inline constexpr uint8_t kClamp = 1;
inline constexpr uint8_t kLoadKeepsHalf = 1; ///< memory: a load of 16 bits leaves the register's other half alone
inline constexpr uint8_t kOpSelDst = 2;      ///< VOP3: write the high half, keep the low one
inline constexpr uint8_t kGlc = 2;           ///< memory: loads past the first-level cache
inline constexpr uint8_t kSdwa = 4;
inline constexpr uint8_t kFlushes = 4; ///< memory: additions to f32 take and leave no denormals
inline constexpr uint8_t kDpp = 8;
inline constexpr uint8_t kNarrowScratch = 8; ///< FLAT: atomics of 64 bits on private memory are a violation
inline constexpr uint8_t kReturnsOld = 16;   ///< atomics: the value before the operation goes to `dst`
inline constexpr uint8_t kKeepsOther = 16;   ///< vector ALU: a 16-bit result leaves the register's other half alone
inline constexpr uint8_t kLds = 32;          ///< MUBUF, FLAT: data goes to LDS. DS: the GDS bit
inline constexpr uint8_t kAlwaysOmod = 32;   ///< vector ALU: omod applies whatever MODE says
inline constexpr uint8_t kDpp8 = 64;         ///< with kDpp: of the kind that permutes eight lanes
inline constexpr uint8_t kF64Mode = 128;     ///< rounds and flushes as MODE says for f64 and f16, not for f32

/// Inst::imm of VOP3P instructions other than VOP3P-MAI.
inline constexpr int32_t kPackedSelects = 1;  ///< op_sel or op_sel_hi differ from the default
inline constexpr int32_t kPackedModifies = 2; ///< negation or clamp

/// Inst::imm of conversions from and to eight bits: op_sel, above MatrixArithmetic::packed.
inline constexpr unsigned kOpSelShift = 24;

/// Inst::sdwa. Selections as the encoding numbers them: bytes 0 to 3, words 4 and 5, the dword 6.
struct SdwaControl {
  uint32_t dstSelect : 3, dstUnused : 2; ///< the rest of the destination: 0 zeros, 1 the sign, 2 kept
  uint32_t select0 : 3, select1 : 3;
  uint32_t signExtend0 : 1, signExtend1 : 1;
};
/// Inst::dpp.
struct DppControl {
  uint32_t pattern : 9, rowMask : 4, bankMask : 4;
  uint32_t boundControl : 1; ///< lanes that read outside get 0; else they are not written
  uint32_t fetchInactive : 1;
};
/// Inst::dpp8.
struct Dpp8Control {
  uint32_t lanes : 24; ///< of its group of eight, three bits each, that each lane reads
  uint32_t fetchInactive : 1;
};
/// Inst::buffer: of MUBUF and MTBUF.
struct BufferControl {
  uint32_t offen : 1, idxen : 1;
  uint32_t format : 7; ///< MTBUF
  uint32_t layout : 3; ///< of the resource: isa::BufferResource
};
/// Inst::ds.
struct DsControl {
  uint32_t permuteLanes : 7; ///< lanes that exchange data
  uint32_t dwordsApart : 1;  ///< each dword of an access is in range or not
};

union Src {
  uint32_t reg;
  const uint32_t *lanes;
  const Inst *parts; ///< VOPD: the records that it consists of
};

struct alignas(64) Inst {
  Handler fn; ///< null: not decoded yet
  Src src[3]; ///< memory formats: src[0] address, src[1] data, src[2] second data or resource
  SrcKind srcKind[3];
  uint8_t srcMods[3];
  uint16_t dst;    ///< VALU and memory: index into Wave::v. SALU: index into Wave::s
  uint16_t sdst;   ///< VALU: index into Wave::s of a lane mask result. memory: see the decoder
  uint16_t opcode; ///< index of the mnemonic in the instruction table; what statistics count by
  int32_t imm;     ///< SIMM16, branch distance in dwords, memory or SMEM offset; matrices: MatrixArithmetic::packed
  union {
    uint32_t control; ///< VOP3P-MAI: CBSZ, ABID << 4, BLGP << 8
    SdwaControl sdwa;
    DppControl dpp;
    Dpp8Control dpp8;
    BufferControl buffer;
    DsControl ds;
  };
  uint8_t words; ///< length in dwords
  uint8_t flags;
  uint8_t omod;
  bool threaded; ///< `fn` goes on with the instructions behind this one; `single` (row.h) is for this one alone
  const Row *row;

  const Inst *next() const { return this + words; }
};
static_assert(sizeof(Inst) == 64);

/// Inst::sdst of memory instructions without a scalar address or offset.
inline constexpr uint16_t kNoScalar = 0x7f;

} // namespace luthier::vgpu
