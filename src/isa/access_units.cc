#include "isa/access_units.h"

namespace luthier::isa {

AccessUnits accessUnits(const Target &target) {
  const auto [major, minor, step] = target.version;
  AccessUnits units;
  const bool cdna3 = major == 9 && minor >= 4; // CDNA 3 manual, 9.1; RDNA has lines of 128 bytes since gfx10
  if (cdna3 || major >= 10)
    units.cacheLine = 128;
  units.ldsWideReadsInterleave = major == 9 && (minor >= 4 || step >= 10);
  return units;
}

} // namespace luthier::isa
