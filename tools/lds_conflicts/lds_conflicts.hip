// Per LDS instruction: cycles that its banks need for what the lanes of a wave ask for, and how many would do if no two
// of them wanted different words of one bank.
#include <luthier/hook.h>

#include "counters.h"

LUTHIER_PER_SITE uint64_t counters[lds_conflicts::kCounters];

namespace {

/// Cycles for the lanes that are `mine`, each of which wants the words from first to last: as many as the busiest bank
/// is asked for different words. A word goes to any number of lanes at once.
__device__ uint32_t cyclesOf(bool mine, uint32_t first, uint32_t last, uint32_t banks) {
  uint32_t cycles = 0;
  for (uint32_t bank = 0; bank < banks; ++bank) {
    const uint32_t word = first + (bank - first) % banks; // the first one in this bank
    uint32_t words = 0;
    bool waits = mine && word <= last;
    for (uint64_t left = luthier::ballot(waits); left; left = luthier::ballot(waits)) {
      waits &= word != luthier::readLane(word, static_cast<uint32_t>(__builtin_ctzll(left)));
      ++words;
    }
    cycles = words > cycles ? words : cycles;
  }
  return cycles;
}

} // namespace

/// `group`: lanes that are served at once, if there is no conflict; `interleaved`: lanes 4 to 7 and 16 to 19 are, say.
LUTHIER_HOOK(lane)
void access(uint32_t address, uint32_t bytes, uint32_t banks, uint32_t bankBytes, uint32_t group, bool interleaved) {
  const uint32_t lane = luthier::laneId();
  const uint32_t part = interleaved ? lane / 32 * 4 + ((lane / 4 % 4) ^ (lane / 16 % 2)) : lane / group;
  uint32_t cycles = 0, needed = 0;
  for (uint32_t n = 0; n < luthier::waveSize() / group; ++n) {
    const uint32_t its = cyclesOf(part == n, address / bankBytes, (address + bytes - 1) / bankBytes, banks);
    cycles += its;
    needed += its != 0;
  }
  if (!luthier::isFirstLane())
    return;
  luthier::atomicAdd(counters[lds_conflicts::Executed], 1);
  luthier::atomicAdd(counters[lds_conflicts::Lanes], luthier::popcount(luthier::activeLanes()));
  luthier::atomicAdd(counters[lds_conflicts::Needed], needed);
  luthier::atomicAdd(counters[lds_conflicts::Conflicts], cycles - needed);
  luthier::atomicMax(counters[lds_conflicts::Most], cycles - needed);
}
