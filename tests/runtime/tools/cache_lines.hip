// Per memory instruction: how often it was executed, for how many lanes, and how many lines of 64 bytes these touched.
#include <luthier/hook.h>

LUTHIER_PER_SITE uint64_t counts[3];

LUTHIER_HOOK(lane) void access(uint64_t address) {
  const uint64_t same = luthier::match(address >> 6);
  if (luthier::laneId() == static_cast<uint32_t>(__builtin_ctzll(same)))
    luthier::atomicAdd(counts[2], 1);
  if (luthier::isFirstLane()) {
    luthier::atomicAdd(counts[0], 1);
    luthier::atomicAdd(counts[1], luthier::popcount(luthier::activeLanes()));
  }
}
