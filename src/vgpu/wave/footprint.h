// Registers that an instruction reads and writes, from the manual alone.
//
// The checkers (strict waits, strict resources, trace, poison) name registers by what the isa layer's decoder says,
// which is LLVM's description of the instruction. So does the rewriter, and the virtual GPU's own records are filled
// from it: a mistake there would fool the checker and the checked alike. This is the second source. It knows nothing of
// LLVM's operands: register numbers come from the bit positions in the manual's chapter "Microcode Formats", sizes from
// the types of the row, which are those of the function that executes it, and from the manual's names (dwordx4, b96,
// cmpswap).
//
// Whenever a checker asks for an instruction's operands for the first time, both sources are compared (operands.cc),
// and a disagreement stops the dispatch; tests/vgpu/wave/footprint_test.cc compares them for all encodings.
#pragma once

#include "isa/target.h"
#include "luthier/reg.h"
#include "vgpu/exec/row.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace luthier::vgpu {

struct Footprint {
  RegSet reads;  ///< what the result or an access depends on; old values that lanes without EXEC keep do not count
  RegSet writes; ///< in some lanes at least, or conditionally
};

/// Of the instruction at the start of `code`, whose row is `row`, in waves of `lanes` lanes. Relative and indexed
/// registers (s_movrels, s_set_gpr_idx_on) are where the encoding has them. None for targets whose fields nobody has
/// written down.
std::optional<Footprint> footprintOf(const Row &row, std::span<const uint8_t> code, const isa::Target &target,
                                     unsigned lanes);

/// What is wrong with `reads` and `writes`, the isa layer's. Every register that the instruction reads or writes must
/// be in them. They may have more, but no register that is written and not read: who believes that its old value is
/// gone when it is not does harm. Says what the instruction does instead; empty if nothing is wrong.
std::string disagreement(const Footprint &manual, const RegSet &reads, const RegSet &writes);

} // namespace luthier::vgpu
