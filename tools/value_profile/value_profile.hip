// Per instruction: which of its results could have been known before, because all lanes have the same, or each lane a
// constant more than its neighbour, or always the same as at first.
#include <luthier/hook.h>

#include "counters.h"

LUTHIER_PER_SITE uint64_t counters[value_profile::kCounters];
LUTHIER_PER_SITE uint64_t first; // a value that some wave had in its first lane, with bit 32 set

LUTHIER_HOOK(lane) void value(uint32_t value) {
  const uint64_t active = luthier::activeLanes(), others = active & (active - 1);
  const uint32_t lane = luthier::laneId(), leader = static_cast<uint32_t>(__builtin_ctzll(active));
  const uint32_t second = static_cast<uint32_t>(__builtin_ctzll(others ? others : active));
  const uint32_t base = luthier::readLane(value, leader), distance = value - base;
  const uint32_t stride = luthier::readLane(distance, second);
  const bool uniform = luthier::all(distance == 0);
  const bool strided = !uniform && luthier::all(distance * (second - leader) == (lane - leader) * stride);
  const bool zero = luthier::all(value == 0);
  uint64_t known = 0;
  if (lane == leader) {
    const uint64_t mine = 1ull << 32 | base;
    known = luthier::atomicCompareExchange(first, 0, mine);
    known = known ? known : mine;
  }
  const bool constant = uniform && luthier::readLane(static_cast<uint32_t>(known), leader) == base;
  if (lane != leader)
    return;
  luthier::atomicAdd(counters[value_profile::Executed], 1);
  luthier::atomicAdd(counters[value_profile::Lanes], luthier::popcount(active));
  luthier::atomicAdd(counters[value_profile::Constant], constant);
  luthier::atomicAdd(counters[value_profile::Uniform], uniform);
  luthier::atomicAdd(counters[value_profile::Strided], strided);
  luthier::atomicAdd(counters[value_profile::Zero], zero);
}
