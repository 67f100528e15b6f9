// Faults that tests put into the rewriter, to see that they would be noticed (scripts/mutation.sh).
//
// They exist only in tests, which compile the files that include this one a second time, with LUTHIER_PLANT_FAULTS
// (tests/rewrite/CMakeLists.txt): there, LUTHIER_REWRITE_BREAK names a fault, and what is rewritten under it is wrong.
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

#ifdef LUTHIER_PLANT_FAULTS
/// What the environment says; read once.
Fault plantedFault();
#else
constexpr Fault plantedFault() { return Fault::None; }
#endif

} // namespace luthier::rewrite
