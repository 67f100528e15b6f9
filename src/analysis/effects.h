// What an instruction does to live sets beyond reading and writing the registers it names: the rules of
// analysis/liveness.h per opcode, in one table.
#pragma once

#include "luthier/instr.h"

#include <cstdint>

namespace luthier::analysis {

enum class ExecChange : uint8_t {
  None,
  Narrow, ///< no lane is turned on
  Widen,  ///< no lane is turned off
  Other,
};

/// Properties of opcodes that Instr does not know of.
enum Trait : uint16_t {
  kConditionalWrite = 1 << 0, ///< may leave its destination as it was: s_cmov_b32
  kIndexed = 1 << 1,          ///< M0 decides which register is read or written: v_movrels_b32, s_movreld_b64
  kIndexingOn = 1 << 2,       ///< s_set_gpr_idx_on: until `off`, vector operands are indexed
  kIndexingOff = 1 << 3,
  kIndexingMode = 1 << 4, ///< changes how, or whether, operands are indexed: s_set_gpr_idx_mode
  kSetReg = 1 << 5,       ///< s_setreg_*: may turn indexing on
  kGetPc = 1 << 6,
  kReadsLane = 1 << 7,  ///< v_readlane_b32, v_readfirstlane_b32
  kWritesLane = 1 << 8, ///< v_writelane_b32
  kRareForLiveness = kConditionalWrite | kIndexed,
};

uint16_t traits(Opcode opcode);

/// For an instruction with Property::WritesExec.
ExecChange execChange(const Instr &instr);

/// Whether an instruction with kSetReg, kIndexingOn or kIndexingMode may turn on indexing of vector operands.
bool mayTurnIndexingOn(const Instr &instr);

} // namespace luthier::analysis
