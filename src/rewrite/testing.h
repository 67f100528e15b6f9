// Faults that tests put into the rewriter, to see that they would be noticed (scripts/mutation.sh).
//
// LUTHIER_REWRITE_BREAK names one. For tests of the tests only: what is rewritten under it is wrong.
#pragma once

#include <cstdint>

namespace luthier::rewrite {

enum class Fault : uint8_t {
  None,
  Liveness,   ///< registers in use count as dead
  Placement,  ///< registers that are lent to a hook are not saved
  Waits,      ///< loads in flight are not looked at
  Scc,        ///< SCC is not saved
  Branches,   ///< the guest's branches keep their distances
  Descriptor, ///< the descriptor does not grow
};

/// What the environment says; read once.
Fault plantedFault();

} // namespace luthier::rewrite
