// Where insertions go: each request as points of functions' code.
#pragma once

#include "analysis/liveness.h"
#include "analysis/program.h"
#include "rewrite/rewriter.h"

#include <map>
#include <vector>

namespace luthier::rewrite {

/// Insertions (by number) around the instructions of one function.
struct FunctionPoints {
  std::vector<uint32_t> entry; ///< once per call
  struct AtInstr {
    std::vector<uint32_t> blockEntry, before, exit, after;
    std::vector<uint32_t> instead; ///< of a removed instruction
    bool removed = false;
  };
  std::map<uint32_t, AtInstr> instrs;                                   ///< by index
  std::map<std::pair<uint32_t, uint32_t>, std::vector<uint32_t>> edges; ///< by blocks

  bool empty() const { return entry.empty() && instrs.empty() && edges.empty(); }
};

/// Adds an insertion to where it belongs; `functions` and `points` go together. An error says why there is no such
/// point. `places` counts them.
Result<void> addPoints(const Insertion &insertion, uint32_t number,
                       const std::vector<const analysis::Function *> &functions, std::vector<FunctionPoints> &points,
                       uint32_t &places);

/// Registers that hooks at these points look at although the guest does not need them there any more. Nobody may use
/// them as spare ones, anywhere: a hook would see what another one left. `reads` are the guest's registers that an
/// insertion is given.
RegSet observedDead(const analysis::Cfg &cfg, const FunctionPoints &points, const analysis::Liveness &liveness,
                    const std::vector<RegSet> &reads);

/// The instruction that an insertion's arguments refer to; the function's first one for entries.
const Instr *instrOf(const Insertion &insertion, const std::vector<const analysis::Function *> &functions);

} // namespace luthier::rewrite
