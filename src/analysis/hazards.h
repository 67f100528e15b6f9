// Wait states that the hardware does not keep by itself: pairs of instructions that need others, or s_nop, between
// them.
//
// Compilers put them in; who inserts code between instructions of a compiled program makes new neighbours, and must see
// to it that each pair has its distance. A rule is a row: what the earlier instruction is, what the later one is,
// whether and which registers they must share, and how many wait states must lie between. Every instruction is one wait
// state, s_nop N is N + 1.
//
// The rows are the tables of the ISA manuals ("Manually Inserted Wait States", "Required NOPs" of the matrix
// instructions) for gfx8, gfx9 and CDNA. From gfx10 on, hardware keeps its distances, except for one pair on gfx10.
// tests/analysis/hazards_test.cc compares all of it with what LLVM inserts.
//
// Not covered, because s_nop does not cure it: mistakes of gfx1010, gfx11 and gfx12, for which there is seam_hazards.h.
// Nor is what no code for HSA does: VCC used by its name and by its alias among the SGPRs, images with half
// descriptors. XNACK replays are no matter of distance (see analysis/replays.h).
#pragma once

#include "analysis/cfg.h"
#include "isa/target.h"
#include "luthier/instr.h"
#include "support/result.h"

#include <span>
#include <vector>

namespace luthier::analysis {

/// The most wait states that any rule of the target asks for: so far back one must look.
unsigned hazardWindow(const isa::Target &target);

/// Wait states that must still be added between the last of `before` and the first of `after`, both in the order of
/// execution, so that no rule is broken by a pair with one instruction in each. Instructions further than hazardWindow
/// from the seam do not matter; `before` may start anywhere.
unsigned missingWaitStates(const isa::Target &target, std::span<const Instr *const> before,
                           std::span<const Instr *const> after);

/// Up to so many wait states behind the last of `code`, some rule may be about one of its instructions and what comes
/// there.
unsigned hazardReach(const isa::Target &target, std::span<const Instr *const> code);

/// How many wait states the instruction itself is.
unsigned waitStatesOf(const isa::Target &target, const Instr &instr);

/// Two instructions that are too close.
struct HazardFinding {
  const Instr *earlier = nullptr, *later = nullptr;
  unsigned wanted = 0, found = 0; ///< wait states between them
};
/// Looks along all paths of a function for pairs that are too close, one for each later instruction. What happens
/// before the function's entry and inside of calls is not looked at.
std::vector<HazardFinding> findHazards(const isa::Target &target, const Cfg &cfg);
/// The first of them as an error that names both and what is missing.
Result<void> verifyHazards(const isa::Target &target, const Cfg &cfg);

} // namespace luthier::analysis
