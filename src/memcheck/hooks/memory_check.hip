// Before each access to memory: is every byte of it where it may be accessed? (shared.h)
//
// Nearly all accesses of a site go to one allocation, whose number in the table the site keeps in `hint`: these cost
// two loads and some comparisons. Others are looked up, and what is not found is handed to the host.
#include <luthier/hook.h>

#include "shared.h"

using memory_check::Problem;

template <class T> using Global = __attribute__((address_space(1))) T;
template <class T> using Constant = const __attribute__((address_space(4))) T;
using GlobalShared = Global<memory_check::Shared>;

LUTHIER_PER_SITE uint32_t hint;

namespace {

/// Adds once for a wave, which gets the old value; host and GPUs see these atomics.
__device__ uint32_t addOnce(bool first, Global<uint32_t> *to, uint32_t value) {
  uint32_t old = 0;
  if (first) {
    // LLVM does not know that this is one lane, and would sum up over lanes.
    uint32_t nothing = 0;
    asm("" : "+v"(nothing));
    to = (Global<uint32_t> *)((Global<char> *)to + nothing);
    old = __hip_atomic_fetch_add(to, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
  }
  return luthier::readFirstLane(old);
}

__device__ uint32_t load(Global<uint32_t> *from) {
  return luthier::readFirstLane(__hip_atomic_load(from, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM));
}

/// Whether the slot is this wave's now.
__device__ bool takeSlot(Global<memory_check::Slot> *slot, bool first, uint32_t ticket) {
  uint32_t expected = 0;
  if (first)
    __hip_atomic_compare_exchange_strong(&slot->owner, &expected, ticket, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED,
                                         __HIP_MEMORY_SCOPE_SYSTEM);
  return luthier::readFirstLane(expected) == 0;
}

/// Hands the access of the lanes with `bad` over to the host, and waits until it has been judged.
__device__ void report(GlobalShared *shared, uint32_t site, Problem problem, uint32_t limit, bool bad,
                       uint64_t address) {
  const uint64_t lanes = luthier::ballot(bad);
  if (!bad)
    return;
  const bool first = luthier::isFirstLane();
  if (addOnce(first, &shared->counts[site], 1) >= memory_check::kMostRecords)
    return;
  uint32_t ticket = addOnce(first, &shared->tickets, 1) + 1;
  ticket += ticket == 0;
  Global<memory_check::Slot> *slot = &shared->slots[ticket % memory_check::kSlots];
  while (!takeSlot(slot, first, ticket)) {
    if (load(&shared->stopped)) {
      addOnce(first, &shared->lost, 1);
      return;
    }
    __builtin_amdgcn_s_sleep(8);
  }
  slot->addresses[luthier::laneId()] = address;
  if (first) {
    slot->site = site;
    slot->problem = problem;
    slot->launch = luthier::launchNumber();
    slot->lanes = lanes;
    slot->kernarg = (uint64_t)luthier::kernargPtr();
    slot->workgroup[0] = luthier::workgroupId(0);
    slot->workgroup[1] = luthier::workgroupId(1);
    slot->workgroup[2] = luthier::workgroupId(2);
    slot->item[0] = luthier::workitemId(0);
    slot->item[1] = luthier::workitemId(1);
    slot->item[2] = luthier::workitemId(2);
    slot->limit = limit;
    __hip_atomic_store(&slot->ready, ticket, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
  }
  while (load(&slot->ready) == ticket && !load(&shared->stopped))
    __builtin_amdgcn_s_sleep(8);
}

__device__ bool covers(uint64_t begin, uint64_t end, uint64_t address, uint32_t bytes) {
  return address >= begin && address < end && bytes <= end - address;
}

/// Bytes of LDS that the workgroup has: in the packet.
__device__ uint32_t ldsBytes() {
  constexpr uint32_t kGroupSegmentSize = 28;
  return *(Constant<uint32_t> *)((uint64_t)luthier::dispatchPtr() + kGroupSegmentSize);
}

/// Whether `bytes` at `offset` are beyond a segment.
__device__ bool isBeyond(uint32_t offset, uint32_t bytes, uint32_t size) {
  return offset > size || bytes > size - offset;
}

/// Whether the lane's access is in no range of the table. `scalar`: one that arguments may be in counts for none.
__device__ bool isMissing(GlobalShared *shared, uint64_t address, uint32_t bytes, bool scalar) {
  Constant<memory_check::Shared> *fixed = (Constant<memory_check::Shared> *)shared;
  const uint32_t current = fixed->current & 1;
  Constant<memory_check::Table> *table = &fixed->tables[current];
  const uint32_t last = luthier::readFirstLane(luthier::atomicLoad(hint)) % memory_check::kMostRanges;
  bool missing = !covers(table->ranges[last].begin, table->ranges[last].end, address, bytes) ||
                 (scalar && table->ranges[last].arguments);
  if (__builtin_expect(!luthier::any(missing), true))
    return false;
  // The last range that does not begin behind the address.
  Global<const memory_check::Range> *ranges = (Global<const memory_check::Range> *)table->ranges;
  uint32_t low = 0, high = (uint32_t)table->count;
  while (low < high) {
    const uint32_t middle = (low + high) / 2;
    if (ranges[middle].begin <= address)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == 0)
    return true;
  const uint32_t found = low - 1;
  missing = !covers(ranges[found].begin, ranges[found].end, address, bytes) || (scalar && ranges[found].arguments);
  if (!missing)
    luthier::atomicStore(hint, found);
  return missing;
}

__device__ void checkMemory(GlobalShared *shared, uint32_t site, uint64_t address, uint32_t bytes, uint32_t odd) {
  const bool misaligned = address & odd;
  const bool missing = !misaligned && isMissing(shared, address, bytes, false);
  if (__builtin_expect(luthier::any(missing), false))
    report(shared, site, memory_check::NotAccessible, 0, missing, address);
  if (odd && __builtin_expect(luthier::any(misaligned), false))
    report(shared, site, memory_check::Misaligned, 0, misaligned, address);
}

} // namespace

// `odd`: of an atomic operation, the bits of the address that must be 0.

LUTHIER_HOOK(lane)
void global(memory_check::Shared *shared, uint32_t site, uint64_t address, uint32_t bytes, uint32_t odd) {
  checkMemory((GlobalShared *)shared, site, address, bytes, odd);
}

// An address of 64 bits may be one of LDS or scratch, too: these have windows of their own.
LUTHIER_HOOK(lane)
void flat(memory_check::Shared *generic, uint32_t site, uint64_t address, uint32_t bytes, uint32_t odd,
          uint32_t scratchBytes) {
  GlobalShared *shared = (GlobalShared *)generic;
  const void *pointer = (const void *)address;
  const bool inLds = __builtin_amdgcn_is_shared((const __attribute__((address_space(0))) void *)pointer);
  const bool inScratch = __builtin_amdgcn_is_private((const __attribute__((address_space(0))) void *)pointer);
  const uint32_t offset = (uint32_t)address;
  if (__builtin_expect(luthier::any(inLds || inScratch), false)) {
    const uint32_t size = ldsBytes();
    const bool badLds = inLds && isBeyond(offset, bytes, size);
    if (luthier::any(badLds))
      report(shared, site, memory_check::OutsideLds, size, badLds, offset);
    const bool badScratch = inScratch && isBeyond(offset, bytes, scratchBytes);
    if (luthier::any(badScratch))
      report(shared, site, memory_check::OutsideScratch, scratchBytes, badScratch, offset);
  }
  if (!inLds && !inScratch)
    checkMemory(shared, site, address, bytes, odd);
}

LUTHIER_HOOK(lane)
void lds(memory_check::Shared *generic, uint32_t site, uint32_t offset, uint32_t bytes, uint32_t odd) {
  GlobalShared *shared = (GlobalShared *)generic;
  const uint32_t size = ldsBytes();
  const bool outside = isBeyond(offset, bytes, size);
  if (__builtin_expect(luthier::any(outside), false))
    report(shared, site, memory_check::OutsideLds, size, outside, offset);
  const bool misaligned = !outside && (offset & odd);
  if (odd && __builtin_expect(luthier::any(misaligned), false))
    report(shared, site, memory_check::MisalignedLds, size, misaligned, offset);
}

LUTHIER_HOOK(lane)
void scratch(memory_check::Shared *generic, uint32_t site, uint32_t offset, uint32_t bytes, uint32_t scratchBytes) {
  const bool outside = isBeyond(offset, bytes, scratchBytes);
  if (__builtin_expect(luthier::any(outside), false))
    report((GlobalShared *)generic, site, memory_check::OutsideScratch, scratchBytes, outside, offset);
}

// Only the resource of scratch memory adds the lane's number to addresses: each dword of a lane is followed by those of
// the other lanes.
LUTHIER_HOOK(lane)
void buffer(memory_check::Shared *generic, uint32_t site, uint64_t address, uint32_t bytes, uint32_t odd,
            memory_check::Resource resource, uint32_t scratchBytes) {
  GlobalShared *shared = (GlobalShared *)generic;
  constexpr uint32_t kAddTidEnable = 1 << 23;
  const uint64_t base = resource.words[0] | (uint64_t)(resource.words[1] & 0xffff) << 32;
  const uint64_t from = address - base;
  if (resource.words[3] & kAddTidEnable) {
    const uint32_t shift = luthier::waveSize() == 64 ? 6 : 5;
    const uint64_t row = from >> (shift + 2);
    const uint32_t offset = row >> 28 ? ~0u : (uint32_t)row * 4 + (uint32_t)(from & 3);
    const bool outside = isBeyond(offset, bytes, scratchBytes);
    if (__builtin_expect(luthier::any(outside), false))
      report(shared, site, memory_check::OutsideScratch, scratchBytes, outside, offset);
    return;
  }
  // What the resource cuts off is no access.
  const uint32_t stride = resource.words[1] >> 16 & 0x3fff;
  const uint64_t size = (uint64_t)resource.words[2] * (stride ? stride : 1);
  if (from < size && bytes <= size - from)
    checkMemory(shared, site, address, bytes, odd);
}

// `base`: the lower half of the instruction's base, whose two low bits the hardware ignores. Most scalar loads are of
// the kernel's own arguments.
LUTHIER_HOOK(lane)
void scalar(memory_check::Shared *generic, uint32_t site, uint64_t address, uint32_t bytes, uint32_t base,
            uint32_t argumentBytes) {
  GlobalShared *shared = (GlobalShared *)generic;
  if (__builtin_expect(base & 3, 0)) {
    report(shared, site, memory_check::Misaligned, 0, luthier::isFirstLane(), address + (base & 3));
    return;
  }
  const uint64_t arguments = (uint64_t)luthier::kernargPtr();
  if (covers(arguments, arguments + argumentBytes, address, bytes))
    return;
  if (isMissing(shared, address, bytes, true))
    report(shared, site, memory_check::NotAccessible, 0, luthier::isFirstLane(), address);
}
