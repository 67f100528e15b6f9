// How surely the virtual GPU computes what the hardware computes, for every opcode of a target.
//
// What is known stands beside each instruction, in its row (exec/row.h); this collects it.
#pragma once

#include "isa/target.h"
#include "support/result.h"
#include "vgpu/exec/fidelity.h"

#include <string>
#include <vector>

namespace luthier::vgpu {

struct OpcodeFidelity {
  std::string mnemonic;
  Fidelity fidelity;
  std::string reason; ///< empty if exact
};

/// All opcodes that LLVM has for the target (isa/opcode_universe.h), sorted by mnemonic.
Result<std::vector<OpcodeFidelity>> fidelity(const isa::Target &target);

} // namespace luthier::vgpu
