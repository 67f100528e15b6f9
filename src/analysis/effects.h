// How instructions change EXEC, and what else the analyses must know of an opcode that Instr does not say: one table.
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
enum Trait : uint8_t {
  kReadsLane = 1 << 0,  ///< v_readlane_b32
  kWritesLane = 1 << 1, ///< v_writelane_b32
};

uint8_t traits(Opcode opcode);

/// For an instruction with Property::WritesExec.
ExecChange execChange(const Instr &instr);

} // namespace luthier::analysis
