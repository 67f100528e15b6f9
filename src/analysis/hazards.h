// Wait states that the hardware does not keep by itself: pairs of instructions that need others, or s_nop, between
// them.
//
// Compilers put them in; who inserts code between instructions of a compiled program makes new neighbours, and must see
// to it that each pair has its distance. A rule is a row: what the earlier instruction is, what the later one is,
// whether and which registers they must share, and how many wait states must lie between. Every instruction is one wait
// state, s_nop N is N + 1.
#pragma once

#include "isa/target.h"
#include "luthier/instr.h"

#include <span>

namespace luthier::analysis {

/// The most wait states that any rule of the target asks for: so far back one must look.
unsigned hazardWindow(const isa::Target &target);

/// Wait states that must still be added between the last of `before` and the first of `after`, both in the order of
/// execution, so that no rule is broken by a pair with one instruction in each. Instructions further than hazardWindow
/// from the seam do not matter; `before` may start anywhere.
unsigned missingWaitStates(const isa::Target &target, std::span<const Instr *const> before,
                           std::span<const Instr *const> after);

/// The same for a single pair, which has nothing between: wait states that it needs.
unsigned waitStatesBetween(const isa::Target &target, const Instr &earlier, const Instr &later);

} // namespace luthier::analysis
