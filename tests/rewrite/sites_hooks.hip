// Hooks with a variable per site, and hooks that look at what they are given.
#include <luthier/hook.h>

LUTHIER_PER_SITE uint32_t hits[2] = {0, 5}; // waves, lanes
LUTHIER_HOOK(wave) void hit() {
  luthier::atomicAdd(hits[0], 1);
  luthier::atomicAdd(hits[1], luthier::popcount(luthier::activeLanes()));
}
// The same in a lane hook that leaves nothing as it was: many registers, all lanes looked at.
LUTHIER_PER_SITE uint64_t laneHits;
LUTHIER_HOOK(lane) void hostileHit(uint32_t site) {
  uint64_t mixed = site;
  for (uint32_t n = 0; n < 3; ++n)
    mixed = luthier::shuffle(mixed * 0x9e3779b97f4a7c15 + luthier::match(mixed >> n), luthier::laneId() * 7 + n);
  if (luthier::isFirstLane())
    luthier::atomicAdd(laneHits, luthier::popcount(luthier::activeLanes()));
  else if (mixed == 0x123456789abcdef)
    luthier::atomicAdd(laneHits, 1ull << 60);
}

LUTHIER_DEVICE uint32_t compared, wrong;
// `relation`: bits for less, equal, greater.
LUTHIER_HOOK(lane) void check(uint32_t relation, bool isSigned, uint32_t a, uint32_t b, uint64_t result) {
  const uint32_t flip = isSigned ? 0x80000000 : 0;
  const uint32_t is = (a ^ flip) < (b ^ flip) ? 1 : a == b ? 2 : 4;
  luthier::atomicAdd(compared, 1);
  if (((relation & is) != 0) != (result >> luthier::laneId() & 1))
    luthier::atomicAdd(wrong, 1);
}

LUTHIER_PER_SITE uint64_t given;
LUTHIER_HOOK(wave) void give32(uint32_t value) { luthier::atomicStore(given, value); }
LUTHIER_HOOK(wave) void give64(uint64_t value) { luthier::atomicStore(given, value); }
LUTHIER_HOOK(lane) void most(uint64_t value) { luthier::atomicMax(given, value); }
