#include "vgpu/wave/memory_check.h"

#include <algorithm>
#include <cstring>
#include <memory>

namespace luthier::vgpu {

namespace {

/// Where bad accesses go. A lane's part is as long as the widest access of a lane to swizzled memory.
class Sink {
public:
  static constexpr uint64_t kPart = 1024;

  bool has(uint64_t address) const {
    return bytes_ && address - reinterpret_cast<uint64_t>(bytes_.get()) < kPart * kMaxLanes;
  }
  /// Zeros.
  uint64_t at(unsigned lane, uint64_t bytes) {
    if (!bytes_)
      bytes_ = std::make_unique<uint8_t[]>(kPart * kMaxLanes);
    uint8_t *part = bytes_.get() + lane * kPart;
    memset(part, 0, std::min(bytes, kPart));
    return reinterpret_cast<uint64_t>(part);
  }

private:
  std::unique_ptr<uint8_t[]> bytes_;
};

/// The allocation that this thread found last: kernels come back to the same few.
struct LastRange {
  const MemoryCheck *check = nullptr;
  DeviceMask device = 0;
  uint64_t generation = 0, begin = 0, end = 0;
};

thread_local Sink sink;
thread_local LastRange lastRange;
/// What a fault that is about to be raised knows of its lanes.
thread_local struct {
  const Inst *inst = nullptr;
  BadAccess access;
} refused;

bool inLastRange(const Wave &wave, uint64_t address, uint64_t bytes) {
  return lastRange.check == wave.check && lastRange.device == wave.deviceMask && address >= lastRange.begin &&
         address < lastRange.end && bytes <= lastRange.end - address &&
         lastRange.generation == wave.check->allocations().generation();
}

} // namespace

/// Of memory that the page table knows as mapped.
bool MemoryCheck::allows(const Wave &wave, uint64_t address, uint64_t host, uint64_t bytes) const {
  const uint64_t generation = allocations_.generation();
  if (const auto range = allocations_.liveAround(address, bytes)) {
    // Managed memory is the host's, who may take it away.
    if (host == address && range->kind != Allocation::Kind::Managed)
      lastRange = {this, wave.deviceMask, generation, range->begin, range->end};
    return true;
  }
  if (host != address)
    return !allocations_.registeredNear(address, bytes);
  return !space_.guarded(address, bytes);
}

bool Wave::resolve(const Inst *inst, uint64_t &address, uint64_t size, bool write) {
  if (check && (inLastRange(*this, address, size) || sink.has(address)))
    return true;
  uint64_t host = address;
  if (memory->resolve(host, size, deviceMask) && (!check || check->allows(*this, address, host, size))) {
    address = host;
    return true;
  }
  BadAccess access;
  access.scalar = true;
  access.write = write;
  access.bytes = static_cast<uint32_t>(size);
  access.addresses[0] = address;
  if (!check) {
    refused = {inst, access};
    return false;
  }
  check->onFinding(*this, inst, access);
  address = sink.at(0, size);
  return true;
}

bool Wave::resolveLanes(const Inst *inst, uint64_t *address, uint64_t mask, uint64_t span, bool write, uint64_t low,
                        uint64_t high, uint64_t &bad) {
  if (check && high >= low && inLastRange(*this, low, high - low + span))
    return true;
  uint64_t wrong = 0;
  for (uint64_t m = mask; m; m &= m - 1) {
    uint64_t &a = address[__builtin_ctzll(m)];
    if ((a < AddressSpace::kEnd && memory->allows(a, span, deviceMask)) || (check && sink.has(a)))
      continue;
    uint64_t host = a;
    if (memory->resolve(host, span, deviceMask) && (!check || check->allows(*this, a, host, span)))
      a = host;
    else
      wrong |= m & -m;
  }
  if (!wrong)
    return true;
  BadAccess access;
  access.write = write;
  access.bytes = static_cast<uint32_t>(span);
  access.lanes = wrong;
  for (uint64_t m = wrong; m; m &= m - 1)
    access.addresses[__builtin_ctzll(m)] = address[__builtin_ctzll(m)];
  if (!check) {
    const uint64_t first = access.first();
    constexpr uint64_t kPage = AddressSpace::kPageSize;
    bad = memory->mapped(first, 1, deviceMask) ? (first | (kPage - 1)) + 1 : first;
    refused = {inst, access};
    return false;
  }
  check->onFinding(*this, inst, access);
  for (uint64_t m = wrong; m; m &= m - 1) {
    const auto lane = static_cast<unsigned>(__builtin_ctzll(m));
    address[lane] = sink.at(lane, span);
  }
  return true;
}

void Wave::outsideLds(const Inst *inst, const uint64_t *address, uint64_t lanes, uint32_t bytes, bool write) {
  BadAccess access;
  access.problem = BadAccess::Problem::OutsideLds;
  access.lds = true;
  access.write = write;
  access.bytes = bytes;
  access.lanes = lanes;
  for (uint64_t m = lanes; m; m &= m - 1)
    access.addresses[__builtin_ctzll(m)] = address[__builtin_ctzll(m)] - reinterpret_cast<uint64_t>(lds);
  check->onFinding(*this, inst, access);
}

void Wave::outsideScratch(const Inst *inst, const uint32_t *offset, uint64_t lanes, uint32_t bytes, bool write) {
  BadAccess access;
  access.problem = BadAccess::Problem::OutsideScratch;
  access.write = write;
  access.bytes = bytes;
  access.lanes = lanes;
  for (uint64_t m = lanes; m; m &= m - 1)
    access.addresses[__builtin_ctzll(m)] = offset[__builtin_ctzll(m)];
  check->onFinding(*this, inst, access);
}

uint64_t Wave::insideScratch(const Inst *inst, const uint64_t *address, uint64_t mask, uint32_t bytes, bool write) {
  if (!scratchBytes)
    return mask;
  alignas(64) uint32_t offset[kMaxLanes] = {};
  uint64_t inside = 0;
  for (uint64_t m = mask; m; m &= m - 1) {
    const auto lane = static_cast<unsigned>(__builtin_ctzll(m));
    // Each dword of a lane is followed by the other lanes'. What is below the wave's scratch wraps around.
    const uint64_t from = address[lane] - scratchBase, row = uint64_t{lanes} * 4;
    offset[lane] = static_cast<uint32_t>(static_cast<int64_t>(from) / static_cast<int64_t>(row) * 4 + (from & 3));
    if (from < scratchBytes && uint64_t{offset[lane]} + bytes <= scratchBytes / lanes)
      inside |= m & -m;
  }
  if (inside != mask)
    outsideScratch(inst, offset, mask & ~inside, bytes, write);
  return inside;
}

bool Wave::outsideArguments(const Inst *inst, uint64_t &address, uint32_t bytes) {
  BadAccess access;
  access.scalar = true;
  access.bytes = bytes;
  access.addresses[0] = address;
  check->onFinding(*this, inst, access);
  address = sink.at(0, bytes);
  return true;
}

bool Wave::misalignedScalar(const Inst *inst, uint64_t address, uint32_t bytes) {
  BadAccess access;
  access.problem = BadAccess::Problem::Misaligned;
  access.scalar = true;
  access.bytes = bytes;
  access.addresses[0] = address;
  check->onFinding(*this, inst, access);
  return true;
}

bool Wave::misalignedAtomics(const Inst *inst, uint64_t *address, uint64_t lanes, uint32_t bytes, bool inLds) {
  BadAccess access;
  access.problem = BadAccess::Problem::Misaligned;
  access.lds = inLds;
  access.write = true;
  access.bytes = bytes;
  access.lanes = lanes;
  for (uint64_t m = lanes; m; m &= m - 1) {
    const auto lane = static_cast<unsigned>(__builtin_ctzll(m));
    access.addresses[lane] = address[lane] - (inLds ? reinterpret_cast<uint64_t>(lds) : 0);
    if (!inLds)
      address[lane] = sink.at(lane, bytes);
  }
  check->onFinding(*this, inst, access);
  return true;
}

BadAccess refusedAccess(const Inst *inst, uint64_t address, bool write) {
  BadAccess access;
  if (refused.inst == inst) {
    access = refused.access;
  } else {
    access.write = write;
    access.addresses[0] = address;
  }
  refused.inst = nullptr;
  return access;
}

} // namespace luthier::vgpu
