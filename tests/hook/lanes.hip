// Hooks that exchange values between lanes, run for waves of either size by lanes_test.cc.

#include <luthier/hook.h>

LUTHIER_DEVICE uint64_t masks[2];

LUTHIER_HOOK(lane) uint32_t first32(uint32_t x) { return luthier::readFirstLane(x); }
LUTHIER_HOOK(lane) uint64_t first64(uint64_t x) { return luthier::readFirstLane(x); }
LUTHIER_HOOK(lane) uint32_t lane32(uint32_t x, uint32_t lane) { return luthier::readLane(x, lane); }
LUTHIER_HOOK(lane) double lane64(double x, uint32_t lane) { return luthier::readLane(x, lane); }
LUTHIER_HOOK(lane) float shuffle32(float x, uint32_t lane) { return luthier::shuffle(x, lane); }
LUTHIER_HOOK(lane) uint64_t shuffle64(uint64_t x, uint32_t lane) { return luthier::shuffle(x, lane); }
LUTHIER_HOOK(lane) uint64_t match32(float x) { return luthier::match(x); }
LUTHIER_HOOK(lane) uint64_t match64(uint64_t x) { return luthier::match(x); }
LUTHIER_HOOK(lane) uint32_t anyAll(uint32_t x) { return luthier::any(x & 1) | luthier::all(x & 1) << 1; }
// The mask at the point of insertion, asked for where one lane is left.
LUTHIER_HOOK(lane) void active() {
  if (luthier::isFirstLane()) {
    masks[0] = luthier::activeLanes();
    masks[1] = luthier::exec();
  }
}
LUTHIER_HOOK(wave) uint64_t waveActive() { return luthier::activeLanes(); }
// Lanes of each value elect one that adds up for all.
LUTHIER_DEVICE uint32_t perValue[8];
LUTHIER_HOOK(lane) void aggregate(uint32_t x) {
  const uint64_t peers = luthier::match(x);
  if (luthier::laneId() == static_cast<uint32_t>(__builtin_ctzll(peers)))
    luthier::atomicAdd(perValue[x & 7], luthier::popcount(peers));
}
