// The rules of hazards.h as rows, and the words that they are written in.
//
// An instruction belongs to classes, by its form and by what its operands are. A rule names classes of an earlier and
// of a later instruction, how the two must be connected, and the wait states between them. Numbers are the manuals';
// where those of matrix instructions grow with the number of passes, the row says so instead of repeating itself.
#pragma once

#include "isa/target.h"

#include <cstdint>

namespace luthier::analysis::hazard {

constexpr uint8_t generation(isa::HazardSet set) { return static_cast<uint8_t>(1u << static_cast<unsigned>(set)); }

// Generations, as far as rules tell them apart.
enum Generation : uint8_t {
  kGfx8 = generation(isa::HazardSet::Gfx8),
  kGfx9 = generation(isa::HazardSet::Gfx9), ///< those without matrix instructions
  kGfx908 = generation(isa::HazardSet::Gfx908),
  kGfx90a = generation(isa::HazardSet::Gfx90a),
  kGfx940 = generation(isa::HazardSet::Gfx940), ///< gfx942 too
  kGfx10 = generation(isa::HazardSet::Gfx10),
  kAll9 = kGfx9 | kGfx908 | kGfx90a | kGfx940,
  kAll = kGfx8 | kAll9,
  kUnified = kGfx90a | kGfx940, ///< matrix instructions work on any vector register
};

// What an instruction is. Most of it is known from its form; what depends on its operands is added by `classesOf`.
enum Class : uint64_t {
  kValu = 1 << 0, ///< all of them, matrix instructions included
  kMfma = 1 << 1, ///< v_mfma and v_smfmac
  kF32Mfma = 1 << 2,
  kDgemm4 = 1 << 3, ///< v_mfma_f64 4x4x4
  kDgemm16 = 1 << 4,
  kDgemm = kDgemm4 | kDgemm16,
  kAccRead = 1 << 5,
  kAccWrite = 1 << 6,
  kDot = 1 << 7,
  kTrans = 1 << 8,
  kDpp = 1 << 9,
  kDivFmas = 1 << 10,
  kLaneSelect = 1 << 11, ///< v_readlane, v_writelane
  kReadsLane = 1 << 12,  ///< v_readlane, v_readfirstlane
  kFma64 = 1 << 13,
  kSalu = 1 << 14,
  kVmem = 1 << 15, ///< FLAT and its like included
  kLds = 1 << 16,  ///< and GDS
  kMem = kVmem | kLds,
  kExport = 1 << 17,
  kSetReg = 1 << 18,
  kGetReg = 1 << 19,
  kRfe = 1 << 20,
  kSetVskip = 1 << 21,
  kMessage = 1 << 22, ///< reads M0 as s_sendmsg does; GDS too
  kM0Index = 1 << 23, ///< reads M0 as s_movrel does
  kFpAtomic = 1 << 24,
  kDenormMode = 1 << 25,
  kWait = 1ull << 32,
  // Of its operands.
  kWritesScalar = 1 << 26, ///< a VALU instruction that writes VCC, EXEC or an SGPR
  kWritesVector = 1 << 27, ///< any instruction
  kWritesM0 = 1 << 28,     ///< a SALU instruction
  kWritesHalf = 1 << 29,   ///< a VALU result that is not the whole register, low half first
  kWideStore = 1 << 30,    ///< more than 64 bits of data
  kReadsZeroFlag = 1ull << 31,
};
using Classes = uint64_t;

/// How the two must be connected, for a rule to apply.
enum class Share : uint8_t {
  Nothing,
  ScalarRead,   ///< the later one reads a scalar register that the earlier one writes, be it by implication
  ScalarSource, ///< ... as a source, or VCC
  LaneSelect,   ///< ... to select a lane
  Vcc,          ///< the earlier one writes VCC
  Exec,
  ZeroFlag,         ///< the earlier one writes VCC or EXEC, the later one asks whether that is zero
  VectorRead,       ///< the later one reads a vector register that the earlier one writes
  VgprRead,         ///< ... an architectural one
  Source0,          ///< ... as its first source
  Write,            ///< both write the same vector register
  Data,             ///< the later one writes what the earlier one stores
  MatrixAb,         ///< the later matrix instruction reads the earlier one's result, not as C
  MatrixC,          ///< ... as C, but shifted or of another size
  MatrixCSame,      ///< ... as C, exactly
  OverwriteC,       ///< the later one writes what the earlier matrix instruction reads as C
  DotRead,          ///< as VectorRead, but the same instruction may accumulate further
  DotWrite,         ///< as Write, but the same instruction may
  HardwareRegister, ///< the same
  Trapsts,
  Mode,
  Vskip, ///< the earlier one may change MODE.VSKIP
};

struct Rule {
  uint8_t generations;
  Classes earlier;        ///< one of these
  Classes earlierNot = 0; ///< and none of these
  Classes later;
  Classes laterNot = 0;
  Share share = Share::Nothing;
  int8_t states;
  bool plusPasses = false; ///< and as many as the earlier matrix instruction has passes
  uint8_t passes = 0;      ///< only for those with so many
  Classes between = 0;     ///< only if one of these lies between
  Classes unless = 0;      ///< not if one of these does
};

// The scalar side: VALU results in scalar registers, hardware registers, M0.
inline constexpr Rule kScalarRules[] = {
    {.generations = kAll, .earlier = kWritesScalar, .later = kVmem, .share = Share::ScalarRead, .states = 5},
    {.generations = kAll, .earlier = kWritesScalar, .later = kLaneSelect, .share = Share::LaneSelect, .states = 4},
    {.generations = kAll, .earlier = kWritesScalar, .later = kDivFmas, .share = Share::Vcc, .states = 4},
    {.generations = kAll, .earlier = kWritesScalar, .later = kDpp, .share = Share::Exec, .states = 5},
    {.generations = kAll, .earlier = kWritesScalar, .later = kReadsZeroFlag, .share = Share::ZeroFlag, .states = 5},
    {.generations = kGfx940, .earlier = kWritesScalar, .later = kValu, .share = Share::ScalarSource, .states = 2},
    {.generations = kGfx940,
     .earlier = kWritesScalar,
     .later = kLaneSelect | kReadsLane,
     .share = Share::Exec,
     .states = 4},
    {.generations = kAll,
     .earlier = kSetReg,
     .later = kSetReg | kGetReg,
     .share = Share::HardwareRegister,
     .states = 2},
    {.generations = kAll, .earlier = kSetReg, .later = kRfe, .share = Share::Trapsts, .states = 1},
    {.generations = kAll, .earlier = kSetReg, .later = kValu | kMem | kExport, .share = Share::Vskip, .states = 2},
    {.generations = kAll, .earlier = kSetVskip, .later = kGetReg, .share = Share::Mode, .states = 2},
    {.generations = kAll, .earlier = kWritesM0, .later = kMessage, .states = 1},
    {.generations = kAll9, .earlier = kWritesM0, .later = kM0Index, .states = 1},
    {.generations = kGfx10, .earlier = kFpAtomic, .later = kDenormMode, .states = 3, .unless = kValu | kWait},
};

inline constexpr Rule kVectorRules[] = {
    {.generations = kAll, .earlier = kWritesVector, .later = kDpp, .share = Share::VgprRead, .states = 2},
    {.generations = kAll & ~kGfx940, .earlier = kWideStore, .later = kValu, .share = Share::Data, .states = 1},
    {.generations = kGfx940, .earlier = kWideStore, .later = kValu, .share = Share::Data, .states = 2},
    {.generations = kGfx940,
     .earlier = kTrans,
     .later = kValu,
     .laterNot = kTrans,
     .share = Share::VectorRead,
     .states = 1},
    {.generations = kGfx940, .earlier = kWritesHalf, .later = kValu, .share = Share::VectorRead, .states = 1},
    {.generations = kGfx940, .earlier = kValu, .later = kReadsLane, .share = Share::Source0, .states = 1},
    {.generations = kUnified,
     .earlier = kDot,
     .later = kValu | kMem | kExport,
     .laterNot = kMfma,
     .share = Share::DotRead,
     .states = 3},
    {.generations = kUnified,
     .earlier = kDot,
     .later = kValu | kMem,
     .laterNot = kMfma,
     .share = Share::DotWrite,
     .states = 3},
    // Only the manual has this one.
    {.generations = kUnified, .earlier = kDot, .later = kMfma, .share = Share::VectorRead, .states = 3},
};

// MI100: accumulators are a file of their own.
inline constexpr Rule kGfx908Rules[] = {
    {.generations = kGfx908, .earlier = kWritesScalar, .later = kMfma | kAccWrite, .share = Share::Exec, .states = 4},
    {.generations = kGfx908, .earlier = kValu, .later = kMfma | kAccWrite, .share = Share::VgprRead, .states = 2},
    {.generations = kGfx908, .earlier = kMfma, .later = kMfma, .share = Share::MatrixAb, .states = 4},
    {.generations = kGfx908, .earlier = kMfma, .later = kMfma, .share = Share::MatrixC, .states = 2},
    {.generations = kGfx908,
     .earlier = kMfma,
     .later = kAccRead,
     .share = Share::VectorRead,
     .states = 2,
     .plusPasses = true},
    {.generations = kGfx908,
     .earlier = kMfma,
     .later = kAccWrite,
     .share = Share::Write,
     .states = -1,
     .plusPasses = true},
    {.generations = kGfx908,
     .earlier = kMfma,
     .later = kAccWrite,
     .share = Share::OverwriteC,
     .states = -3,
     .plusPasses = true},
    {.generations = kGfx908, .earlier = kAccWrite, .later = kMfma, .share = Share::MatrixAb, .states = 3},
    {.generations = kGfx908, .earlier = kAccWrite, .later = kMfma, .share = Share::MatrixC, .states = 1},
    {.generations = kGfx908, .earlier = kAccWrite, .later = kAccRead, .share = Share::VectorRead, .states = 3},
    {.generations = kGfx908, .earlier = kAccWrite, .later = kAccWrite, .share = Share::Write, .states = 3},
    {.generations = kGfx908, .earlier = kAccRead, .later = kMem, .share = Share::VgprRead, .states = 2},
    {.generations = kGfx908,
     .earlier = kValu,
     .earlierNot = kMfma | kAccRead | kAccWrite,
     .later = kMem,
     .share = Share::VgprRead,
     .states = 2,
     .between = kAccRead | kAccWrite},
};

// MI200 and MI300: one file, and everybody may read results too early.
inline constexpr Rule kUnifiedRules[] = {
    {.generations = kUnified,
     .earlier = kWritesScalar,
     .earlierNot = kMfma,
     .later = kMfma,
     .share = Share::Exec,
     .states = 4},
    {.generations = kUnified,
     .earlier = kValu,
     .earlierNot = kMfma | kDot,
     .later = kMfma,
     .share = Share::VectorRead,
     .states = 2},
    // Double precision.
    {.generations = kUnified, .earlier = kDgemm4, .later = kMfma, .share = Share::MatrixAb, .states = 6},
    {.generations = kUnified, .earlier = kDgemm16, .later = kMfma, .share = Share::MatrixAb, .states = 11},
    {.generations = kUnified, .earlier = kDgemm4, .later = kDgemm, .share = Share::MatrixC, .states = 4},
    {.generations = kUnified, .earlier = kDgemm16, .later = kDgemm, .share = Share::MatrixC, .states = 9},
    {.generations = kUnified, .earlier = kDgemm4, .later = kDgemm4, .share = Share::MatrixCSame, .states = 4},
    {.generations = kGfx940, .earlier = kDgemm4, .later = kF32Mfma, .share = Share::MatrixC, .states = 4},
    {.generations = kGfx940, .earlier = kDgemm16, .later = kF32Mfma, .share = Share::MatrixC, .states = 9},
    {.generations = kUnified, .earlier = kDgemm4, .later = kMem | kExport, .share = Share::VectorRead, .states = 9},
    {.generations = kUnified, .earlier = kDgemm16, .later = kMem | kExport, .share = Share::VectorRead, .states = 18},
    {.generations = kUnified,
     .earlier = kDgemm4,
     .later = kValu,
     .laterNot = kMfma,
     .share = Share::VectorRead,
     .states = 6},
    {.generations = kUnified,
     .earlier = kDgemm16,
     .later = kValu,
     .laterNot = kMfma,
     .share = Share::VectorRead,
     .states = 11},
    {.generations = kUnified,
     .earlier = kDgemm4,
     .later = kValu | kMem,
     .laterNot = kMfma,
     .share = Share::Write,
     .states = 6},
    {.generations = kUnified,
     .earlier = kDgemm16,
     .later = kValu | kMem,
     .laterNot = kMfma,
     .share = Share::Write,
     .states = 11},
    {.generations = kUnified, .earlier = kDgemm, .later = kFma64, .states = 2},
    {.generations = kGfx90a,
     .earlier = kValu,
     .later = kMem,
     .share = Share::VectorRead,
     .states = 2,
     .between = kDgemm},
    // The others: on gfx90a all alike, on gfx940 single precision is a little faster.
    {.generations = kGfx90a,
     .earlier = kMfma,
     .earlierNot = kDgemm,
     .later = kMfma,
     .laterNot = kDgemm,
     .share = Share::MatrixC,
     .states = 0,
     .plusPasses = true},
    {.generations = kGfx90a,
     .earlier = kMfma,
     .earlierNot = kDgemm,
     .later = kDgemm,
     .share = Share::MatrixC,
     .states = 1,
     .plusPasses = true},
    {.generations = kGfx940,
     .earlier = kMfma,
     .earlierNot = kDgemm | kF32Mfma,
     .later = kMfma,
     .share = Share::MatrixC,
     .states = 1,
     .plusPasses = true},
    {.generations = kGfx940,
     .earlier = kF32Mfma,
     .later = kDgemm | kF32Mfma,
     .share = Share::MatrixC,
     .states = 0,
     .plusPasses = true},
    {.generations = kGfx940,
     .earlier = kMfma,
     .earlierNot = kDgemm,
     .later = kMfma,
     .share = Share::MatrixCSame,
     .states = 2,
     .passes = 2},
    {.generations = kGfx90a,
     .earlier = kMfma,
     .earlierNot = kDgemm,
     .later = kMfma,
     .share = Share::MatrixAb,
     .states = 3,
     .plusPasses = true},
    {.generations = kGfx940,
     .earlier = kMfma,
     .earlierNot = kDgemm | kF32Mfma,
     .later = kMfma,
     .share = Share::MatrixAb,
     .states = 3,
     .plusPasses = true},
    {.generations = kGfx940,
     .earlier = kF32Mfma,
     .later = kMfma,
     .share = Share::MatrixAb,
     .states = 2,
     .plusPasses = true},
    {.generations = kGfx90a,
     .earlier = kMfma,
     .earlierNot = kDgemm,
     .later = kValu | kMem | kExport,
     .laterNot = kMfma,
     .share = Share::VectorRead,
     .states = 3,
     .plusPasses = true},
    {.generations = kGfx940,
     .earlier = kMfma,
     .earlierNot = kDgemm | kF32Mfma,
     .later = kValu | kMem | kExport,
     .laterNot = kMfma,
     .share = Share::VectorRead,
     .states = 3,
     .plusPasses = true},
    {.generations = kGfx940,
     .earlier = kF32Mfma,
     .later = kValu | kMem | kExport,
     .laterNot = kMfma,
     .share = Share::VectorRead,
     .states = 2,
     .plusPasses = true},
    {.generations = kGfx90a,
     .earlier = kMfma,
     .earlierNot = kDgemm,
     .later = kValu | kMem,
     .laterNot = kMfma,
     .share = Share::Write,
     .states = 3,
     .plusPasses = true},
    {.generations = kGfx940,
     .earlier = kMfma,
     .earlierNot = kDgemm | kF32Mfma,
     .later = kValu | kMem,
     .laterNot = kMfma,
     .share = Share::Write,
     .states = 3,
     .plusPasses = true},
    {.generations = kGfx940,
     .earlier = kF32Mfma,
     .later = kValu | kMem,
     .laterNot = kMfma,
     .share = Share::Write,
     .states = 2,
     .plusPasses = true},
    {.generations = kGfx90a,
     .earlier = kMfma,
     .earlierNot = kDgemm,
     .later = kValu | kMem,
     .laterNot = kMfma,
     .share = Share::OverwriteC,
     .states = -1,
     .plusPasses = true},
    {.generations = kGfx940,
     .earlier = kMfma,
     .earlierNot = kDgemm | kF32Mfma,
     .later = kValu | kMem,
     .laterNot = kMfma,
     .share = Share::OverwriteC,
     .states = -1,
     .plusPasses = true},
};

} // namespace luthier::analysis::hazard
