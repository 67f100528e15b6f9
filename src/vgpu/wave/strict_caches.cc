#include "vgpu/wave/strict_caches.h"

#include "vgpu/exec/row.h"
#include "vgpu/memory/guest_access.h"
#include "vgpu/wave/buffer_resource.h"
#include "vgpu/wave/device.h"
#include "vgpu/wave/dispatch.h"
#include "vgpu/wave/workgroup.h"

#include <algorithm>
#include <cstring>

namespace luthier::vgpu {

namespace {

/// A line at a time, as hardware does: more than the guest asked for, so nothing watches.
/// Others may be writing: aligned values of up to 8 bytes arrive whole.
__attribute__((no_sanitize("address", "thread"))) void copyLine(uint64_t from, uint8_t *to) {
  typedef uint64_t Word __attribute__((may_alias));
  for (unsigned n = 0; n < StaleCache::kLineBytes; n += sizeof(Word)) {
    const Word word = *reinterpret_cast<const volatile Word *>(from + n);
    memcpy(to + n, &word, sizeof word);
  }
}

/// What a load of less than a dword leaves in its register (exec/vmem.h), by its row's mnemonic.
uint32_t extended(std::string_view mnemonic, uint32_t raw, unsigned bytes) {
  const bool high = mnemonic.ends_with("_d16_hi"), half = high || mnemonic.ends_with("_d16");
  const bool isSigned =
      mnemonic.find("_sbyte") != std::string_view::npos || mnemonic.find("_sshort") != std::string_view::npos;
  if (isSigned)
    raw =
        bytes == 1 ? static_cast<uint32_t>(static_cast<int8_t>(raw)) : static_cast<uint32_t>(static_cast<int16_t>(raw));
  if (half)
    raw &= 0xffff;
  return high ? raw << 16 : raw;
}

BufferResource bufferOf(const Wave &w, const Operands &o) {
  return {w, *o.memory, w.device->target().bufferResource, o.mnemonic.starts_with("tbuffer")};
}

/// Bits of its register that a load of less than a dword writes.
uint32_t writtenBits(std::string_view mnemonic, const Inst &inst) {
  if (!(inst.flags & kLoadKeepsHalf))
    return ~0u;
  return mnemonic.ends_with("_d16_hi") ? 0xffff0000 : mnemonic.ends_with("_d16") ? 0x0000ffff : ~0u;
}

} // namespace

void StaleCache::read(Wave &w, uint64_t address, uint64_t size, uint8_t *to) {
  std::lock_guard lock(mutex_);
  while (size) {
    const uint64_t number = address / kLineBytes, offset = address % kLineBytes;
    auto found = lines_.find(number);
    if (found == lines_.end()) {
      if (lines_.size() >= kMostLines)
        lines_.clear();
      uint64_t from = number * kLineBytes;
      found = lines_.try_emplace(number).first;
      if (w.accessible(from, kLineBytes))
        copyLine(from, found->second.bytes);
    }
    const uint64_t count = std::min(size, kLineBytes - offset);
    memcpy(to, found->second.bytes + offset, count);
    address += count;
    to += count;
    size -= count;
  }
}

void StaleCache::drop(uint64_t address, uint64_t size) {
  std::lock_guard lock(mutex_);
  for (uint64_t number = address / kLineBytes; size && number <= (address + size - 1) / kLineBytes; ++number)
    lines_.erase(number);
}

void StaleCache::invalidate() {
  std::lock_guard lock(mutex_);
  lines_.clear();
}

StrictCaches::StrictCaches(const Dispatch &dispatch, bool vectorL1)
    : vectorL1_(vectorL1), groups_(dispatch.groups()), units_(dispatch.device().config().computeUnits) {}

/// As HW_ID says (exec/sopk.cc): workgroups go to compute units in turn.
size_t StrictCaches::unitOf(const Wave &w) const {
  const auto &id = w.group->id();
  return (id[0] + uint64_t{groups_[0]} * (id[1] + uint64_t{groups_[1]} * id[2])) % units_.size();
}

void WaveCaches::enter(Wave &w, const OperandCache::Known &o) {
  use_ = o.resources.cache;
  if (use_ == CacheUse::None) [[likely]]
    return;
  StaleCache *const vector = caches_.vector(w);
  if (use_ == CacheUse::InvalidateScalar)
    caches_.scalar(w).invalidate();
  else if (use_ == CacheUse::InvalidateVector && vector)
    vector->invalidate();
  else if (use_ == CacheUse::Scalar)
    enterScalar(w, o);
  else if (use_ == CacheUse::Vector && vector && w.exec() != 0 &&
           (o.space != MemorySpace::Buffer || !bufferOf(w, o).isSwizzled()))
    enterVector(w, o);
  else
    use_ = CacheUse::None;
}

void WaveCaches::enterScalar(Wave &w, const Operands &o) {
  const MemoryAccess &m = *o.memory;
  addressesOf(w, o, addresses_);
  inside_ = m.bytes / 4;
  if (!o.mnemonic.starts_with("s_buffer"))
    return;
  const uint32_t *v = &w.s[number(m.saddr.first)];
  const uint64_t base = (v[0] | uint64_t{v[1] & 0xffff} << 32) & ~3ull, offset = addresses_.first[0] - base;
  const uint64_t size = uint64_t{std::max(1u, v[1] >> 16 & 0x3fff)} * v[2];
  inside_ = offset < size ? static_cast<unsigned>(std::min<uint64_t>(inside_, (size - offset + 3) / 4)) : 0;
}

void WaveCaches::enterVector(Wave &w, const Operands &o) {
  const MemoryAccess &m = *o.memory;
  addressesOf(w, o, addresses_);
  lanes_ = w.exec();
  if (o.space == MemorySpace::Buffer && !m.store && !m.atomic) {
    const BufferResource buffer = bufferOf(w, o);
    for (unsigned lane = 0; lane < w.lanes; ++lane)
      lanes_ &= ~(uint64_t{!buffer.inside(lane)} << lane);
  }
  for (unsigned lane = 0; lane < w.lanes; ++lane) {
    const uint64_t high = addresses_.first[lane] >> 32;
    if (o.space == MemorySpace::Flat && (high == w.sharedAperture >> 32 || high == w.privateAperture >> 32))
      lanes_ &= ~(1ull << lane);
  }
}

void WaveCaches::leaveScalar(Wave &w, const Inst *inst, const Operands &o) {
  const MemoryAccess &m = *o.memory;
  StaleCache &cache = caches_.scalar(w);
  if (!m.load || m.store || m.atomic || (inst->flags & kGlc))
    cache.drop(addresses_.first[0], m.bytes);
  if (!m.load || m.store || m.atomic || inside_ == 0 || m.result.empty())
    return;
  uint32_t words[16] = {};
  cache.read(w, addresses_.first[0], uint64_t{inside_} * 4, reinterpret_cast<uint8_t *>(words));
  uint32_t *registers = &w.s[number(m.result.first)];
  for (unsigned n = 0; n < inside_; ++n)
    stale_ += registers[n] != words[n];
  std::copy_n(words, inside_, registers);
}

void WaveCaches::leaveVector(Wave &w, const Inst *inst, const Operands &o, StaleCache &cache) {
  const MemoryAccess &m = *o.memory;
  // Formats, and matrices whose elements change lanes.
  const bool converts = o.mnemonic.find("format") != std::string_view::npos ||
                        o.mnemonic.find("_load_tr_") != std::string_view::npos || m.bytes > 16;
  const bool reads = m.load && !m.store && !m.atomic && !(inst->flags & kGlc) && !converts;
  for (uint64_t left = lanes_; left; left &= left - 1) {
    const auto lane = static_cast<unsigned>(__builtin_ctzll(left));
    const uint64_t address = addresses_.first[lane];
    if (!reads) {
      cache.drop(address, m.bytes);
      continue;
    }
    uint32_t words[4] = {};
    cache.read(w, address, m.bytes, reinterpret_cast<uint8_t *>(words));
    uint32_t kept = 0;
    if (m.bytes < 4) {
      words[0] = extended(inst->row->mnemonic, words[0], m.bytes);
      kept = ~writtenBits(inst->row->mnemonic, *inst);
    }
    for (unsigned n = 0; n < std::min<unsigned>(m.result.count, std::size(words)); ++n) {
      uint32_t &lanes = w.v[vectorIndex(m.result.first) + n][lane];
      const uint32_t value = (words[n] & ~kept) | (lanes & kept);
      stale_ += lanes != value;
      lanes = value;
    }
  }
}

void WaveCaches::leave(Wave &w, const Inst *inst, const Operands &o) {
  if (use_ == CacheUse::None || w.stop == Stop::Fault)
    return;
  if (use_ == CacheUse::Scalar)
    leaveScalar(w, inst, o);
  else if (use_ == CacheUse::Vector)
    leaveVector(w, inst, o, *caches_.vector(w));
}

} // namespace luthier::vgpu
