// How many waves a launch has, which is known before it starts.
#pragma once

#include "luthier/tool.h"

#include <cstdint>

namespace luthier::runtime {

/// Work-items of a workgroup fill one wave after the other. Workgroups at the end of the grid may be smaller, and have
/// fewer waves.
constexpr uint64_t wavesOf(Dim3 grid, Dim3 workgroup, unsigned waveSize) {
  uint64_t waves = 0;
  for (unsigned smaller = 0; smaller < 8; ++smaller) { // along x, y and z: a bit each
    uint64_t groups = 1, items = 1;
    const auto along = [&](unsigned axis, uint32_t all, uint32_t each) {
      const bool last = smaller >> axis & 1;
      groups *= last ? 1 : all / each;
      items *= last ? all % each : each;
    };
    along(0, grid.x, workgroup.x);
    along(1, grid.y, workgroup.y);
    along(2, grid.z, workgroup.z);
    waves += groups * ((items + waveSize - 1) / waveSize);
  }
  return waves;
}

constexpr uint64_t workItemsOf(Dim3 grid) { return uint64_t{grid.x} * grid.y * grid.z; }

} // namespace luthier::runtime
