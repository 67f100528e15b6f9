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
  Placement,  ///< registers that a hook overwrites are not saved
  Waits,      ///< loads in flight are not looked at
  Scc,        ///< SCC is not saved
  Branches,   ///< the guest's branches keep their distances
  Descriptor, ///< the descriptor does not grow
  // Of these, a machine that is kinder than silicon knows nothing.
  Vccz,    ///< VCC is written by halves
  Sgprs,   ///< VCC, FLAT_SCRATCH and XNACK_MASK are used without being allocated
  Xnack,   ///< XNACK_MASK is borrowed although the hardware may write it
  Spacing, ///< nothing keeps wait states around inserted code, nor breaks between accesses that may be repeated
  Mode,    ///< hooks run in the guest's mode, and leave their exceptions behind
  Exports, ///< exports that still read their sources are not waited for
};

#ifdef LUTHIER_PLANT_FAULTS
/// What the environment says; read once.
Fault plantedFault();
#else
constexpr Fault plantedFault() { return Fault::None; }
#endif

} // namespace luthier::rewrite
