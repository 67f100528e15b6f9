// Before each access to memory: is every byte of it where it may be accessed? (shared.h)
//
// Nearly all accesses of a site go to one allocation, whose place in the table the site keeps in `hint`: these cost
// three loads and a comparison. Others are looked up, and what is not found is handed to the host.
#include <luthier/hook.h>

#include "shared.h"

using memory_check::Problem;

template <class T> using Global = __attribute__((address_space(1))) T;
template <class T> using Constant = const __attribute__((address_space(4))) T;
using GlobalShared = Global<memory_check::Shared>;

LUTHIER_PER_SITE uint32_t hint; // bytes from the first range
LUTHIER_PER_LANE uint32_t item; // the work-item, as in a record

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
  if (load(&shared->judged[site]) >= memory_check::kMostJudged) {
    addOnce(first, &shared->counted[site], 1);
    return;
  }
  uint32_t ticket = addOnce(first, &shared->tickets, 1) + 1;
  ticket += ticket == 0;
  Global<memory_check::Slot> *slot = &shared->slots[ticket % memory_check::kSlots];
  bool taken = false;
  for (; !load(&shared->stopped) && !taken; taken = takeSlot(slot, first, ticket))
    __builtin_amdgcn_s_sleep(8);
  if (!taken) {
    addOnce(first, &shared->lost, 1);
    return;
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
    slot->item = item;
    slot->limit = limit;
    __hip_atomic_store(&slot->ready, ticket, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
  }
  while (load(&slot->ready) == ticket && !load(&shared->stopped))
    __builtin_amdgcn_s_sleep(8);
}

__device__ bool covers(uint64_t begin, uint64_t end, uint64_t address, uint32_t bytes) {
  const uint64_t last = end - begin - bytes;
  return static_cast<int32_t>(last >> 32) >= 0 && address - begin <= last; // no range has as much as 2^63 bytes
}

/// Bytes of LDS that the workgroup has: in the packet.
__device__ uint32_t ldsBytes() {
  constexpr uint32_t kGroupSegmentSize = 28;
  return *(Constant<uint32_t> *)((uint64_t)luthier::dispatchPtr() + kGroupSegmentSize);
}

/// Whether `bytes` at `offset` are beyond a segment.
__device__ bool isBeyond(uint32_t offset, uint32_t bytes, uint32_t size) {
  return size < bytes || offset > size - bytes;
}

/// Whether the lane's access is in no range of the table. `scalar`: one that arguments may be in counts for none.
__device__ bool isMissing(GlobalShared *shared, uint64_t address, uint32_t bytes, bool scalar) {
  using memory_check::Range;
  Constant<memory_check::Table> *table =
      (Constant<memory_check::Table> *)((Constant<memory_check::Shared> *)shared)->current;
  constexpr uint32_t kLast = (memory_check::kMostRanges - 1) * sizeof(Range);
  const uint32_t at = luthier::readFirstLane(luthier::atomicLoad(hint));
  Constant<Range> *last = (Constant<Range> *)((Constant<char> *)table->ranges + (at < kLast ? at : kLast));
  bool missing = !covers(last->begin, last->end, address, bytes) || (scalar && last->arguments);
  if (__builtin_expect(!luthier::any(missing), true))
    return false;
  // The last range that does not begin behind the address.
  Global<const Range> *ranges = (Global<const Range> *)table->ranges;
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
    luthier::atomicStore(hint, found * (uint32_t)sizeof(Range));
  return missing;
}

__device__ void checkMemory(GlobalShared *shared, uint32_t site, uint64_t address, uint32_t bytes) {
  const bool missing = isMissing(shared, address, bytes, false);
  if (__builtin_expect(luthier::any(missing), false))
    report(shared, site, memory_check::NotAccessible, 0, missing, address);
}

/// Of an atomic operation, which hardware does not do where it is not aligned.
__device__ void checkAtomic(GlobalShared *shared, uint32_t site, uint64_t address, uint32_t bytes) {
  const bool misaligned = address & (bytes - 1);
  if (__builtin_expect(luthier::any(misaligned), false))
    report(shared, site, memory_check::Misaligned, 0, misaligned, address);
  if (!misaligned)
    checkMemory(shared, site, address, bytes);
}

__device__ void checkFlat(GlobalShared *shared, uint32_t site, uint64_t address, uint32_t bytes, uint32_t scratchBytes,
                          bool atomic) {
  const auto *pointer = (const __attribute__((address_space(0))) void *)address;
  const bool inLds = __builtin_amdgcn_is_shared(pointer), inScratch = __builtin_amdgcn_is_private(pointer);
  const uint32_t offset = (uint32_t)address;
  if (__builtin_expect(luthier::any(inLds || inScratch), false)) {
    const uint32_t size = ldsBytes();
    report(shared, site, memory_check::OutsideLds, size, inLds && isBeyond(offset, bytes, size), offset);
    report(shared, site, memory_check::OutsideScratch, scratchBytes, inScratch && isBeyond(offset, bytes, scratchBytes),
           offset);
  }
  if (inLds || inScratch)
    return;
  if (atomic)
    checkAtomic(shared, site, address, bytes);
  else
    checkMemory(shared, site, address, bytes);
}

