// In which units the hardware serves accesses to memory: what tools count in. Programs do not depend on it, so it is no
// part of a target's row, which everything that executes or rewrites code includes.
#pragma once

#include "isa/target.h"

namespace luthier::isa {

struct AccessUnits {
  uint16_t cacheLine = 64;  ///< bytes of a line of the cache that vector memory instructions go to first
  uint8_t ldsBanks = 32;    ///< that serve one access to LDS
  uint8_t ldsBankBytes = 4; ///< that each of them gives or takes per cycle
  /// The lanes that a read of 128 bits is served for at once are 0 to 3 and 20 to 23, say (composable_kernel's page on
  /// bank conflicts, for CDNA); without, eight lanes in a row.
  bool ldsWideReadsInterleave = false;
};

AccessUnits accessUnits(const Target &target);

} // namespace luthier::isa
