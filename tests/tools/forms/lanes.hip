// Lanes look at each other's values, of 32 and 64 bits.
#include <luthier/hook.h>

LUTHIER_PER_LAUNCH uint64_t lanes, wrong;

__device__ uint64_t wideOf(uint32_t lane) { return uint64_t{lane} << 32 | 7; }
LUTHIER_HOOK(lane) void count() {
  const uint32_t lane = luthier::laneId();
  const uint64_t narrow = luthier::match(lane & 3), wide = luthier::match(wideOf(lane & 3)); // of four groups each
  const uint32_t first = __builtin_ctzll(wide);
  if (lane == first)
    luthier::atomicAdd(lanes, luthier::popcount(wide));
  const uint32_t leader = luthier::readFirstLane(lane);
  const bool good = narrow == wide && luthier::shuffle(wideOf(lane), first) == wideOf(first) &&
                    luthier::shuffle(lane, first) == first &&
                    luthier::readLane(wideOf(lane), leader) == wideOf(leader) && luthier::any(lane == leader) &&
                    luthier::all(lane >= leader) && luthier::ballot(true) == luthier::activeLanes();
  if (!good)
    luthier::atomicAdd(wrong, 1);
}
