// Memory accesses that the hardware may repeat: XNACK.
//
// Where XNACK is on, an access to a page that is not there is executed again when it is. Memory instructions that
// follow each other without anything between form a run (LLVM: soft clause) that may be executed again as a whole: none
// of it may overwrite a register that another of it, or it itself, reads, and no store may come behind a load, which
// would load what was stored. Anything between ends a run; s_nop will do.
//
// Compilers see to it for code of theirs; inserted code makes new runs. Scalar and vector memory instructions form runs
// of their own. tests/analysis/hazards_test.cc compares with what LLVM inserts with +xnack; LLVM does not look at FLAT
// and its like here, but keeps them apart elsewhere (SIFormMemoryClauses), so that they count as vector memory.
#pragma once

#include "analysis/cfg.h"
#include "luthier/instr.h"
#include "object/code_object.h"
#include "support/result.h"

#include <span>

namespace luthier::analysis {

/// Whether accesses of the object's kernels may be repeated: unless it says that XNACK is off.
bool mayReplay(const object::CodeObject &object);

/// Whether something must come between the last of `before` and the first of `after`, both in the order of execution.
/// Each for itself is right.
bool needsBreak(std::span<const Instr *const> before, std::span<const Instr *const> after);

/// Looks for a run in one block that may not be executed again; the error names the instruction at fault.
Result<void> verifyReplays(const Cfg &cfg);

} // namespace luthier::analysis
