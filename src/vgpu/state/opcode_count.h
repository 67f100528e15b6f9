// What is counted while waves run.
#pragma once

#include <cstdint>

namespace luthier::vgpu {

/// Executions of one mnemonic. `lanes` adds up EXEC's population at each.
struct OpcodeCount {
  uint64_t waves = 0;
  uint64_t lanes = 0;
  void add(uint64_t active) {
    ++waves;
    lanes += active;
  }
};

} // namespace luthier::vgpu
