// FLAT, GLOBAL and SCRATCH: memory without a resource (manual, chapter 10).
//
// One encoding, three segments. GLOBAL addresses are memory addresses. SCRATCH addresses are offsets into the lane's
// private memory, which is swizzled: FLAT_SCRATCH + (offset / 4) * 4 * 64 + lane * 4 + offset % 4. A FLAT address is
// in LDS or private memory when its high half is that aperture's, else in memory; each lane decides for itself.

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
  if (activeLanes(w) != kAllLanes || (i->flags & kLds) || !fullBlock<bytesOf(D)>(w, i, block) ||
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
    [[clang::musttail]] return globalLoad<D>(w, i);
  LUTHIER_THREAD(w, i);
}

template <Data D> LUTHIER_GUEST_ACCESS const Inst *threadedStore(Wave &w, const Inst *i) {
  if (!storeFull<D>(w, i)) [[unlikely]]
    [[clang::musttail]] return globalStore<D>(w, i);
  LUTHIER_THREAD(w, i);
}

template <auto F, AtomicFp Fp = AtomicFp::None> LUTHIER_GUEST_ACCESS const Inst *globalAtomic(Wave &w, const Inst *i) {
  const u64 exec = activeLanes(w);
  if (exec == 0)
    return i->next();
  return atomicLanes<F, Fp>(w, i, w.v[i->src[1].reg], i->flags & kReturnsOld ? w.v[i->dst] : nullptr,
                            globalAddresses(w, i), exec);
}

// SCRATCH.

Swizzle scratchMemory(const Wave &w) { return {w.scalar64(kFlatScratch), w.lanes, 0}; }

/// Lanes of `mask` whose private offset is inside the wave's scratch.
template <unsigned Bytes> [[gnu::always_inline]] inline u64 scratchInRange(const Wave &w, const u32 *offset, u64 mask) {
  const u64 size = w.scratchBytes >> (w.lanes == 64 ? 6 : 5);
  u64 inside = 0;
  for (unsigned n = 0; n < N; ++n)
    inside |= static_cast<u64>(static_cast<u64>(offset[n]) + Bytes <= size) << n;
  return inside & mask;
}

/// Private offsets of all lanes, from a VGPR or an SGPR.
[[gnu::always_inline]] inline const u32 *scratchOffsets(Wave &w, const Inst *i) {
  u32 *offset = w.tmp[5];
  if (i->sdst != kNoScalar) {
    const u32 uniform = w.s[i->sdst] + static_cast<u32>(i->imm);
    for (unsigned n = 0; n < N; ++n)
      offset[n] = uniform;
  } else {
    const u32 *v = w.v[i->src[0].reg];
    for (unsigned n = 0; n < N; ++n)
      offset[n] = v[n] + static_cast<u32>(i->imm);
  }
  return offset;
}

template <Data D> LUTHIER_GUEST_ACCESS const Inst *scratchLoad(Wave &w, const Inst *i) {
  if (i->flags & kLds)
    return w.illegal(i, "cannot load from scratch to LDS");
  const u64 exec = activeLanes(w);
  const u32 *offset = scratchOffsets(w, i);
  const u64 inside = scratchInRange<bytesOf(D)>(w, offset, exec);
  return loadSwizzled<D>(w, i, scratchMemory(w), kLaneIds, offset, inside, exec & ~inside);
}

template <Data D> LUTHIER_GUEST_ACCESS const Inst *scratchStore(Wave &w, const Inst *i) {
  if (i->flags & kLds)
    return w.illegal(i, "cannot store from LDS to scratch");
  const u64 exec = activeLanes(w);
  const u32 *offset = scratchOffsets(w, i);
  return storeSwizzled<D>(w, i, w.v[i->src[1].reg], scratchMemory(w), kLaneIds, offset,
                          scratchInRange<bytesOf(D)>(w, offset, exec));
}

// FLAT.

struct FlatLanes {
  u64 global, lds, scratch; ///< lanes by where their address is; lanes out of their range are in none
};

/// True when no active lane is in an aperture; addresses are then final.
[[gnu::always_inline]] inline bool allGlobal(Wave &w, const Inst *i, u64 exec) {
  const u32 *v = w.v[i->src[0].reg];
  const u32 shared = static_cast<u32>(w.sharedAperture >> 32), priv = static_cast<u32>(w.privateAperture >> 32);
  u64 elsewhere = 0;
  for (unsigned n = 0; n < N; ++n) {
    const u64 a = (v[n] | static_cast<u64>(v[n + kRow]) << 32) + static_cast<u32>(i->imm);
    const u32 high = static_cast<u32>(a >> 32);
    w.addresses[n] = a;
    elsewhere |= static_cast<u64>((high == shared) | (high == priv)) << n;
  }
  return (elsewhere & exec) == 0;
}

