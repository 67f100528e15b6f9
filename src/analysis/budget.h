// Registers that a kernel has, and how many of them hooks could use over all its points: dead, and not about to be
// written by a load.
#pragma once

#include "analysis/liveness.h"
#include "analysis/waits.h"
#include "object/code_object.h"

namespace luthier::analysis {

/// What a kernel's descriptor allocates. Registers beyond it are not dead but do not exist for the kernel: they are in
/// no set here, and cost occupancy to get.
struct Allocation {
  unsigned sgprs = 0;    ///< s0 and up, without VCC and the like
  unsigned vgprs = 0;    ///< v0 and up
  unsigned accVgprs = 0; ///< a0 and up
  RegSet registers;      ///< all of these
  RegSet initialised;    ///< what a wave finds set up at its start: SGPRs, work-item ids, EXEC, MODE, FLAT_SCRATCH
};
Result<Allocation> allocationOf(const object::CodeObject &object, const object::Symbol &kernel);

/// How much there is over all points of a kernel.
struct Budget {
  uint64_t points = 0;
  uint64_t deadSgprs = 0, deadVgprs = 0; ///< sums over points; VGPRs dead in the active lanes
  uint64_t deadVgprsWave = 0;            ///< ... in all lanes
  uint64_t enough = 0;                   ///< points with 4 SGPRs and 2 VGPRs that are dead
  uint64_t enoughFree = 0;               ///< ... and that no load in flight will write
  uint64_t undefinedAtEntry = 0;         ///< registers live at the entry that nothing sets up

  Budget &operator+=(const Budget &other);
};
Budget measure(const Allocation &allocation, const Liveness &liveness, const Waits &waits);
/// Live at a kernel's entry although nothing sets them up.
RegSet undefinedAtEntry(const Allocation &allocation, const Liveness &liveness);

} // namespace luthier::analysis
