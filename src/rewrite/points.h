// Where insertions go: each request as points of functions' code.
#pragma once

#include "analysis/liveness.h"
#include "analysis/program.h"
#include "isa/target.h"
#include "rewrite/rewriter.h"

#include <functional>
#include <map>
#include <vector>

namespace luthier::rewrite {

/// Insertions (by number) around the instructions of one function.
struct FunctionPoints {
  std::vector<uint32_t> entry; ///< once per call
  struct AtInstr {
    std::vector<uint32_t> blockEntry, before, exit, after;
    /// Asked for further down, by index: behind this instruction the wave has no vector registers any more.
    std::map<uint32_t, std::vector<uint32_t>> early;
    std::vector<uint32_t> instead; ///< of a removed instruction
    bool removed = false;
    bool insertsBefore() const {
      return !blockEntry.empty() || !before.empty() || !exit.empty() || !early.empty() || !instead.empty();
    }
  };
  std::map<uint32_t, AtInstr> instrs;                                   ///< by index
  std::map<std::pair<uint32_t, uint32_t>, std::vector<uint32_t>> edges; ///< by blocks

  bool empty() const { return entry.empty() && instrs.empty() && edges.empty(); }
};

/// Adds an insertion to where it belongs; `functions` and `points` go together. An error says why there is no such
/// point. `places` counts them.
///
/// What is asked for at a kernel's very end comes before the wave gives its vector registers back (gfx11 and later:
/// s_nop 0, s_sendmsg sendmsg(MSG_DEALLOC_VGPRS), s_endpgm), and not between these three.
Result<void> addPoints(const Insertion &insertion, uint32_t number,
                       const std::vector<const analysis::Function *> &functions, const isa::Target &target,
                       std::vector<FunctionPoints> &points, uint32_t &places);

/// Whether the instruction gives the wave's vector registers, and its scratch, back.
bool deallocatesVgprs(const Instr &instr, const isa::Target &target);

/// Calls `visit` for the insertions of each point: the instruction that their arguments refer to, and what is live
/// there. Points without any insertion that is `wanted` may be left out.
void forEachPoint(const analysis::Cfg &cfg, const FunctionPoints &points, const analysis::Liveness &liveness,
                  const std::function<bool(uint32_t insertion)> &wanted,
                  const std::function<void(const std::vector<uint32_t> &insertions, const Instr &at,
                                           const analysis::LiveSets &live)> &visit);

/// Registers that hooks at these points look at although the guest does not need them there any more. Nobody may use
/// them as spare ones, anywhere: a hook would see what another one left. `reads` are the guest's registers that an
/// insertion is given.
RegSet observedDead(const analysis::Cfg &cfg, const FunctionPoints &points, const analysis::Liveness &liveness,
                    const std::vector<RegSet> &reads);

/// The instruction that an insertion's arguments refer to; the function's first one for entries.
const Instr *instrOf(const Insertion &insertion, const std::vector<const analysis::Function *> &functions);

} // namespace luthier::rewrite
