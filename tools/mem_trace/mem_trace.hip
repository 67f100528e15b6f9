// One record per wave and access, in a ring that the host empties meanwhile (ring.h).
#include "ring.h"

#include <luthier/hook.h>

using GlobalRing = __attribute__((address_space(1))) mem_trace::Ring;
using GlobalSlot = __attribute__((address_space(1))) mem_trace::Slot;

LUTHIER_PER_LAUNCH uint32_t launchNumber;

namespace {

constexpr uint64_t kNone = ~0ull;

/// Host and GPUs see these atomics.
template <class T> __device__ T add(__attribute__((address_space(1))) T *to, T value) {
  return __hip_atomic_fetch_add(to, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}

/// The number of a ticket, or kNone when there is no slot, after `tries` more times.
__device__ uint64_t take(GlobalRing *ring, uint32_t tries) {
  while (add<int64_t>(&ring->free, -1) <= 0) {
    add<int64_t>(&ring->free, 1);
    if (tries == 0) {
      add<uint64_t>(&ring->lost, 1);
      return kNone;
    }
    --tries;
    __builtin_amdgcn_s_sleep(8);
  }
  return add<uint64_t>(&ring->next, 1);
}

__device__ void publish(GlobalSlot *slot, uint32_t site, uint64_t lanes, uint64_t ticket) {
  slot->site = site;
  slot->launch = launchNumber;
  slot->lanes = lanes;
  __hip_atomic_store(&slot->sequence, ticket + 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
}

__device__ void record(mem_trace::Ring *generic, uint32_t site, uint32_t tries, uint64_t address) {
  GlobalRing *ring = (GlobalRing *)generic;
  const uint64_t lanes = luthier::exec();
  const bool first = luthier::isFirstLane();
  uint64_t ticket = 0;
  if (first)
    ticket = take(ring, tries);
  ticket = luthier::readFirstLane(static_cast<uint32_t>(ticket)) |
           static_cast<uint64_t>(luthier::readFirstLane(static_cast<uint32_t>(ticket >> 32))) << 32;
  if (ticket == kNone)
    return;
  GlobalSlot *slot = &ring->slots[ticket & ring->mask];
  slot->addresses[luthier::laneId()] = address;
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, ""); // for all lanes: what follows is done by one
  if (first)
    publish(slot, site, lanes, ticket);
}

} // namespace

LUTHIER_HOOK(lane) void access(mem_trace::Ring *ring, uint32_t site, uint32_t tries, uint64_t address) {
  record(ring, site, tries, address);
}

// For LDS, GDS and scratch, whose addresses have 32 bits.
LUTHIER_HOOK(lane) void access32(mem_trace::Ring *ring, uint32_t site, uint32_t tries, uint32_t address) {
  record(ring, site, tries, address);
}

LUTHIER_HOOK(wave) void scalarAccess(mem_trace::Ring *generic, uint32_t site, uint32_t tries, uint64_t address) {
  GlobalRing *ring = (GlobalRing *)generic;
  const uint64_t ticket = take(ring, tries);
  if (ticket == kNone)
    return;
  GlobalSlot *slot = &ring->slots[ticket & ring->mask];
  slot->addresses[0] = address;
  publish(slot, site, 1, ticket);
}
