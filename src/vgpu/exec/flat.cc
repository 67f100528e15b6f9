// FLAT, GLOBAL and SCRATCH: memory without a resource (manual, chapter 10).
//
// One encoding, three segments. GLOBAL addresses are memory addresses. SCRATCH addresses are offsets into the lane's
// private memory, which is swizzled: FLAT_SCRATCH + (offset / 4) * 4 * lanes + lane * 4 + offset % 4. A FLAT address
// is in LDS or private memory when its high half is that aperture's, else in memory; each lane decides for itself.

#include "vgpu/exec/tables.h"
#include "vgpu/exec/vmem.h"
#include "vgpu/exec/vmem_atomic.h"

namespace luthier::vgpu::LUTHIER_VGPU_LEVEL {

namespace {

// GLOBAL.

/// True when EXEC's lanes address consecutive elements; `block` is where lane 0's is, active or not.
template <u32 Size> [[gnu::always_inline]] inline bool globalCoalesced(Wave &w, const Inst *i, u64 exec, u64 &block) {
  const u32 *low = w.v[i->src[0].reg];
  u32 offset;
  if (!coalesced32(w, low, exec, Size, offset))
    return false;
  u64 base;
  if (i->sdst != kNoScalar) {
    base = w.scalar64(i->sdst);
  } else {
    const u32 *high = low + kRow;
    const u32 common = high[__builtin_ctzll(exec)];
    u32 different = 0;
    if (exec == kAllLanes) {
      for (unsigned n = 0; n < N; ++n)
        different |= high[n] ^ common;
    } else {
      const u32 *active = execLanes(w);
      for (unsigned n = 0; n < N; ++n)
        different |= (high[n] ^ common) & active[n];
    }
    if (different)
      return false;
    base = static_cast<u64>(common) << 32;
  }
  block = base + offset + static_cast<u64>(static_cast<i64>(i->imm));
  return true;
}

/// Addresses of all lanes: VGPR pair + offset, or SGPR pair + VGPR (unsigned) + offset.
[[gnu::always_inline]] inline u64 *globalAddresses(Wave &w, const Inst *i) {
  const u32 *v = w.v[i->src[0].reg];
  const u64 offset = static_cast<u64>(static_cast<i64>(i->imm));
  if (i->sdst != kNoScalar) {
    const u64 base = w.scalar64(i->sdst) + offset;
    for (unsigned n = 0; n < N; ++n)
      w.addresses[n] = base + v[n];
  } else {
    for (unsigned n = 0; n < N; ++n)
      w.addresses[n] = (v[n] | static_cast<u64>(v[n + kRow]) << 32) + offset;
  }
  return w.addresses;
}

template <Data D> [[gnu::noinline]] LUTHIER_GUEST_ACCESS const Inst *globalLoad(Wave &w, const Inst *i) {
  const u64 exec = activeLanes(w);
  if (exec == 0)
    return i->next();
  if (i->flags & kLds) [[unlikely]] {
    if constexpr (D <= Data::I16 || D == Data::B32)
      return loadLanesToLds<D>(w, i, globalAddresses(w, i), exec, 0);
    return w.illegal(i, "cannot load to LDS");
  }
  u64 block;
  if (globalCoalesced<bytesOf(D)>(w, i, exec, block) && loadCoalesced<D>(w, i, exec, block))
    return i->next();
  return loadLanes<D>(w, i, globalAddresses(w, i), exec);
}

template <Data D> [[gnu::noinline]] LUTHIER_GUEST_ACCESS const Inst *globalStore(Wave &w, const Inst *i) {
  const u64 exec = activeLanes(w);
  if (exec == 0)
    return i->next();
  if (i->flags & kLds) [[unlikely]]
    return w.illegal(i, "cannot store from LDS");
  u64 block;
  if (globalCoalesced<bytesOf(D)>(w, i, exec, block) && storeCoalesced<D>(w, w.v[i->src[1].reg], exec, block))
    return i->next();
  return storeLanes<D>(w, i, w.v[i->src[1].reg], globalAddresses(w, i), exec);
}

// Threaded: consecutive elements with EXEC full, and nothing else, so that no stack is needed.

/// globalCoalesced for a full EXEC. In vectors: left to itself, the compiler stops at the first difference it finds,
/// and reads what was just written at other boundaries than it was written, which the host cannot forward.
template <u32 Size> [[gnu::always_inline]] inline bool fullBlock(Wave &w, const Inst *i, u64 &block) {
  const auto *low = reinterpret_cast<const PartVector *>(w.v[i->src[0].reg]);
  const auto *high = reinterpret_cast<const PartVector *>(w.v[i->src[0].reg + 1]);
  const auto *ids = reinterpret_cast<const PartVector *>(kLaneIds);
  const u32 first = w.v[i->src[0].reg][0];
  PartVector different{};
  for (unsigned part = 0; part < N / kPart; ++part)
    different |= low[part] ^ (ids[part] * Size + first);
  u64 base;
  if (i->sdst != kNoScalar) {
    base = w.scalar64(i->sdst);
  } else {
    const u32 common = w.v[i->src[0].reg + 1][0];
    base = static_cast<u64>(common) << 32;
    for (unsigned part = 0; part < N / kPart; ++part)
      different |= high[part] ^ common;
  }
  block = base + first + static_cast<u64>(static_cast<i64>(i->imm));
  return !anyBits(different) && first <= ~0u - N * Size;
}

template <Data D> [[gnu::always_inline]] LUTHIER_GUEST_ACCESS inline bool loadFull(Wave &w, const Inst *i) {
  u64 block;
  constexpr u8 kUnusual = kLds | (writtenBits(D) == ~0u ? 0 : kLoadKeepsHalf);
  if (activeLanes(w) != kAllLanes || (i->flags & kUnusual) || !fullBlock<bytesOf(D)>(w, i, block) ||
      !allowed(w, block, N * bytesOf(D))) [[unlikely]]
    return false;
  loadBlock<D>(w.v[i->dst], block);
  return true;
}

template <Data D> [[gnu::always_inline]] LUTHIER_GUEST_ACCESS inline bool storeFull(Wave &w, const Inst *i) {
  u64 block;
  if (activeLanes(w) != kAllLanes || (i->flags & kLds) || !fullBlock<bytesOf(D)>(w, i, block) ||
      !allowed(w, block, N * bytesOf(D))) [[unlikely]]
    return false;
  storeBlock<D>(w.v[i->src[1].reg], block);
  return true;
}

template <Data D> LUTHIER_GUEST_ACCESS const Inst *threadedLoad(Wave &w, const Inst *i) {
  if (!loadFull<D>(w, i)) [[unlikely]]
    [[clang::musttail]] return kLoad<globalLoad<D>, D>(w, i);
  LUTHIER_THREAD(w, i);
}

template <Data D> LUTHIER_GUEST_ACCESS const Inst *threadedStore(Wave &w, const Inst *i) {
  if (!storeFull<D>(w, i)) [[unlikely]]
    [[clang::musttail]] return globalStore<D>(w, i);
  LUTHIER_THREAD(w, i);
}

// Translated: consecutive elements, whichever lanes are active. Registers are only accessed at constant places, lanes
// that depend on EXEC in copies: see translate/emitter.cc.

/// globalCoalesced, with a copy of the addresses.
template <u32 Size> [[gnu::always_inline]] inline bool attemptBlock(Wave &w, const Inst *i, u64 exec, u64 &block) {
  alignas(64) u32 low[N], high[N], active[N];
  memcpy(low, w.v[i->src[0].reg], sizeof low);
  expandMask(exec, active);
  const auto lane = static_cast<unsigned>(__builtin_ctzll(exec));
  const u32 first = low[lane] - lane * Size;
  PartVector different{};
  const auto part = [](const u32 *lanes, unsigned n) { return *reinterpret_cast<const LaneVector *>(lanes + n); };
  for (unsigned n = 0; n < N; n += kPart)
    different |= (part(low, n) ^ (part(kLaneIds, n) * Size + first)) & part(active, n);
  u64 base;
  if (i->sdst != kNoScalar) {
    base = w.scalar64(i->sdst);
  } else {
    memcpy(high, w.v[i->src[0].reg + 1], sizeof high);
    const u32 common = high[lane];
    base = static_cast<u64>(common) << 32;
    for (unsigned n = 0; n < N; n += kPart)
      different |= (part(high, n) ^ common) & part(active, n);
  }
  block = base + first + static_cast<u64>(static_cast<i64>(i->imm));
  return !anyBits(different) && first <= ~0u - N * Size && allowed(w, block, N * Size);
}

template <Data D> LUTHIER_GUEST_ACCESS bool attemptLoad(Wave &w, const Inst *i) {
  constexpr u8 kUnusual = kLds | (writtenBits(D) == ~0u ? 0 : kLoadKeepsHalf);
  const u64 exec = activeLanes(w);
  if (exec == 0)
    return true;
  if (exec == kAllLanes) // which the optimiser often knows: no lane depends on EXEC
    return loadFull<D>(w, i);
  u64 block;
  if ((i->flags & kUnusual) || !attemptBlock<bytesOf(D)>(w, i, exec, block))
    return false;
  alignas(64) u32 loaded[registersOf(D) * kRow], active[N];
  loadBlock<D>(loaded, block);
  expandMask(exec, active);
  for (unsigned r = 0; r < registersOf(D); ++r)
    putActive(w.v[i->dst + r], loaded + r * kRow, active);
  return true;
}

template <Data D> LUTHIER_GUEST_ACCESS bool attemptStore(Wave &w, const Inst *i) {
  const u64 exec = activeLanes(w);
  if (exec == 0)
    return true;
  if (exec == kAllLanes)
    return storeFull<D>(w, i);
  u64 block;
  if ((i->flags & kLds) || !attemptBlock<bytesOf(D)>(w, i, exec, block))
    return false;
  alignas(64) u32 stored[registersOf(D) * kRow];
  memcpy(stored, w.v[i->src[1].reg], sizeof stored);
  storeBlock<D>(stored, block, exec);
  return true;
}

template <auto F, AtomicFp Fp = AtomicFp::None> LUTHIER_GUEST_ACCESS const Inst *globalAtomic(Wave &w, const Inst *i) {
  const u64 exec = activeLanes(w);
  if (exec == 0)
    return i->next();
  return atomicLanes<F, Fp>(w, i, w.v[i->src[1].reg], i->flags & kReturnsOld ? w.v[i->dst] : nullptr,
                            globalAddresses(w, i), exec);
}

/// Lane n at an SGPR pair + offset + 4 * n, without any VGPR.
template <bool Store> LUTHIER_GUEST_ACCESS const Inst *globalAddTid(Wave &w, const Inst *i) {
  const u64 exec = activeLanes(w);
  const u64 base = (i->sdst != kNoScalar ? w.scalar64(i->sdst) : 0) + static_cast<u64>(static_cast<i64>(i->imm));
  for (unsigned n = 0; n < N; ++n)
    w.addresses[n] = base + 4 * n;
  if constexpr (Store)
    return storeLanes<Data::B32>(w, i, w.v[i->src[1].reg], w.addresses, exec);
  else
    return loadLanes<Data::B32>(w, i, w.addresses, exec);
}

/// Up to 32 registers to or from consecutive dwords; M0 has a bit for each that is not left out.
template <bool Store> LUTHIER_GUEST_ACCESS const Inst *globalBlock(Wave &w, const Inst *i) {
  const u64 exec = activeLanes(w);
  const u32 chosen = w.s[kM0];
  if (exec == 0 || chosen == 0)
    return i->next();
  const u64 *first = globalAddresses(w, i);
  alignas(64) u64 address[32][N];
  u64 bad;
  for (u32 r = 0; r < 32; ++r) {
    for (unsigned n = 0; n < N; ++n)
      address[r][n] = first[n] + 4 * r;
    if ((chosen >> r & 1) && !lanesAllowed(w, i, address[r], exec, 4, Store, bad))
      return w.memoryFault(i, bad, Store);
  }
  for (u32 r = 0; r < 32; ++r)
    if (chosen >> r & 1) {
      if constexpr (Store)
        scatter<Data::B32>(w.v[i->src[1].reg + r], address[r], exec);
      else
        gather<Data::B32>(w.v[i->dst + r], address[r], exec);
    }
  return i->next();
}

/// Loads of matrices whose rows the registers have as columns: in each group of eight lanes, element j of lane i goes
/// to element i of lane j. Waves of 64 lanes load by the addresses of the first half; elements 4 to 7 go to the second.
template <class Element> LUTHIER_GUEST_ACCESS const Inst *loadTransposed(Wave &w, const Inst *i) {
  constexpr unsigned kLanes = 32, kElements = 8, kPerLane = kElements * kLanes / N, kPerDword = 4 / sizeof(Element);
  const u64 exec = activeLanes(w);
  if (exec == 0)
    return i->next();
  if (exec != kAllLanes)
    return w.illegal(i, "loads a matrix while some lanes are not active, which the manual leaves undefined");
  u64 bad;
  u64 *address = globalAddresses(w, i);
  if (!lanesAllowed(w, i, address, (1ull << kLanes) - 1, kElements * sizeof(Element), false, bad))
    return w.memoryFault(i, bad, false);
  Element loaded[kLanes][kElements];
  for (unsigned lane = 0; lane < kLanes; ++lane)
    for (unsigned e = 0; e < kElements; ++e) {
      const u64 at = address[lane] + e * sizeof(Element);
      if constexpr (sizeof(Element) == 1)
        loaded[lane][e] = *reinterpret_cast<const u8 *>(at);
      else
        loaded[lane][e] = *reinterpret_cast<const Mem16 *>(at);
    }
  for (unsigned lane = 0; lane < N; ++lane)
    for (unsigned r = 0; r < kPerLane / kPerDword; ++r) {
      u32 value = 0;
      for (unsigned k = 0; k < kPerDword; ++k) {
        const unsigned e = lane / kLanes * kPerLane + r * kPerDword + k, group = lane % kLanes & ~7u;
        value |= static_cast<u32>(loaded[group + e][lane % 8]) << (k * 8 * sizeof(Element));
      }
      w.v[i->dst + r][lane] = value;
    }
  return i->next();
}

// SCRATCH.

Swizzle scratchMemory(const Wave &w) { return {w.scalar64(w.flatScratch), w.lanes, 0}; }

/// Lanes of `mask` whose private offset is inside the wave's scratch.
template <unsigned Bytes> [[gnu::always_inline]] inline u64 scratchInRange(const Wave &w, const u32 *offset, u64 mask) {
  const u64 size = w.scratchBytes >> (w.lanes == 64 ? 6 : 5);
  u64 inside = 0;
  for (unsigned n = 0; n < N; ++n)
    inside |= static_cast<u64>(static_cast<u64>(offset[n]) + Bytes <= size) << n;
  return inside & mask;
}

/// The same, and a word about the lanes that are not.
template <unsigned Bytes>
[[gnu::always_inline]] inline u64 checkedScratch(Wave &w, const Inst *i, const u32 *offset, u64 mask, bool write) {
  const u64 inside = scratchInRange<Bytes>(w, offset, mask);
  if (inside != mask && w.check) [[unlikely]]
    w.outsideScratch(i, offset, mask & ~inside, Bytes, write);
  return inside;
}

/// Private offsets of all lanes, from a VGPR, an SGPR, both or neither.
[[gnu::always_inline]] inline const u32 *scratchOffsets(Wave &w, const Inst *i) {
  u32 *offset = w.tmp[5];
  const u32 uniform = (i->sdst != kNoScalar ? w.s[i->sdst] : 0) + static_cast<u32>(i->imm);
  if (i->srcKind[0] == SrcKind::None) {
    for (unsigned n = 0; n < N; ++n)
      offset[n] = uniform;
  } else {
    const u32 *v = w.v[i->src[0].reg];
    for (unsigned n = 0; n < N; ++n)
      offset[n] = v[n] + uniform;
  }
  return offset;
}

template <Data D> LUTHIER_GUEST_ACCESS const Inst *scratchLoad(Wave &w, const Inst *i) {
  if (i->flags & kLds)
    return w.illegal(i, "cannot load from scratch to LDS");
  const u64 exec = activeLanes(w);
  const u32 *offset = scratchOffsets(w, i);
  const u64 inside = checkedScratch<bytesOf(D)>(w, i, offset, exec, false);
  return loadSwizzled<D>(w, i, w.v[i->dst], scratchMemory(w), kLaneIds, offset, inside, exec & ~inside);
}

// gfx940 has instructions of their own for loads to LDS.

inline constexpr u32 kFlatLdsOffsetInM0 = 0x3fffc; // MI300's manual, 10.3: M0[17:2] * 4

template <Data D> LUTHIER_GUEST_ACCESS const Inst *globalLoadLds(Wave &w, const Inst *i) {
  return loadLanesToLds<D>(w, i, globalAddresses(w, i), activeLanes(w), 0, kFlatLdsOffsetInM0);
}

template <Data D> LUTHIER_GUEST_ACCESS const Inst *scratchLoadLds(Wave &w, const Inst *i) {
  const u64 exec = activeLanes(w);
  const u32 *offset = scratchOffsets(w, i);
  const u64 inside = checkedScratch<bytesOf(D)>(w, i, offset, exec, false);
  if (!swizzledLanes<D>(scratchMemory(w), kLaneIds, offset, inside, w.addresses).whole)
    return w.illegal(i, "loads unaligned data from scratch to LDS, which is not implemented");
  return loadLanesToLds<D>(w, i, w.addresses, inside, exec & ~inside, kFlatLdsOffsetInM0);
}

template <Data D> LUTHIER_GUEST_ACCESS const Inst *scratchStore(Wave &w, const Inst *i) {
  if (i->flags & kLds)
    return w.illegal(i, "cannot store from LDS to scratch");
  const u64 exec = activeLanes(w);
  const u32 *offset = scratchOffsets(w, i);
  return storeSwizzled<D>(w, i, w.v[i->src[1].reg], scratchMemory(w), kLaneIds, offset,
                          checkedScratch<bytesOf(D)>(w, i, offset, exec, true));
}

template <bool Store> LUTHIER_GUEST_ACCESS const Inst *scratchBlock(Wave &w, const Inst *i) {
  const u64 exec = activeLanes(w);
  const u32 chosen = w.s[kM0];
  const Swizzle memory = scratchMemory(w);
  alignas(64) u32 offset[32][N];
  const u32 *first = scratchOffsets(w, i);
  u64 bad;
  for (u32 r = 0; r < 32; ++r) {
    for (unsigned n = 0; n < N; ++n)
      offset[r][n] = first[n] + 4 * r;
    if ((chosen >> r & 1) &&
        !piecesAllowed(w, memory, kLaneIds, offset[r], scratchInRange<4>(w, offset[r], exec), 4, bad))
      return w.memoryFault(i, bad, Store);
  }
  for (u32 r = 0; r < 32; ++r) {
    if (!(chosen >> r & 1))
      continue;
    const u64 inside = checkedScratch<4>(w, i, offset[r], exec, Store);
    if constexpr (Store)
      storeSwizzled<Data::B32>(w, i, w.v[i->src[1].reg + r], memory, kLaneIds, offset[r], inside);
    else
      loadSwizzled<Data::B32>(w, i, w.v[i->dst + r], memory, kLaneIds, offset[r], inside, exec & ~inside);
  }
  return i->next();
}

// FLAT.

struct FlatLanes {
  u64 global, lds, scratch; ///< lanes by where their address is; lanes out of their range are in none
};

/// True when no active lane is in an aperture; addresses are then final. The immediate offset may be negative on some
/// targets. What happens where it leads into another aperture is undefined; it decides here.
[[gnu::always_inline]] inline bool allGlobal(Wave &w, const Inst *i, u64 exec) {
  const u32 *v = w.v[i->src[0].reg];
  const u64 offset = static_cast<u64>(static_cast<i64>(i->imm));
  const u32 shared = static_cast<u32>(w.sharedAperture >> 32), priv = static_cast<u32>(w.privateAperture >> 32);
  u64 elsewhere = 0;
  for (unsigned n = 0; n < N; ++n) {
    const u64 a = (v[n] | static_cast<u64>(v[n + kRow]) << 32) + offset;
    const u32 high = static_cast<u32>(a >> 32);
    w.addresses[n] = a;
    elsewhere |= static_cast<u64>((high == shared) | (high == priv)) << n;
  }
  return (elsewhere & exec) == 0;
}

/// Sorts lanes by aperture. Addresses of LDS lanes become host addresses, private offsets go to `offset`.
template <unsigned Bytes> FlatLanes sortLanes(Wave &w, const Inst *i, u64 exec, u32 *offset, bool write) {
  FlatLanes lanes{};
  u64 lds = 0;
  for (u64 m = exec; m; m &= m - 1) {
    const auto n = static_cast<unsigned>(__builtin_ctzll(m));
    const u64 bit = 1ull << n;
    const u64 a = w.addresses[n];
    const u32 low = static_cast<u32>(a);
    if (a >> 32 == w.sharedAperture >> 32) {
      w.addresses[n] = reinterpret_cast<u64>(w.lds) + low;
      lds |= bit;
      lanes.lds |= static_cast<u64>(low) + Bytes <= w.ldsSize ? bit : 0;
    } else if (a >> 32 == w.privateAperture >> 32) {
      offset[n] = low;
      lanes.scratch |= bit;
    } else {
      lanes.global |= bit;
    }
  }
  if (lanes.lds != lds && w.check) [[unlikely]]
    w.outsideLds(i, w.addresses, lds & ~lanes.lds, Bytes, write);
  lanes.scratch = checkedScratch<Bytes>(w, i, offset, lanes.scratch, write);
  return lanes;
}

template <Data D> LUTHIER_GUEST_ACCESS const Inst *flatLoad(Wave &w, const Inst *i) {
  const u64 exec = activeLanes(w);
  if (exec == 0)
    return i->next();
  if (allGlobal(w, i, exec)) [[likely]] {
    u64 block;
    if (coalesced(w.addresses, exec, bytesOf(D), block) && loadCoalesced<D>(w, i, exec, block))
      return i->next();
    return loadLanes<D>(w, i, w.addresses, exec);
  }
  u32 *offset = w.tmp[5];
  const FlatLanes lanes = sortLanes<bytesOf(D)>(w, i, exec, offset, false);
  u64 bad;
  if (lanes.global && !lanesAllowed(w, i, w.addresses, lanes.global, bytesOf(D), false, bad))
    return w.memoryFault(i, bad, false);
  const u64 linear = lanes.global | lanes.lds;
  if (!loadSwizzled<D>(w, i, w.v[i->dst], scratchMemory(w), kLaneIds, offset, lanes.scratch,
                       exec & ~linear & ~lanes.scratch))
    return nullptr;
  gather<D>(w.v[i->dst], w.addresses, linear);
  return i->next();
}

template <Data D> LUTHIER_GUEST_ACCESS const Inst *flatStore(Wave &w, const Inst *i) {
  const u64 exec = activeLanes(w);
  if (exec == 0)
    return i->next();
  const u32 *s = w.v[i->src[1].reg];
  if (allGlobal(w, i, exec)) [[likely]] {
    u64 block;
    if (coalesced(w.addresses, exec, bytesOf(D), block) && storeCoalesced<D>(w, s, exec, block))
      return i->next();
    return storeLanes<D>(w, i, w.v[i->src[1].reg], w.addresses, exec);
  }
  u32 *offset = w.tmp[5];
  const FlatLanes lanes = sortLanes<bytesOf(D)>(w, i, exec, offset, true);
  u64 bad;
  if (lanes.global && !lanesAllowed(w, i, w.addresses, lanes.global, bytesOf(D), true, bad))
    return w.memoryFault(i, bad, true);
  if (!storeSwizzled<D>(w, i, w.v[i->src[1].reg], scratchMemory(w), kLaneIds, offset, lanes.scratch))
    return nullptr;
  scatter<D>(s, w.addresses, lanes.global | lanes.lds);
  return i->next();
}

template <auto F, AtomicFp Fp = AtomicFp::None> LUTHIER_GUEST_ACCESS const Inst *flatAtomic(Wave &w, const Inst *i) {
  using T = typename atomic::Shape<decltype(F)>::Value;
  const u64 exec = activeLanes(w);
  if (exec == 0)
    return i->next();
  const u32 *data = w.v[i->src[1].reg];
  u32 *d = i->flags & kReturnsOld ? w.v[i->dst] : nullptr;
  if (allGlobal(w, i, exec)) [[likely]]
    return atomicLanes<F, Fp>(w, i, data, d, w.addresses, exec);
  u32 *offset = w.tmp[5];
  const FlatLanes lanes = sortLanes<sizeof(T)>(w, i, exec, offset, true);
  const Swizzle memory = scratchMemory(w);
  u64 bad;
  if (sizeof(T) == 8 && lanes.scratch && (i->flags & kNarrowScratch))
    return w.memoryFault(i, w.addresses[__builtin_ctzll(lanes.scratch)], true);
  if (!piecesAllowed(w, memory, kLaneIds, offset, lanes.scratch, sizeof(T), bad))
    return w.memoryFault(i, bad, true);
  const u64 linear = lanes.global | lanes.lds;
  if (!atomicLanes<F, Fp>(w, i, data, d, w.addresses, linear, lanes.lds))
    return nullptr;
  // Nobody else sees private memory, and a qword is not in one piece there.
  const AtomicFpMode<Fp> fp(w, i);
  for (u64 m = lanes.scratch; m; m &= m - 1) {
    const auto n = static_cast<unsigned>(__builtin_ctzll(m));
    T value;
    loadPieces(memory, n, offset[n], sizeof(T), reinterpret_cast<u8 *>(&value));
    const T old = value;
    value = applyAtomic<F, T>(old, data, data + sizeof(T) / 4 * kRow, n);
    storePieces(memory, n, offset[n], sizeof(T), reinterpret_cast<const u8 *>(&value));
    if (d)
      Lane<T>::put(d, n, old);
  }
  if (d)
    zeroLanes(d, exec & ~linear & ~lanes.scratch, sizeof(T) / 4);
  return i->next();
}

/// A row of a global load or store: the whole of it, the threaded usual case, and consecutive elements.
template <Handler Whole, Handler Threaded, Attempt Usual> constexpr Row global(std::string_view mnemonic) {
  Row row = memory(mnemonic, Whole);
  if constexpr (kBitcode)
    row.attempt = Usual;
  else
    row.threaded = kOnly<Threaded>;
  return row;
}

#define LOAD(NAME, DATA)                                                                                               \
  global<kLoad<globalLoad<DATA>, DATA>, threadedLoad<DATA>, attemptLoad<DATA>>("global_load_" NAME),                   \
      memory("flat_load_" NAME, kLoad<flatLoad<DATA>, DATA>),                                                          \
      memory("scratch_load_" NAME, kLoad<scratchLoad<DATA>, DATA>)
#define LOAD_LDS(NAME, DATA)                                                                                           \
  memory("global_load_lds_" NAME, globalLoadLds<DATA>), memory("scratch_load_lds_" NAME, scratchLoadLds<DATA>)
#define STORE(NAME, DATA)                                                                                              \
  global<globalStore<DATA>, threadedStore<DATA>, attemptStore<DATA>>("global_store_" NAME),                            \
      memory("flat_store_" NAME, flatStore<DATA>), memory("scratch_store_" NAME, scratchStore<DATA>)
#define ATOMIC(NAME, ...)                                                                                              \
  memory("global_atomic_" NAME, globalAtomic<__VA_ARGS__>), memory("flat_atomic_" NAME, flatAtomic<__VA_ARGS__>)
#define BY_MODE(NAME, F, FLUSHING, KEEPING)                                                                            \
  memory("global_atomic_" NAME, asModeSays<F, globalAtomic<FLUSHING>, globalAtomic<KEEPING>>)                          \
      .documented(why::kAtomicDenormals),                                                                              \
      memory("flat_atomic_" NAME, asModeSays<F, flatAtomic<FLUSHING>, flatAtomic<KEEPING>>)                            \
          .documented(why::kAtomicDenormals)
#define SUM(NAME, ...)                                                                                                 \
  memory("global_atomic_" NAME, globalAtomic<__VA_ARGS__>).documented(why::kSumOrder),                                 \
      memory("flat_atomic_" NAME, flatAtomic<__VA_ARGS__>).documented(why::kSumOrder)

constexpr Row kRows[] = {
    LOAD("ubyte", Data::U8),
    LOAD("sbyte", Data::I8),
    LOAD("ushort", Data::U16),
    LOAD("sshort", Data::I16),
    LOAD("dword", Data::B32),
    LOAD("dwordx2", Data::B64),
    LOAD("dwordx3", Data::B96),
    LOAD("dwordx4", Data::B128),
    LOAD("ubyte_d16", Data::U8D16),
    LOAD("ubyte_d16_hi", Data::U8D16Hi),
    LOAD("sbyte_d16", Data::I8D16),
    LOAD("sbyte_d16_hi", Data::I8D16Hi),
    LOAD("short_d16", Data::B16D16),
    LOAD("short_d16_hi", Data::B16D16Hi),
    LOAD_LDS("ubyte", Data::U8),
    LOAD_LDS("sbyte", Data::I8),
    LOAD_LDS("ushort", Data::U16),
    LOAD_LDS("sshort", Data::I16),
    LOAD_LDS("dword", Data::B32),
    STORE("byte", Data::U8),
    STORE("byte_d16_hi", Data::U8D16Hi),
    STORE("short", Data::U16),
    STORE("short_d16_hi", Data::B16D16Hi),
    STORE("dword", Data::B32),
    STORE("dwordx2", Data::B64),
    STORE("dwordx3", Data::B96),
    STORE("dwordx4", Data::B128),
    INTEGER_ATOMICS(ATOMIC),
    FLOAT_ATOMICS(ATOMIC, BY_MODE),
    memory("global_atomic_csub", globalAtomic<atomic::subClamp>), // with a FLAT form from gfx12 on
    memory("flat_atomic_sub_clamp_u32", flatAtomic<atomic::subClamp>),
    ATOMIC("cond_sub_u32", atomic::condSub),
    memory("global_atomic_ordered_add_b64", globalAtomic<atomic::orderedAdd>)
        .chosen("the id is bounded by VGT_GS_MAX_WAVE_ID, a register of the geometry engine; all its bits are 1 here"),
    // L2 flushes f32 denormals on some targets, and never those of f64 and f16 (MI200 manual, table 43).
    SUM("add_f64", atomic::fadd<f64>, AtomicFp::Keep),
    SUM("add_f32", atomic::fadd<f32>, AtomicFp::Memory),
    SUM("pk_add_f16", atomic::pkAddF16<>, AtomicFp::Keep),
    SUM("pk_add_bf16", atomic::pkAddBf16<>, AtomicFp::Keep),
    ATOMIC("min_f64", atomic::fmin<f64>),
    // The manual's pseudo-code repeats that of min; MUBUF's is right.
    memory("flat_atomic_max_f64", flatAtomic<atomic::fmax<f64>>).documented(why::kMisprint),
    memory("global_atomic_max_f64", globalAtomic<atomic::fmax<f64>>).documented(why::kMisprint),
    memory("global_load_dword_addtid", globalAddTid<false>),
    memory("global_store_dword_addtid", globalAddTid<true>),
    memory("global_load_block", globalBlock<false>),
    memory("global_store_block", globalBlock<true>),
    memory("scratch_load_block", scratchBlock<false>),
    memory("scratch_store_block", scratchBlock<true>),
    memory("global_load_tr_b128", loadTransposed<u16>).documented(why::kTransposed),
    memory("global_load_tr_b64", loadTransposed<u8>).documented(why::kTransposed),
    memory("global_inv", cacheControl).documented(why::kNoCache),
    memory("global_wb", cacheControl).documented(why::kNoCache),
    memory("global_wbinv", cacheControl).documented(why::kNoCache),
};

} // namespace

std::span<const Row> flatRows() { return kRows; }

} // namespace luthier::vgpu::LUTHIER_VGPU_LEVEL