/// Sorts lanes by aperture. Addresses of LDS lanes become host addresses, private offsets go to `offset`.
template <unsigned Bytes> FlatLanes sortLanes(Wave &w, u64 exec, u32 *offset) {
  FlatLanes lanes{};
  for (u64 m = exec; m; m &= m - 1) {
    const auto n = static_cast<unsigned>(__builtin_ctzll(m));
    const u64 bit = 1ull << n;
    const u64 a = w.addresses[n];
    const u32 low = static_cast<u32>(a);
    if (a >> 32 == w.sharedAperture >> 32) {
      w.addresses[n] = reinterpret_cast<u64>(w.lds) + low;
      lanes.lds |= static_cast<u64>(low) + Bytes <= w.ldsSize ? bit : 0;
    } else if (a >> 32 == w.privateAperture >> 32) {
      offset[n] = low;
      lanes.scratch |= bit;
    } else {
      lanes.global |= bit;
    }
  }
  lanes.scratch = scratchInRange<Bytes>(w, offset, lanes.scratch);
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
  const FlatLanes lanes = sortLanes<bytesOf(D)>(w, exec, offset);
  u64 bad;
  if (lanes.global && !lanesAllowed(w, w.addresses, lanes.global, bytesOf(D), bad))
    return w.memoryFault(i, bad, false);
  const u64 linear = lanes.global | lanes.lds;
  if (!loadSwizzled<D>(w, i, scratchMemory(w), kLaneIds, offset, lanes.scratch, exec & ~linear & ~lanes.scratch))
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
  const FlatLanes lanes = sortLanes<bytesOf(D)>(w, exec, offset);
  u64 bad;
  if (lanes.global && !lanesAllowed(w, w.addresses, lanes.global, bytesOf(D), bad))
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
  const FlatLanes lanes = sortLanes<sizeof(T)>(w, exec, offset);
  const Swizzle memory = scratchMemory(w);
  u64 bad;
  if (!piecesAllowed(w, memory, kLaneIds, offset, lanes.scratch, sizeof(T), bad))
    return w.memoryFault(i, bad, true);
  const u64 linear = lanes.global | lanes.lds;
  if (!atomicLanes<F, Fp>(w, i, data, d, w.addresses, linear, lanes.lds))
    return nullptr;
  // Nobody else sees private memory, and a qword is not in one piece there.
  const AtomicFpMode<Fp> fp(w);
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

/// A row of a global load or store: the whole of it, the threaded usual case, and that case alone.
template <Handler Whole, Handler Threaded, Attempt Usual> constexpr Row global(std::string_view mnemonic) {
  Row row = memory(mnemonic, Whole);
  if constexpr (kBitcode)
    row.attempt = [](Wave &w, const Inst *i) { return Usual(w, i); };
  else
    row.threaded = kOnly<Threaded>;
  return row;
}

#define LOAD(NAME, DATA)                                                                                               \
  global<globalLoad<DATA>, threadedLoad<DATA>, loadFull<DATA>>("global_load_" NAME),                                   \
      memory("flat_load_" NAME, flatLoad<DATA>), memory("scratch_load_" NAME, scratchLoad<DATA>)
#define STORE(NAME, DATA)                                                                                              \
  global<globalStore<DATA>, threadedStore<DATA>, storeFull<DATA>>("global_store_" NAME),                               \
      memory("flat_store_" NAME, flatStore<DATA>), memory("scratch_store_" NAME, scratchStore<DATA>)
#define ATOMIC(NAME, ...)                                                                                              \
  memory("global_atomic_" NAME, globalAtomic<__VA_ARGS__>), memory("flat_atomic_" NAME, flatAtomic<__VA_ARGS__>)

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
    STORE("byte", Data::U8),
    STORE("byte_d16_hi", Data::U8D16Hi),
    STORE("short", Data::U16),
    STORE("short_d16_hi", Data::B16D16Hi),
    STORE("dword", Data::B32),
    STORE("dwordx2", Data::B64),
    STORE("dwordx3", Data::B96),
    STORE("dwordx4", Data::B128),
    INTEGER_ATOMICS(ATOMIC),
    // L2 always flushes f32 denormals and never those of f64 and f16 (manual, table 43).
    memory("flat_atomic_add_f64", flatAtomic<atomic::fadd<f64>, AtomicFp::Keep>).documented(why::kSumOrder),
    memory("global_atomic_add_f64", globalAtomic<atomic::fadd<f64>, AtomicFp::Keep>).documented(why::kSumOrder),
    memory("global_atomic_add_f32", globalAtomic<atomic::fadd<f32>, AtomicFp::Flush>).documented(why::kSumOrder),
    memory("global_atomic_pk_add_f16", globalAtomic<atomic::pkAddF16, AtomicFp::Keep>).documented(why::kSumOrder),
    ATOMIC("min_f64", atomic::fmin<f64>),
    // The manual's pseudo-code repeats that of min; MUBUF's is right.
    memory("flat_atomic_max_f64", flatAtomic<atomic::fmax<f64>>).documented(why::kMisprint),
    memory("global_atomic_max_f64", globalAtomic<atomic::fmax<f64>>).documented(why::kMisprint),
};

} // namespace

std::span<const Row> flatRows() { return kRows; }

} // namespace luthier::vgpu::LUTHIER_VGPU_LEVEL
