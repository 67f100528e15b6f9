// The part of WaveInit (init_check.h) that is about memory: what loads bring, what stores leave, and which of the
// operands of an access decide something.

#include "vgpu/exec/row.h"
#include "vgpu/wave/buffer_resource.h"
#include "vgpu/wave/device.h"
#include "vgpu/wave/init_check.h"

#include <algorithm>

namespace luthier::vgpu {

namespace {

constexpr bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Addresses further apart than this are looked at one by one.
constexpr uint64_t kNear = 64 * 1024;

constexpr uint64_t lowBits(unsigned count) { return count >= 64 ? ~0ull : (1ull << count) - 1; }

/// How a datum of less than a dword sits in its register (exec/vmem.h).
struct Part {
  unsigned first = 0; ///< its first byte there
  unsigned end = 4;   ///< of what a load writes; from the datum's end on 0, or its sign
  bool sign = false;
};

Part partOf(const Inst *inst, const Operands &o) {
  Part part;
  if (o.memory->bytes >= 4)
    return part;
  const std::string_view name = inst->row ? inst->row->mnemonic : o.mnemonic;
  const bool high = name.ends_with("_d16_hi"), half = high || name.ends_with("_d16");
  part.first = high ? 2 : 0;
  part.sign = contains(name, "_sbyte") || contains(name, "_sshort") || contains(name, "_i8") || contains(name, "_i16");
  if (half)
    part.end = part.first + 2;
  return part;
}

/// Data that is converted, or exchanged between lanes, on its way: nothing is known of its bytes.
bool converts(const Operands &o) {
  return contains(o.mnemonic, "format") || contains(o.mnemonic, "_load_tr_") || contains(o.mnemonic, "_block") ||
         o.memory->bytes > 16 || contains(o.mnemonic, "_src2_") || contains(o.mnemonic, "append") ||
         contains(o.mnemonic, "consume");
}

/// Atomics that overwrite what they find without looking at it.
bool swaps(std::string_view name) {
  return (contains(name, "swap") || contains(name, "wrxchg")) && !contains(name, "cmpswap");
}

bool isVectorRange(RegRange regs) { return isVector(regs.first) || isAccumulator(regs.first); }

} // namespace

Origins::Number WaveInit::originOfLoad(const Wave &w, const Inst *inst, const Operands &o, Place place, uint64_t at) {
  if (recentLoad_.inst == inst)
    return recentLoad_.number;
  Origin origin;
  origin.kind = place == Place::Lds       ? Origin::Kind::Lds
                : place == Place::Scratch ? Origin::Kind::Scratch
                                          : Origin::Kind::Memory;
  origin.address = place == Place::Scratch && scratchPerLane_ ? at % scratchPerLane_ : at;
  origin.pc = w.pc(inst);
  origin.load = o.text;
  recentLoad_ = {inst, check_.origins.ofLoad(std::move(origin))};
  return recentLoad_.number;
}

void WaveInit::checkAddress(Wave &w, const Inst *inst, const OperandCache::Known &known) {
  const MemoryAccess &m = *known.memory;
  const auto report = [&](RegRange regs, uint64_t lanes) {
    UndefinedUse use;
    use.kind = UndefinedUse::Kind::Address;
    use.what = toString(regs);
    use.lanes = lanes;
    use.origin = check_.origins.at(originOf(w, regs, lanes));
    if (lanes) {
      use.hasAddresses = true;
      laneAddresses(w, known, false, use.addresses.data());
    }
    check_.onFinding(w, inst, use);
  };
  if (!m.vaddr.empty())
    if (const uint64_t lanes = lanesOf(m.vaddr) & w.exec()) {
      report(m.vaddr, lanes);
      define(w, m.vaddr, lanes);
    }
  if (m.space != MemorySpace::Scalar && w.exec() == 0)
    return;
  for (const RegRange regs : {m.saddr, m.soffset})
    for (unsigned n = 0; n < regs.count; ++n)
      if (bitsOf(w, regs.first + n)) {
        report(regs, 0);
        define(w, regs, 0);
      }
}

/// Where the active lanes' data is: at most one entry of `accesses_` for each kind of place.
bool WaveInit::locate(const Wave &w, const Operands &o, bool second) {
  accesses_.clear();
  Access access;
  access.lanes = w.exec();
  laneAddresses(w, o, second, access.at.data());
  switch (o.space) {
  case MemorySpace::Global:
    access.place = Place::Memory;
    break;
  case MemorySpace::Lds:
    access.place = Place::Lds;
    for (uint64_t &at : access.at)
      at = static_cast<uint32_t>(at);
    break;
  case MemorySpace::Buffer: {
    const BufferResource buffer(w, *o.memory, w.device->target().bufferResource, o.mnemonic.starts_with("tbuffer"));
    for (unsigned lane = 0; lane < w.lanes; ++lane)
      access.lanes &= ~(uint64_t{!buffer.inside(lane)} << lane);
    access.place = Place::Memory;
    if (!buffer.isSwizzled())
      break;
    // Scratch, by the resource that kernels are given for it: back to the offsets in each lane's private memory.
    access.place = Place::Scratch;
    const uint64_t size = uint64_t{scratchPerLane_} * w.lanes;
    for (uint64_t left = access.lanes; left; left &= left - 1) {
      const auto lane = static_cast<unsigned>(__builtin_ctzll(left));
      const uint64_t at = access.at[lane] - w.scratchBase, row = uint64_t{4} * w.lanes;
      if (at >= size) {
        access.lanes &= ~(1ull << lane); // some other swizzled buffer: nothing is known of it
        continue;
      }
      access.at[lane] = at % row / 4 * scratchPerLane_ + at / row * 4 + at % 4;
    }
    break;
  }
  case MemorySpace::Scratch:
  case MemorySpace::Flat:
    accesses_.push_back(access);
    sortByPlace(w, o);
    return true;
  default:
    return false;
  }
  accesses_.push_back(access);
  return true;
}

void WaveInit::sortByPlace(const Wave &w, const Operands &o) {
  const Access all = accesses_.front();
  accesses_.clear();
  std::array<Access, 3> byPlace;
  byPlace[0].place = Place::Memory;
  byPlace[1].place = Place::Lds;
  byPlace[2].place = Place::Scratch;
  for (uint64_t left = all.lanes; left; left &= left - 1) {
    const auto lane = static_cast<unsigned>(__builtin_ctzll(left));
    const uint64_t at = all.at[lane];
    const bool scratch = o.space == MemorySpace::Scratch || at >> 32 == w.privateAperture >> 32;
    const bool lds = !scratch && at >> 32 == w.sharedAperture >> 32;
    Access &mine = byPlace[scratch ? 2 : lds ? 1 : 0];
    const uint64_t offset = static_cast<uint32_t>(at);
    if (scratch && (offset >= scratchPerLane_ || o.memory->bytes > scratchPerLane_ - offset))
      continue; // a finding of another check
    mine.lanes |= left & -left;
    mine.at[lane] = scratch ? uint64_t{lane} * scratchPerLane_ + offset : lds ? offset : at;
  }
  for (const Access &access : byPlace)
    if (access.lanes)
      accesses_.push_back(access);
}

uint64_t WaveInit::bytesAt(const Access &access, unsigned lane, unsigned bytes) const {
  switch (access.place) {
  case Place::Memory:
    return check_.memory.at(access.at[lane], bytes);
  case Place::Lds:
    return lds_.at(access.at[lane], bytes);
  case Place::Scratch:
    return scratch_.at(access.at[lane], bytes);
  case Place::None:
    break;
  }
  return 0;
}

void WaveInit::setBytes(const Access &access, unsigned lane, unsigned bytes, uint64_t undefined,
                        Origins::Number origin) {
  switch (access.place) {
  case Place::Memory:
    return check_.memory.set(access.at[lane], bytes, undefined, origin);
  case Place::Lds:
    return lds_.set(access.at[lane], bytes, undefined, origin);
  case Place::Scratch:
    return scratch_.set(access.at[lane], bytes, undefined, origin);
  case Place::None:
    break;
  }
}

/// Of an undefined byte that somebody has stored.
Origins::Number WaveInit::originAt(const Access &access, uint64_t at) const {
  return access.place == Place::Lds       ? lds_.originAt(at)
         : access.place == Place::Scratch ? scratch_.originAt(at)
                                          : check_.memory.originAt(at);
}

bool WaveInit::anyUndefined(const Access &access, unsigned bytes) const {
  if (!access.lanes)
    return false;
  uint64_t low = ~0ull, high = 0;
  for (unsigned lane = 0; lane < kMaxLanes; ++lane) {
    const bool active = access.lanes >> lane & 1;
    const uint64_t forLow = active ? access.at[lane] : ~0ull, forHigh = active ? access.at[lane] : 0;
    low = forLow < low ? forLow : low;
    high = forHigh > high ? forHigh : high;
  }
  const uint64_t end = high + bytes;
  if (access.place == Place::Lds)
    return lds_.anyIn(low, end);
  if (access.place == Place::Scratch)
    return scratch_.anyIn(low, end);
  return high - low > kNear || check_.memory.anyIn(low, end);
}

void WaveInit::defineAll(const Wave &w, const Access &access, unsigned bytes) {
  if (access.place == Place::Memory && access.lanes == w.allLanes()) {
    uint64_t different = 0;
    for (unsigned lane = 0; lane < w.lanes; ++lane)
      different |= access.at[lane] ^ (access.at[0] + uint64_t{lane} * bytes);
    if (!different)
      return check_.memory.define(access.at[0], uint64_t{w.lanes} * bytes);
  }
  for (uint64_t left = access.lanes; left; left &= left - 1)
    setBytes(access, static_cast<unsigned>(__builtin_ctzll(left)), bytes, 0, 0);
}

void WaveInit::load(const Wave &w, const Inst *inst, const Operands &o, RegRange result, const Access &access) {
  const MemoryAccess &m = *o.memory;
  if (!anyUndefined(access, m.bytes))
    return;
  const Part part = partOf(inst, o);
  std::array<Lanes, 4> undefined{};
  uint64_t first = 0;
  bool any = false;
  for (uint64_t left = access.lanes; left; left &= left - 1) {
    const auto lane = static_cast<unsigned>(__builtin_ctzll(left));
    uint64_t bits = bytesAt(access, lane, m.bytes);
    if (!bits)
      continue;
    if (!any)
      first = access.at[lane] + static_cast<unsigned>(__builtin_ctzll(bits));
    any = true;
    if (m.bytes < 4) {
      if (part.sign && bits >> (m.bytes - 1) & 1)
        bits |= lowBits(part.end - part.first) & ~lowBits(m.bytes);
      bits <<= part.first;
    }
    for (; bits; bits &= bits - 1) {
      const auto byte = static_cast<unsigned>(__builtin_ctzll(bits));
      undefined[byte / 4].bytes[byte % 4] |= 1ull << lane;
    }
  }
  if (!any)
    return;
  Origins::Number origin = originAt(access, first);
  if (!origin)
    origin = originOfLoad(w, inst, o, access.place, first);
  for (unsigned n = 0; n < std::min<unsigned>(result.count, undefined.size()); ++n) {
    const Reg reg = result.first + n;
    // Bytes that were there before stay what they were.
    Lanes merged = undefined[n];
    if (undefined_.contains(reg))
      for (unsigned byte = 0; byte < 4; ++byte)
        merged.bytes[byte] |= v_[vectorIndex(reg)].bytes[byte] & access.lanes;
    if (merged.any())
      setVector(reg, access.lanes, merged, origin);
  }
}

void WaveInit::store(Wave &w, const Inst *inst, const Operands &o, RegRange data, const Access &access) {
  const MemoryAccess &m = *o.memory;
  const uint64_t lanes = lanesOf(data) & access.lanes;
  if (!lanes) {
    if (anyUndefined(access, m.bytes))
      defineAll(w, access, m.bytes);
    return;
  }
  const Part part = partOf(inst, o);
  const Origins::Number origin = originOf(w, data, lanes);
  uint64_t visible = 0;
  for (uint64_t left = access.lanes; left; left &= left - 1) {
    const auto lane = static_cast<unsigned>(__builtin_ctzll(left));
    uint64_t bits = 0;
    for (unsigned byte = 0; byte < m.bytes; ++byte) {
      const unsigned at = part.first + byte;
      const Reg reg = data.first + at / 4;
      bits |= undefined_.contains(reg) ? (v_[vectorIndex(reg)].bytes[at % 4] >> lane & 1) << byte : 0;
    }
    const bool seen = bits && check_.stores && access.place == Place::Memory && check_.hostSees(access.at[lane]);
    visible |= uint64_t{seen} << lane;
    setBytes(access, lane, m.bytes, seen ? 0 : bits, origin);
  }
  if (!visible)
    return;
  UndefinedUse use;
  use.kind = UndefinedUse::Kind::Store;
  use.what = toString(data);
  use.lanes = visible;
  use.hasAddresses = true;
  use.addresses = access.at;
  use.origin = check_.origins.at(origin);
  check_.onFinding(w, inst, use);
}

void WaveInit::atomic(Wave &w, const Inst *inst, const Operands &o, const Access &access) {
  const MemoryAccess &m = *o.memory;
  const auto report = [&](UndefinedUse::Kind kind, std::string what, uint64_t lanes, Origin origin) {
    UndefinedUse use;
    use.kind = kind;
    use.what = std::move(what);
    use.lanes = lanes;
    use.hasAddresses = access.place == Place::Memory || access.place == Place::Lds;
    use.addresses = access.at;
    use.origin = std::move(origin);
    check_.onFinding(w, inst, use);
  };
  for (const RegRange data : {m.data, m.data2})
    if (const uint64_t lanes = lanesOf(data) & access.lanes) {
      report(UndefinedUse::Kind::Atomic, toString(data), lanes, check_.origins.at(originOf(w, data, lanes)));
      define(w, data, lanes);
    }
  if (!m.result.empty())
    define(w, m.result, w.exec());
  if (!anyUndefined(access, m.bytes))
    return;
  if (swaps(o.mnemonic)) {
    if (!m.result.empty())
      load(w, inst, o, m.result, access);
    return defineAll(w, access, m.bytes);
  }
  uint64_t lanes = 0;
  for (uint64_t left = access.lanes; left; left &= left - 1)
    if (bytesAt(access, static_cast<unsigned>(__builtin_ctzll(left)), m.bytes))
      lanes |= left & -left;
  if (!lanes)
    return;
  Origin origin;
  origin.kind = access.place == Place::Lds       ? Origin::Kind::Lds
                : access.place == Place::Scratch ? Origin::Kind::Scratch
                                                 : Origin::Kind::Memory;
  const auto lane = static_cast<unsigned>(__builtin_ctzll(lanes));
  origin.address = access.at[lane] + static_cast<unsigned>(__builtin_ctzll(bytesAt(access, lane, m.bytes)));
  if (const Origins::Number stored = originAt(access, origin.address))
    origin = check_.origins.at(stored);
  report(UndefinedUse::Kind::AtomicMemory, "memory", lanes, std::move(origin));
  defineAll(w, access, m.bytes);
}

void WaveInit::loadToLds(const Wave &w, const Operands &o, const Access &access) {
  constexpr unsigned kSlot = 4; // of each lane
  const bool ofItsOwn = o.mnemonic.starts_with("global_load_lds_") || o.mnemonic.starts_with("scratch_load_lds_");
  const uint32_t base = (w.s[kM0] & (ofItsOwn ? 0x3fffc : 0xffff)) + static_cast<uint32_t>(o.memory->offset);
  for (uint64_t left = w.exec(); left; left &= left - 1) {
    const auto lane = static_cast<unsigned>(__builtin_ctzll(left));
    const bool inside = access.lanes >> lane & 1;
    lds_.set(base + kSlot * lane, kSlot,
             inside ? bytesAt(access, lane, std::min<unsigned>(o.memory->bytes, kSlot)) : 0);
  }
}

void WaveInit::scalarMemory(Wave &w, const Inst *inst, const OperandCache::Known &known) {
  const MemoryAccess &m = *known.memory;
  uint64_t address;
  std::array<uint64_t, kMaxLanes> room;
  laneAddresses(w, known, false, room.data());
  address = room[0] & ~3ull;
  const unsigned bytes = std::min<unsigned>(m.bytes, 64);
  if (m.atomic || m.store) {
    uint64_t bits = 0;
    for (unsigned byte = 0; byte < bytes && !m.atomic; ++byte)
      bits |= uint64_t{(bitsOf(w, m.data.first + byte / 4) >> (byte % 4 * 8) & 0xff) != 0} << byte;
    check_.memory.set(address, bytes, bits, originOf(w, m.data));
    define(w, m.result, 0);
    return;
  }
  if (m.result.empty() || isVectorRange(m.result))
    return;
  uint64_t bits = check_.memory.anyIn(address, address + bytes) ? check_.memory.at(address, bytes) : 0;
  if (bits && known.mnemonic.starts_with("s_buffer")) {
    const uint32_t *v = &w.s[number(m.saddr.first)];
    const uint64_t base = (v[0] | uint64_t{v[1] & 0xffff} << 32) & ~3ull, offset = address - base;
    const uint64_t size = uint64_t{std::max(1u, v[1] >> 16 & 0x3fff)} * v[2];
    bits &= offset < size ? lowBits(static_cast<unsigned>(std::min<uint64_t>(size - offset, 64))) : 0;
  }
  if (!bits)
    return define(w, m.result, 0);
  const auto first = static_cast<unsigned>(__builtin_ctzll(bits));
  Origins::Number origin = check_.memory.originAt(address + first);
  if (!origin)
    origin = originOfLoad(w, inst, known, Place::Memory, address + first);
  for (unsigned n = 0; n < m.result.count; ++n) {
    uint32_t undefined = 0;
    for (unsigned byte = 0; byte < 4; ++byte)
      undefined |= bits >> (4 * n + byte) & 1 ? 0xffu << (8 * byte) : 0;
    setScalar(w, m.result.first + n, undefined, origin);
  }
}

void WaveInit::memory(Wave &w, const Inst *inst, const OperandCache::Known &known) {
  const MemoryAccess &m = *known.memory;
  if (known.names(undefined_))
    checkAddress(w, inst, known);
  if (m.space == MemorySpace::Scalar)
    return scalarMemory(w, inst, known);
  const uint64_t exec = w.exec();
  if (!exec)
    return;
  // The data first: a result may be where it was.
  const bool loads = m.load && !m.atomic && !m.toLds, silent = converts(known);
  const auto resultOf = [&](bool second) {
    const auto half = static_cast<uint16_t>(m.result.count / (m.two ? 2 : 1));
    return RegRange{m.result.first + (second ? half : 0), half};
  };
  if (loads) {
    const Part part = partOf(inst, known);
    const bool keeps = inst->flags & kLoadKeepsHalf && m.bytes < 4;
    if (!keeps) {
      define(w, m.result, exec);
    } else if (undefined_.contains(m.result.first)) {
      Lanes kept = v_[vectorIndex(m.result.first)];
      for (unsigned byte = part.first; byte < part.end; ++byte)
        kept.bytes[byte] = 0;
      setVector(m.result.first, exec, kept, vectorOrigin_[vectorIndex(m.result.first)]);
    }
  }
  for (const bool second : {false, true}) {
    if (second && !m.two)
      break;
    if (!locate(w, known, second))
      break;
    for (const Access &access : accesses_) {
      if (m.atomic && !silent)
        atomic(w, inst, known, access);
      else if (m.toLds)
        loadToLds(w, known, access);
      else if (loads && !silent)
        load(w, inst, known, resultOf(second), access);
      else if (m.store && silent)
        defineAll(w, access, std::min<unsigned>(m.bytes, 64));
      else if (m.store)
        store(w, inst, known, second ? m.data2 : m.data, access);
    }
  }
  if (m.atomic && silent && !m.result.empty())
    define(w, m.result, exec);
}

} // namespace luthier::vgpu
