// What is decided about a site before its code is written: registers for the fragment, and what must be saved around
// it. The order in which registers are taken is explained in placement.h.
#pragma once

#include "rewrite/placement.h"

#include <array>

namespace luthier::rewrite {

struct SitePlan {
  RegMap map;
  std::vector<InputBinding> copies; ///< inputs that are not bound directly
  std::vector<OutputBinding> results;
  std::vector<Reg> spilledScalars, spilledVectors;
  bool checksFirst = false;              ///< Site::checks come before everything else
  std::optional<Reg> checkScc;           ///< where SCC is from then on; else it is kept as without them
  std::optional<Reg> checkValue;         ///< what they look at, where that is not in a scalar register
  std::optional<Reg> scc, vcc, m0, exec; ///< where they are saved
  std::optional<Reg> startLanes;         ///< where Site::startLanes is fetched to, if it is not in registers
  bool execGiven = false;                ///< the hook is given EXEC, and it is kept there
  std::optional<Reg> mode, flags;        ///< where MODE and the flags of exceptions are saved
  std::optional<Reg> spillBase;          ///< an SGPR with the spill area's offset
  bool scalarsInMemory = false;          ///< spilled SGPRs are kept in the wave's scratch
  std::vector<Reg> lanes;                ///< VGPRs that keep spilled SGPRs, one per lane
  unsigned lanesSpilled = 0;             ///< of these, the last ones: they had to be saved themselves, in all lanes
  std::optional<Reg> lanesExec;          ///< EXEC while that is done
  std::optional<Reg> lanesBase;          ///< and the spill area's offset
  std::optional<Reg> vectorsExec;        ///< EXEC while spilled vector registers are saved in all lanes
  RegSet used;
  bool wait = false;
};

/// A site's inputs and outputs, by the fragment's registers.
class SitePorts {
public:
  explicit SitePorts(const Site &site);
  /// The guest's registers that a cluster can stay in: what is only read, and what is changed in place.
  std::optional<Reg> directFor(const Cluster &cluster, const isa::Target &target) const;

private:
  bool readsExecWhereItIs(const Cluster &cluster) const;
  const Site &site_;
  std::array<const InputBinding *, number(Reg::End)> inputs_{};
  std::array<const OutputBinding *, number(Reg::End)> outputs_{};
};

/// May make the kernel's registers more (`pool`). An error is the reason why the fragment cannot be placed there.
Result<SitePlan> planSite(const Glue &glue, RegisterPool &pool, const SpillArea &spill, const Site &site);

} // namespace luthier::rewrite
