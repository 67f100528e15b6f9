// CPU levels: the vector handlers are compiled once per level, and the best one that the CPU has is chosen at start.
//
// LUTHIER_VGPU_LEVEL is the level's namespace, LUTHIER_VGPU_LANES the lanes of the waves that it is for, 64 or 32; both
// are set by the build (src/vgpu/exec/CMakeLists.txt).
#pragma once

#include "vgpu/exec/row.h"

#include <span>
#include <vector>

#ifndef LUTHIER_VGPU_LEVEL
#define LUTHIER_VGPU_LEVEL level_base
#endif
#ifndef LUTHIER_VGPU_LANES
#define LUTHIER_VGPU_LANES 64
#endif

namespace luthier::vgpu {

/// What one CPU level provides for waves of one size.
struct ExecLevel {
  const char *name; ///< of the CPU level
  unsigned lanes;
  std::span<const std::span<const Row>> tables; ///< the rows of each file of exec/
  Handler general;                              ///< any row with a lane loop, with any modifier
};

/// The level for this CPU and waves of `lanes` lanes; LUTHIER_VGPU_CPU=base|avx2|avx512 picks a lower one.
const ExecLevel &execLevel(unsigned lanes = 64);

} // namespace luthier::vgpu
