// One record per wave and access, in a ring that the host empties meanwhile (ring.h).
#include "ring.h"

#include <luthier/hook.h>

template <class T> using Global = __attribute__((address_space(1))) T;
using GlobalRing = Global<mem_trace::Ring>;
using GlobalSlot = Global<mem_trace::Slot>;

LUTHIER_PER_LAUNCH uint32_t launchNumber;

namespace {

/// Adds once for a wave, which gets the old value's low half; host and GPUs see these atomics.
template <class T> __device__ uint32_t addOnce(bool first, Global<T> *to, T value) {
  T old = 0;
  if (first) {
    // LLVM does not know that this is one lane: at an address that is the same for all lanes it would first sum up over
    // them, in more instructions than all the rest takes.
    uint32_t nothing = 0;
    asm("" : "+v"(nothing));
    to = (Global<T> *)((Global<char> *)to + nothing);
    old = __hip_atomic_fetch_add(to, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
  }
  return luthier::readFirstLane(static_cast<uint32_t>(old));
}

__device__ bool takeFree(GlobalRing *ring, bool first) {
  return static_cast<int32_t>(addOnce<int32_t>(first, &ring->free, -1)) > 0;
}

__device__ bool isStopped(GlobalRing *ring) {
  return luthier::readFirstLane(__hip_atomic_load(&ring->stopped, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM));
}

/// Whether there is a slot; if `wait`, there is one sooner or later, unless the host has stopped to take records.
__device__ bool reserve(GlobalRing *ring, bool first, uint32_t wait) {
  if (__builtin_expect(takeFree(ring, first), true))
    return true;
  for (;;) {
    addOnce<int32_t>(first, &ring->free, 1);
    if (!wait || isStopped(ring))
      break;
    __builtin_amdgcn_s_sleep(8);
    if (takeFree(ring, first))
      return true;
  }
  addOnce<uint64_t>(first, &ring->lost, 1);
  return false;
}

__device__ GlobalSlot *slotOf(GlobalRing *ring, uint32_t mask, uint32_t ticket) { return &ring->slots[ticket & mask]; }

/// A wave waits for what all its lanes have stored, so that one lane may publish what the others wrote.
__device__ void publish(GlobalSlot *slot, uint32_t site, uint32_t launch, uint64_t lanes, uint32_t ticket) {
  slot->site = site;
  slot->launch = launch;
  slot->lanes = lanes;
  __hip_atomic_store(&slot->sequence, ticket + 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
}

__device__ void record(GlobalRing *ring, uint32_t mask, uint32_t wait, uint32_t site, uint64_t address) {
  const uint32_t launch = launchNumber; // there when it is needed
  const uint64_t lanes = luthier::exec();
  const bool first = luthier::isFirstLane();
  if (!reserve(ring, first, wait))
    return;
  const uint32_t ticket = addOnce<uint32_t>(first, &ring->next, 1);
  GlobalSlot *slot = slotOf(ring, mask, ticket);
  slot->addresses[luthier::laneId()] = address;
  if (first)
    publish(slot, site, launch, lanes, ticket);
}

} // namespace

// `mask` is the number of slots minus 1; `wait`: for room, instead of dropping the record.
LUTHIER_HOOK(lane)
void access(mem_trace::Ring *ring, uint32_t mask, uint32_t wait, uint32_t site, uint64_t address) {
  record((GlobalRing *)ring, mask, wait, site, address);
}

// For LDS, GDS and scratch, whose addresses have 32 bits.
LUTHIER_HOOK(lane)
void access32(mem_trace::Ring *ring, uint32_t mask, uint32_t wait, uint32_t site, uint32_t address) {
  record((GlobalRing *)ring, mask, wait, site, address);
}

LUTHIER_HOOK(wave)
void scalarAccess(mem_trace::Ring *generic, uint32_t mask, uint32_t wait, uint32_t site, uint64_t address) {
  GlobalRing *ring = (GlobalRing *)generic;
  const uint32_t launch = launchNumber;
  if (!reserve(ring, true, wait))
    return;
  const uint32_t ticket = addOnce<uint32_t>(true, &ring->next, 1);
  GlobalSlot *slot = slotOf(ring, mask, ticket);
  slot->addresses[0] = address;
  publish(slot, site, launch, 1, ticket);
}
