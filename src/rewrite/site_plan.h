// What is decided about a site before its code is written: registers for the fragment, and what must be saved around
// it. The order in which registers are taken is explained in placement.h.
#pragma once

#include "rewrite/placement.h"

namespace luthier::rewrite {

struct SitePlan {
  RegMap map;
  std::vector<InputBinding> copies; ///< inputs that are not bound directly
  std::vector<OutputBinding> results;
  std::vector<Reg> lentScalars, lentVectors;
  std::optional<Reg> scc, vcc, m0, exec; ///< where they are saved
  bool execGiven = false;                ///< the hook is given EXEC, and it is kept there
  std::optional<Reg> mode, flags;        ///< where MODE and the flags of exceptions are saved
  std::optional<Reg> spillBase;          ///< an SGPR with the spill area's offset
  bool scalarsInMemory = false;          ///< lent SGPRs are kept in the wave's scratch
  std::optional<Reg> lanes;              ///< a VGPR that keeps lent SGPRs
  bool lanesLent = false;                ///< it had to be saved itself, in all lanes
  std::optional<Reg> lanesExec;          ///< EXEC while that is done
  std::optional<Reg> lanesBase;          ///< and the spill area's offset
  std::optional<Reg> vectorsExec;        ///< EXEC while lent vector registers are saved in all lanes
  RegSet used;
  bool wait = false;
};

/// May make the kernel's registers more (`pool`). An error is the reason why the fragment cannot be placed there.
Result<SitePlan> planSite(const Glue &glue, RegisterPool &pool, const SpillArea &spill, const Site &site);

} // namespace luthier::rewrite