/// Only the resource of scratch memory adds the lane's number to addresses: each dword of a lane is followed by those
/// of the other lanes. Whether it is that; if so, it has been checked.
__device__ bool checkSwizzled(GlobalShared *shared, uint32_t site, uint64_t from, uint32_t bytes,
                              const memory_check::Resource &resource, uint32_t scratchBytes) {
  constexpr uint32_t kAddTidEnable = 1 << 23;
  if (!(resource.words[3] & kAddTidEnable))
    return false;
  const uint64_t row = from >> ((luthier::waveSize() == 64 ? 6 : 5) + 2);
  const uint32_t offset = row >> 28 ? ~0u : (uint32_t)row * 4 + (uint32_t)(from & 3);
  const bool outside = isBeyond(offset, bytes, scratchBytes);
  if (__builtin_expect(luthier::any(outside), false))
    report(shared, site, memory_check::OutsideScratch, scratchBytes, outside, offset);
  return true;
}

__device__ void checkBuffer(GlobalShared *shared, uint32_t site, uint64_t address, uint32_t bytes,
                            const memory_check::Resource &resource, uint32_t scratchBytes, bool atomic) {
  const uint64_t base = resource.words[0] | (uint64_t)(resource.words[1] & 0xffff) << 32, from = address - base;
  if (checkSwizzled(shared, site, from, bytes, resource, scratchBytes))
    return;
  // What the resource cuts off is no access.
  const uint32_t stride = resource.words[1] >> 16 & 0x3fff;
  if (!covers(0, (uint64_t)resource.words[2] * (stride ? stride : 1), from, bytes))
    return;
  if (atomic)
    checkAtomic(shared, site, address, bytes);
  else
    checkMemory(shared, site, address, bytes);
}

} // namespace

LUTHIER_HOOK(lane) void start() {
  item = luthier::workitemId(0) | luthier::workitemId(1) << 10 | luthier::workitemId(2) << 20;
}

LUTHIER_HOOK(lane) void global(memory_check::Shared *shared, uint32_t site, uint64_t address, uint32_t bytes) {
  checkMemory((GlobalShared *)shared, site, address, bytes);
}

LUTHIER_HOOK(lane) void globalAtomic(memory_check::Shared *shared, uint32_t site, uint64_t address, uint32_t bytes) {
  checkAtomic((GlobalShared *)shared, site, address, bytes);
}

// An address of 64 bits may be one of LDS or scratch, too: these have windows of their own.
LUTHIER_HOOK(lane)
void flat(memory_check::Shared *shared, uint32_t site, uint64_t address, uint32_t bytes, uint32_t scratchBytes) {
  checkFlat((GlobalShared *)shared, site, address, bytes, scratchBytes, false);
}

LUTHIER_HOOK(lane)
void flatAtomic(memory_check::Shared *shared, uint32_t site, uint64_t address, uint32_t bytes, uint32_t scratchBytes) {
  checkFlat((GlobalShared *)shared, site, address, bytes, scratchBytes, true);
}

LUTHIER_HOOK(lane) void lds(memory_check::Shared *shared, uint32_t site, uint32_t offset, uint32_t bytes) {
  const uint32_t size = ldsBytes();
  const bool outside = isBeyond(offset, bytes, size);
  if (__builtin_expect(luthier::any(outside), false))
    report((GlobalShared *)shared, site, memory_check::OutsideLds, size, outside, offset);
}

LUTHIER_HOOK(lane) void ldsAtomic(memory_check::Shared *shared, uint32_t site, uint32_t offset, uint32_t bytes) {
  const uint32_t size = ldsBytes();
  const bool outside = isBeyond(offset, bytes, size), misaligned = !outside && (offset & (bytes - 1));
  if (__builtin_expect(luthier::any(outside || misaligned), false)) {
    report((GlobalShared *)shared, site, memory_check::OutsideLds, size, outside, offset);
    report((GlobalShared *)shared, site, memory_check::MisalignedLds, size, misaligned, offset);
  }
}

LUTHIER_HOOK(lane)
void scratch(memory_check::Shared *generic, uint32_t site, uint32_t offset, uint32_t bytes, uint32_t scratchBytes) {
  const bool outside = isBeyond(offset, bytes, scratchBytes);
  if (__builtin_expect(luthier::any(outside), false))
    report((GlobalShared *)generic, site, memory_check::OutsideScratch, scratchBytes, outside, offset);
}

LUTHIER_HOOK(lane)
void buffer(memory_check::Shared *shared, uint32_t site, uint64_t address, uint32_t bytes,
            memory_check::Resource resource, uint32_t scratchBytes) {
  checkBuffer((GlobalShared *)shared, site, address, bytes, resource, scratchBytes, false);
}

LUTHIER_HOOK(lane)
void bufferAtomic(memory_check::Shared *shared, uint32_t site, uint64_t address, uint32_t bytes,
                  memory_check::Resource resource, uint32_t scratchBytes) {
  checkBuffer((GlobalShared *)shared, site, address, bytes, resource, scratchBytes, true);
}

// `base`: the lower half of the instruction's base, whose two low bits the hardware ignores. Most scalar loads are of
// the kernel's own arguments. `argumentBytes` is 0 where it is not known how many there are.
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
  if (isMissing(shared, address, bytes, argumentBytes))
    report(shared, site, memory_check::NotAccessible, 0, luthier::isFirstLane(), address);
}
