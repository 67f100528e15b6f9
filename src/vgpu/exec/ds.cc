// DS: LDS and lane permutation (manual, chapter 11 and 12.12). Global wave sync is in gws.cc.
//
// A workgroup's LDS is touched by one host thread at a time, its waves take turns: nothing here is atomic for the host.
// Out of range, reads return 0 and writes are dropped, each lane and each of the two elements of READ2 and WRITE2 on
// its own; from gfx12 on, also each dword that is read and each byte that is written. M0 does not limit LDS on gfx9,
// whatever chapter 11 says: LLVM does not set it up.

#include "vgpu/exec/tables.h"
#include "vgpu/exec/vmem.h"
#include "vgpu/exec/vmem_atomic.h"

#include <type_traits>

namespace luthier::vgpu::LUTHIER_VGPU_LEVEL {

namespace {

const Inst *noGds(Wave &w, const Inst *i) {
  return w.illegal(i, "uses GDS memory, which the virtual GPU does not have");
}

/// Host addresses of `bytes` at LDS address v + offset, in `address`. Returns the active lanes that are in range.
/// The sum wraps at 32 bits: LLVM folds offsets into negative bases.
template <unsigned Bytes>
[[gnu::always_inline]] inline u64 ldsAddresses(Wave &w, const Inst *i, const u32 *v, u32 offset, u64 exec, u64 *address,
                                               bool write) {
  const u64 base = reinterpret_cast<u64>(w.lds);
  const u64 size = w.ldsSize;
  u64 inside = 0;
  u32 highest = 0;
  for (unsigned n = 0; n < N; ++n) {
    const u32 a = v[n] + offset;
    address[n] = base + a;
    highest = a > highest ? a : highest;
  }
  if (static_cast<u64>(highest) + Bytes <= size) [[likely]]
    return exec;
  for (u64 m = exec; m; m &= m - 1) {
    const auto n = static_cast<unsigned>(__builtin_ctzll(m));
    inside |= static_cast<u64>(address[n] - base + Bytes <= size) << n;
  }
  if (inside != exec && w.check) [[unlikely]]
    w.outsideLds(i, address, exec & ~inside, Bytes, write);
  return inside;
}

/// True when EXEC's lanes address consecutive elements and the whole block is in LDS.
template <unsigned Bytes>
[[gnu::always_inline]] inline bool ldsCoalesced(Wave &w, const u32 *v, u32 offset, u64 exec, u64 &block) {
  u32 first;
  if (exec == 0 || !coalesced32(w, v, exec, Bytes, first))
    return false;
  first += offset;
  block = reinterpret_cast<u64>(w.lds) + first;
  return static_cast<u64>(first) + N * Bytes <= w.ldsSize;
}

/// Reads lanes of EXEC of which some may be out of range, from addresses that `ldsAddresses` has made.
template <Data D>
[[gnu::always_inline]] inline void readLanes(Wave &w, const Inst *i, u32 *d, const u64 *address, u64 inside, u64 exec) {
  gather<D>(d, address, inside);
  if (inside == exec) [[likely]]
    return;
  if (registersOf(D) == 1 || !i->ds.dwordsApart)
    return zeroLanes(d, exec & ~inside, registersOf(D));
  for (u64 m = exec & ~inside; m; m &= m - 1) {
    const auto n = static_cast<unsigned>(__builtin_ctzll(m));
    const u64 offset = address[n] - reinterpret_cast<u64>(w.lds);
    for (unsigned c = 0; c < registersOf(D); ++c)
      d[c * kRow + n] = offset + 4 * c + 4 <= w.ldsSize ? *reinterpret_cast<const Mem32 *>(address[n] + 4 * c) : 0;
  }
}

/// The same the other way.
template <Data D>
[[gnu::always_inline]] inline void writeLanes(Wave &w, const Inst *i, const u32 *s, const u64 *address, u64 inside,
                                              u64 exec) {
  scatter<D>(s, address, inside);
  if (inside == exec || !i->ds.dwordsApart) [[likely]]
    return;
  for (u64 m = exec & ~inside; m; m &= m - 1) {
    const auto n = static_cast<unsigned>(__builtin_ctzll(m));
    const u64 offset = address[n] - reinterpret_cast<u64>(w.lds);
    u32 value[4];
    storeLane<D>(s, n, reinterpret_cast<u64>(value));
    for (unsigned k = 0; k < bytesOf(D); ++k)
      if (offset + k < w.ldsSize)
        w.lds[offset + k] = reinterpret_cast<const u8 *>(value)[k];
  }
}

template <Data D> [[gnu::always_inline]] inline void readBlock(Wave &w, u32 *d, u64 block, u64 exec) {
  if (exec == kAllLanes) {
    loadBlock<D>(d, block);
  } else {
    loadBlock<D>(w.tmp[0], block);
    blendActive<registersOf(D)>(w, d, w.tmp[0]);
  }
}

/// Reads one element per offset with all lanes active, sixteen lanes at a time. False, and nothing done, when any lane
/// is out of range.
template <Data D, unsigned Count>
[[gnu::always_inline]] inline bool readParts(const Wave &w, const u32 *v, const u32 (&offset)[Count],
                                             u32 *const (&d)[Count]) {
  u32 highest = 0;
  for (unsigned e = 0; e < Count; ++e)
    for (unsigned n = 0; n < N; ++n)
      highest = v[n] + offset[e] > highest ? v[n] + offset[e] : highest;
  if (static_cast<u64>(highest) + bytesOf(D) > w.ldsSize) [[unlikely]]
    return false;
  constexpr PartVector kStep = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  const u64 lds = reinterpret_cast<u64>(w.lds);
  for (unsigned part = 0; part < N; part += kPart) {
    // A copy: the address register may be one of the results.
    const PartVector address = *reinterpret_cast<const LaneVector *>(v + part);
    const u32 first = address[0];
    if (!anyBits(address ^ first)) {
      for (unsigned e = 0; e < Count; ++e)
        loadUniformPart<D>(d[e] + part, lds + (first + offset[e]));
    } else if (bytesOf(D) >= 4 && !anyBits(address ^ (first + kStep * bytesOf(D)))) {
      for (unsigned e = 0; e < Count; ++e)
        loadConsecutivePart<D>(d[e] + part, lds + (first + offset[e]));
    } else {
      alignas(64) u32 each[kPart];
      memcpy(each, &address, sizeof each);
      for (unsigned e = 0; e < Count; ++e)
        for (unsigned n = 0; n < kPart; ++n)
          loadLane<D>(d[e] + part, n, lds + (each[n] + offset[e]));
    }
  }
  return true;
}

template <Data D> const Inst *dsRead(Wave &w, const Inst *i) {
  if (i->flags & kLds)
    return noGds(w, i);
  const u64 exec = activeLanes(w);
  const u32 *v = w.v[i->src[0].reg];
  const auto offset = static_cast<u32>(i->imm);
  u32 *d = w.v[i->dst];
  u64 block;
  if (ldsCoalesced<bytesOf(D)>(w, v, offset, exec, block)) {
    readBlock<D>(w, d, block, exec);
    return i->next();
  }
  if (exec == kAllLanes && readParts<D, 1>(w, v, {offset}, {d})) [[likely]]
    return i->next();
  const u64 inside = ldsAddresses<bytesOf(D)>(w, i, v, offset, exec, w.addresses, false);
  readLanes<D>(w, i, d, w.addresses, inside, exec);
  return i->next();
}

template <Data D> const Inst *dsWrite(Wave &w, const Inst *i) {
  if (i->flags & kLds)
    return noGds(w, i);
  const u64 exec = activeLanes(w);
  const u32 *v = w.v[i->src[0].reg];
  const auto offset = static_cast<u32>(i->imm);
  const u32 *s = w.v[i->src[1].reg];
  u64 block;
  if (ldsCoalesced<bytesOf(D)>(w, v, offset, exec, block)) {
    exec == kAllLanes ? storeBlock<D>(s, block) : storeBlock<D>(s, block, exec);
    return i->next();
  }
  const u64 inside = ldsAddresses<bytesOf(D)>(w, i, v, offset, exec, w.addresses, true);
  writeLanes<D>(w, i, s, w.addresses, inside, exec);
  return i->next();
}

// READ2, WRITE2, WRXCHG2: two elements whose offsets count elements, or 64 elements (ST64).

template <Data D, unsigned Scale> u32 offset0(const Inst *i) {
  return (static_cast<u32>(i->imm) & 0xff) * bytesOf(D) * Scale;
}
template <Data D, unsigned Scale> u32 offset1(const Inst *i) {
  return (static_cast<u32>(i->imm) >> 8 & 0xff) * bytesOf(D) * Scale;
}

template <Data D, unsigned Scale> const Inst *dsRead2(Wave &w, const Inst *i) {
  if (i->flags & kLds)
    return noGds(w, i);
  const u64 exec = activeLanes(w);
  const u32 *v = w.v[i->src[0].reg];
  u32 *d0 = w.v[i->dst], *d1 = w.v[i->dst + registersOf(D)];
  u64 block0, block1;
  if (ldsCoalesced<bytesOf(D)>(w, v, offset0<D, Scale>(i), exec, block0) &&
      ldsCoalesced<bytesOf(D)>(w, v, offset1<D, Scale>(i), exec, block1)) {
    readBlock<D>(w, d0, block0, exec);
    readBlock<D>(w, d1, block1, exec);
    return i->next();
  }
  if (exec == kAllLanes && readParts<D, 2>(w, v, {offset0<D, Scale>(i), offset1<D, Scale>(i)}, {d0, d1})) [[likely]]
    return i->next();
  // The address register may be one of the results: both addresses before any result.
  alignas(64) u64 address1[N];
  const u64 inside0 = ldsAddresses<bytesOf(D)>(w, i, v, offset0<D, Scale>(i), exec, w.addresses, false);
  const u64 inside1 = ldsAddresses<bytesOf(D)>(w, i, v, offset1<D, Scale>(i), exec, address1, false);
  readLanes<D>(w, i, d0, w.addresses, inside0, exec);
  readLanes<D>(w, i, d1, address1, inside1, exec);
  return i->next();
}

template <Data D, unsigned Scale> const Inst *dsWrite2(Wave &w, const Inst *i) {
  if (i->flags & kLds)
    return noGds(w, i);
  const u64 exec = activeLanes(w);
  const u32 *v = w.v[i->src[0].reg];
  const u32 *s0 = w.v[i->src[1].reg], *s1 = w.v[i->src[2].reg];
  const u32 first = offset0<D, Scale>(i), second = offset1<D, Scale>(i);
  u64 block0, block1;
  if (exec == kAllLanes && ldsCoalesced<bytesOf(D)>(w, v, first, exec, block0) &&
      ldsCoalesced<bytesOf(D)>(w, v, second, exec, block1)) {
    storeBlock<D>(s0, block0);
    if (first != second)
      storeBlock<D>(s1, block1);
    return i->next();
  }
  u64 inside = ldsAddresses<bytesOf(D)>(w, i, v, first, exec, w.addresses, true);
  writeLanes<D>(w, i, s0, w.addresses, inside, exec);
  // "Setting both offsets to the same value ... uses only the first DATA0" (manual, 11.3.2).
  if (first != second) {
    inside = ldsAddresses<bytesOf(D)>(w, i, v, second, exec, w.addresses, true);
    writeLanes<D>(w, i, s1, w.addresses, inside, exec);
  }
  return i->next();
}

// Translated: what is in range, for whichever lanes are active; all else is left to the handlers. Registers are only
// accessed at constant places, see translate/emitter.cc.

#ifdef __AVX512F__
typedef int IntVector __attribute__((vector_size(64), may_alias));

/// LDS addresses of the lanes; inactive ones have that of an active one. False when some are out of range.
template <unsigned Bytes>
[[gnu::always_inline]] inline bool attemptAddresses(const Wave &w, const Inst *i, u64 exec, u32 furthest,
                                                    u32 *address) {
  memcpy(address, w.v[i->src[0].reg], N * sizeof(u32));
  if (exec != kAllLanes) {
    alignas(64) u32 active[N], own[N], first[N];
    memcpy(own, address, sizeof own);
    expandMask(exec, active);
    const u32 any = own[__builtin_ctzll(exec)];
    for (unsigned n = 0; n < N; ++n)
      first[n] = any;
    putActive(first, address, active);
    memcpy(address, first, sizeof first);
  }
  u32 highest = 0;
  for (unsigned n = 0; n < N; ++n)
    highest = address[n] > highest ? address[n] : highest;
  return static_cast<u64>(highest) + furthest + Bytes <= w.ldsSize;
}

/// One element per offset.
template <Data D, unsigned Count>
[[gnu::always_inline]] inline bool attemptReads(Wave &w, const Inst *i, const u32 (&offset)[Count]) {
  const u64 exec = activeLanes(w);
  if (i->flags & kLds)
    return false;
  if (exec == 0)
    return true;
  constexpr unsigned kRegisters = registersOf(D);
  alignas(64) u32 address[N], active[N], read[Count * kRegisters * kRow];
  const u32 furthest = Count > 1 && offset[Count - 1] > offset[0] ? offset[Count - 1] : offset[0];
  if (!attemptAddresses<bytesOf(D)>(w, i, exec, furthest, address))
    return false;
  constexpr PartVector kStep = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
#pragma clang loop unroll(full)
  for (unsigned part = 0; part < N; part += kPart) {
    const PartVector at = *reinterpret_cast<const LaneVector *>(address + part);
    const u32 first = at[0];
    const bool uniform = !anyBits(at ^ first), consecutive = D == Data::B32 && !anyBits(at ^ (first + kStep * 4));
#pragma clang loop unroll(full)
    for (unsigned e = 0; e < Count; ++e)
#pragma clang loop unroll(full)
      for (unsigned c = 0; c < kRegisters; ++c) {
        const u8 *from = w.lds + offset[e] + 4 * c;
        PartVector value;
        if (uniform)
          value = PartVector{} + *reinterpret_cast<const Mem32 *>(from + first);
        else if (consecutive)
          value = *reinterpret_cast<const MemVector *>(from + first);
        else
          value = (PartVector)__builtin_ia32_gathersiv16si(IntVector{}, from, (IntVector)at, 0xffff, 1);
        *reinterpret_cast<LaneVector *>(read + (e * kRegisters + c) * kRow + part) = value;
      }
  }
  expandMask(exec, active);
  for (unsigned r = 0; r < Count * kRegisters; ++r)
    putActive(w.v[i->dst + r], read + r * kRow, active);
  return true;
}
template <Data D> bool attemptRead(Wave &w, const Inst *i) {
  return attemptReads<D, 1>(w, i, {static_cast<u32>(i->imm)});
}
template <Data D, unsigned Scale> bool attemptRead2(Wave &w, const Inst *i) {
  return attemptReads<D, 2>(w, i, {offset0<D, Scale>(i), offset1<D, Scale>(i)});
}

/// Dwords anywhere, wider elements one behind the other: of lanes that write to the same place, the highest one wins,
/// with all of its element.
template <Data D> bool attemptWrite(Wave &w, const Inst *i) {
  const u64 exec = activeLanes(w);
  if (i->flags & kLds)
    return false;
  if (exec == 0)
    return true;
  const auto offset = static_cast<u32>(i->imm);
  alignas(64) u32 address[N], data[registersOf(D) * kRow];
  if (!attemptAddresses<bytesOf(D)>(w, i, exec, offset, address))
    return false;
  memcpy(data, w.v[i->src[1].reg], sizeof data);
  PartVector different{};
  for (unsigned n = 0; n < N; n += kPart)
    different |= *reinterpret_cast<const LaneVector *>(address + n) ^
                 (*reinterpret_cast<const LaneVector *>(kLaneIds + n) * bytesOf(D) + address[0]);
  if (exec == kAllLanes && !anyBits(different)) {
    storeBlock<D>(data, reinterpret_cast<u64>(w.lds) + address[0] + offset);
    return true;
  }
  if constexpr (D == Data::B32) {
#pragma clang loop unroll(full)
    for (unsigned n = 0; n < N; n += kPart)
      __builtin_ia32_scattersiv16si(w.lds + offset, static_cast<u16>(exec >> n),
                                    *reinterpret_cast<const IntVector *>(address + n),
                                    *reinterpret_cast<const IntVector *>(data + n), 1);
    return true;
  }
  return false;
}
#else
template <Data D> constexpr Attempt attemptRead = nullptr;
template <Data D, unsigned Scale> constexpr Attempt attemptRead2 = nullptr;
template <Data D> constexpr Attempt attemptWrite = nullptr;
#endif

template <Data D> constexpr Row read(std::string_view mnemonic) {
  Row row = memory(mnemonic, dsRead<D>);
  if constexpr (kBitcode)
    row.attempt = attemptRead<D>;
  return row;
}
template <Data D, unsigned Scale> constexpr Row read2(std::string_view mnemonic) {
  Row row = memory(mnemonic, dsRead2<D, Scale>);
  if constexpr (kBitcode)
    row.attempt = attemptRead2<D, Scale>;
  return row;
}
template <Data D> constexpr Row write(std::string_view mnemonic) {
  Row row = memory(mnemonic, dsWrite<D>);
  if constexpr (kBitcode)
    row.attempt = attemptWrite<D>;
  return row;
}

template <class T, unsigned Scale> const Inst *dsExchange2(Wave &w, const Inst *i) {
  constexpr Data D = sizeof(T) == 4 ? Data::B32 : Data::B64;
  if (i->flags & kLds)
    return noGds(w, i);
  const u64 exec = activeLanes(w);
  const u32 *v = w.v[i->src[0].reg];
  alignas(64) u64 address1[N];
  const u64 inside0 = ldsAddresses<sizeof(T)>(w, i, v, offset0<D, Scale>(i), exec, w.addresses, true);
  const u64 inside1 = ldsAddresses<sizeof(T)>(w, i, v, offset1<D, Scale>(i), exec, address1, true);
  auto exchange = [](u64 address, T value) {
    auto *p = reinterpret_cast<std::conditional_t<sizeof(T) == 4, Mem32, Mem64> *>(address);
    const T old = *p;
    *p = value;
    return old;
  };
  for (u64 m = exec; m; m &= m - 1) {
    const auto n = static_cast<unsigned>(__builtin_ctzll(m));
    const T data0 = Lane<T>::get(w.v[i->src[1].reg], n), data1 = Lane<T>::get(w.v[i->src[2].reg], n);
    Lane<T>::put(w.v[i->dst], n, inside0 >> n & 1 ? exchange(w.addresses[n], data0) : 0);
    Lane<T>::put(w.v[i->dst + sizeof(T) / 4], n, inside1 >> n & 1 ? exchange(address1[n], data1) : 0);
  }
  return i->next();
}

// Read, modify, write. Atomics must be aligned; hardware reports a memory violation otherwise.

template <auto F, bool Return, AtomicFp Fp = AtomicFp::None> const Inst *dsAtomic(Wave &w, const Inst *i) {
  using T = typename atomic::Shape<decltype(F)>::Value;
  if (i->flags & kLds)
    return noGds(w, i);
  const u64 exec = activeLanes(w);
  u64 inside = ldsAddresses<sizeof(T)>(w, i, w.v[i->src[0].reg], static_cast<u32>(i->imm), exec, w.addresses, true);
  const u64 base = reinterpret_cast<u64>(w.lds);
  u64 low = 0;
  for (unsigned n = 0; n < N; ++n)
    low |= w.addresses[n] - base;
  if (low % sizeof(T)) [[unlikely]] { // of some lane, active or not
    u64 odd = 0;
    for (u64 m = inside; m; m &= m - 1)
      odd |= static_cast<u64>((w.addresses[__builtin_ctzll(m)] - base) % sizeof(T) != 0) << __builtin_ctzll(m);
    if (odd && (!w.check || !w.misalignedAtomics(i, w.addresses, odd, sizeof(T), true)))
      return w.memoryFault(i, w.sharedAperture + (w.addresses[__builtin_ctzll(odd)] - base), true);
    inside &= ~odd;
  }
  const u32 *data = w.v[i->src[1].reg], *data2 = w.v[i->src[2].reg];
  u32 *d = w.v[i->dst];
  {
    const AtomicFpMode<Fp> fp(w, i);
    auto perform = [&](unsigned n) __attribute__((always_inline)) {
      auto *p = reinterpret_cast<std::conditional_t<sizeof(T) == 4, Mem32, Mem64> *>(w.addresses[n]);
      const T old = *p;
      *p = applyAtomic<F, T>(old, data, data2, n);
      if constexpr (Return)
        Lane<T>::put(d, n, old);
    };
    if (inside == kAllLanes) {
      for (unsigned n = 0; n < N; ++n)
        perform(n);
    } else {
      for (u64 m = inside; m; m &= m - 1)
        perform(static_cast<unsigned>(__builtin_ctzll(m)));
    }
  }
  if constexpr (Return)
    zeroLanes(d, exec & ~inside, sizeof(T) / 4);
  return i->next();
}

/// Minimum, maximum and compare-and-store flush input denormals when MODE says so (manual, table 43).
template <class F, bool Max, bool Return>
inline constexpr Handler kMinMax =
    asModeSays<F, dsAtomic<SELECT(F, Max, true), Return>, dsAtomic<SELECT(F, Max, false), Return>>;
template <class F, bool Max, bool Return>
inline constexpr Handler kMinMaxNumber =
    asModeSays<F, dsAtomic<NUMBER(F, Max, true), Return>, dsAtomic<NUMBER(F, Max, false), Return>>;
template <class F, bool Return>
inline constexpr Handler kCompareStore =
    asModeSays<F, dsAtomic<FCMPST(F, true), Return>, dsAtomic<FCMPST(F, false), Return>>;
/// From gfx11 on, the data operands have the order that FLAT and MUBUF have.
template <class F, bool Return>
inline constexpr Handler kCompareSwap =
    asModeSays<F, dsAtomic<FCMPSWAP(F, true), Return>, dsAtomic<FCMPSWAP(F, false), Return>>;

/// Sums of halves flush as MODE says of f16.
template <bool Bf16, bool Return> const Inst *dsPackedAdd(Wave &w, const Inst *i) {
  constexpr auto add = []<bool In, bool Out>(Wave &wave, const Inst *inst) {
    if constexpr (Bf16)
      return dsAtomic<atomic::pkAddBf16<In, Out>, Return, AtomicFp::Keep>(wave, inst);
    else
      return dsAtomic<atomic::pkAddF16<In, Out>, Return, AtomicFp::Keep>(wave, inst);
  };
  switch (w.mode >> 6 & 3) {
  case 0:
    return add.template operator()<true, true>(w, i);
  case 1:
    return add.template operator()<false, true>(w, i);
  case 2:
    return add.template operator()<true, false>(w, i);
  default:
    return add.template operator()<false, false>(w, i);
  }
}

/// One counter for the whole wave: adds or subtracts the number of active lanes; all of them get the old value.
template <bool Append> const Inst *dsAppendConsume(Wave &w, const Inst *i) {
  if (i->flags & kLds)
    return noGds(w, i);
  const u64 exec = activeLanes(w);
  if (exec == 0)
    return i->next();
  // LLVM copies the LDS address to M0 as it is; only the low half counts.
  const u32 a = (w.s[kM0] & 0xffff) + static_cast<u32>(i->imm);
  if (a % 4)
    return w.memoryFault(i, w.sharedAperture + a, true);
  u32 old = 0;
  if (static_cast<u64>(a) + 4 <= w.ldsSize) {
    auto *p = reinterpret_cast<Mem32 *>(w.lds + a);
    const auto lanes = static_cast<u32>(__builtin_popcountll(exec));
    old = *p;
    *p = Append ? old + lanes : old - lanes;
  } else if (w.check) {
    const u64 first = exec & -exec;
    w.addresses[__builtin_ctzll(first)] = reinterpret_cast<u64>(w.lds) + a;
    w.outsideLds(i, w.addresses, first, 4, true);
  }
  for (u64 m = exec; m; m &= m - 1)
    w.v[i->dst][__builtin_ctzll(m)] = old;
  return i->next();
}

/// Lane n at M0[15:0] + offset + 4 * n.
template <bool Write> const Inst *dsAddTid(Wave &w, const Inst *i) {
  if (i->flags & kLds)
    return noGds(w, i);
  const u64 exec = activeLanes(w);
  const u32 base = (w.s[kM0] & 0xffff) + static_cast<u32>(i->imm);
  for (unsigned n = 0; n < N; ++n)
    w.tmp[0][n] = 4 * n;
  const u64 inside = ldsAddresses<4>(w, i, w.tmp[0], base, exec, w.addresses, Write);
  if constexpr (Write) {
    scatter<Data::B32>(w.v[i->src[1].reg], w.addresses, inside);
  } else {
    gather<Data::B32>(w.v[i->dst], w.addresses, inside);
    zeroLanes(w.v[i->dst], exec & ~inside, 1);
  }
  return i->next();
}

/// One value for all lanes: M0[15:0] is where it is, M0[18:16] what. EXEC counts per quad: one active lane is enough
/// for all four.
const Inst *ldsDirectLoad(Wave &w, const Inst *i) {
  enum : u32 { kByte, kShort, kDword, kUnused, kSignedByte, kSignedShort };
  const u32 a = w.s[kM0] & 0xffff, type = w.s[kM0] >> 16 & 7;
  if (type == kUnused || type > kSignedShort)
    return w.illegal(i, "loads a type of data (M0[18:16]) that is reserved");
  if (a % 4)
    return w.illegal(i, "loads from an address (M0[15:0]) that is not a multiple of 4");
  u32 value = 0;
  if (a + 4ull <= w.ldsSize) {
    value = *reinterpret_cast<const Mem32 *>(w.lds + a);
  } else if (const u64 first = activeLanes(w) & -activeLanes(w); first && w.check) {
    w.addresses[__builtin_ctzll(first)] = reinterpret_cast<u64>(w.lds) + a;
    w.outsideLds(i, w.addresses, first, 4, false);
  }
  value = type == kByte         ? loaded<Data::U8>(value & 0xff)
          : type == kShort      ? loaded<Data::U16>(value & 0xffff)
          : type == kSignedByte ? loaded<Data::I8>(value & 0xff)
          : type == kDword      ? value
                                : loaded<Data::I16>(value & 0xffff);
  const u64 exec = activeLanes(w);
  for (unsigned n = 0; n < N; ++n)
    if (exec >> (n & ~3u) & 0xf)
      w.v[i->dst][n] = value;
  return i->next();
}

// Permutation: LDS hardware without LDS memory. Lanes exchange data within groups, which are the whole wave or half of
// it.

/// The lanes of a group, less one.
[[gnu::always_inline]] inline u32 lastOfGroup(const Inst *i) {
  return (N < i->ds.permuteLanes ? N : i->ds.permuteLanes) - 1;
}

/// Copies `from` to the destination in the active lanes.
void finishPermute(Wave &w, const Inst *i, const u32 *from) {
  if (activeLanes(w) == kAllLanes) {
    for (unsigned n = 0; n < N; ++n)
      w.v[i->dst][n] = from[n];
  } else {
    blendActive<1>(w, w.v[i->dst], from);
  }
}

/// Data of the active lanes, 0 in the others.
const u32 *activeData(Wave &w, const u32 *s) {
  if (activeLanes(w) == kAllLanes)
    return s;
  const u32 *active = execLanes(w);
  u32 *out = w.tmp[1];
  for (unsigned n = 0; n < N; ++n)
    out[n] = s[n] & active[n];
  return out;
}

const Inst *dsPermute(Wave &w, const Inst *i) {
  const u32 *v = w.v[i->src[0].reg], *s = w.v[i->src[1].reg];
  const u32 last = lastOfGroup(i);
  u32 *out = w.tmp[0];
  for (unsigned n = 0; n < N; ++n)
    out[n] = 0;
  for (u64 m = activeLanes(w); m; m &= m - 1) {
    const auto n = static_cast<unsigned>(__builtin_ctzll(m));
    out[((v[n] + static_cast<u32>(i->imm)) / 4 & last) | (n & ~last)] = s[n];
  }
  finishPermute(w, i, out);
  return i->next();
}

const Inst *dsBpermute(Wave &w, const Inst *i) {
  const u32 *v = w.v[i->src[0].reg], *s = activeData(w, w.v[i->src[1].reg]);
  const u32 last = lastOfGroup(i);
  u32 *out = w.tmp[0];
#ifdef __AVX512F__
  // Look-ups in 32 lanes each, and bit 5 chooses.
  typedef u32 Vec __attribute__((vector_size(64)));
  typedef int Permute __attribute__((vector_size(64)));
  const auto *from = reinterpret_cast<const Vec *>(s);
  for (unsigned n = 0; n < N; n += 16) {
    const Vec lane = ((*reinterpret_cast<const Vec *>(v + n) + static_cast<u32>(i->imm)) / 4 & last) |
                     (*reinterpret_cast<const Vec *>(kLaneIds + n) & ~last);
    const Vec low = (Vec)__builtin_ia32_vpermi2vard512((Permute)from[0], (Permute)lane, (Permute)from[1]);
    if constexpr (N == 32) {
      *reinterpret_cast<Vec *>(out + n) = low;
    } else {
      const Vec high = (Vec)__builtin_ia32_vpermi2vard512((Permute)from[2], (Permute)lane, (Permute)from[3]);
      *reinterpret_cast<Vec *>(out + n) = (lane & 32) != 0 ? high : low;
    }
  }
#else
  for (unsigned n = 0; n < N; ++n)
    out[n] = s[((v[n] + static_cast<u32>(i->imm)) / 4 & last) | (n & ~last)];
#endif
  finishPermute(w, i, out);
  return i->next();
}

/// The lane that lane n reads from (manual, 12.12.1).
u32 swizzleSource(u32 offset, u32 n) {
  if (offset >= 0xe000) { // FFT
    const u32 mask = offset & 0x1f;
    u32 j = __builtin_bitreverse32(n & 0x1f) >> 27;
    j >>= __builtin_popcount(mask);
    return j | (n & mask) | (n & 0x20);
  }
  if (offset >= 0xc000) { // rotate within 32 lanes
    const u32 rotate = offset & 0x400 ? 0u - (offset >> 5 & 0x1f) : offset >> 5 & 0x1f;
    return ((n + rotate) & 0x1f) | (n & 0x20);
  }
  if (offset & 0x8000) // any lane of the group of 4
    return (n & ~3u) + (offset >> (2 * (n & 3)) & 3);
  const u32 andMask = offset & 0x1f, orMask = offset >> 5 & 0x1f, xorMask = offset >> 10 & 0x1f;
  return (((n & 0x1f & andMask) | orMask) ^ xorMask) | (n & 0x20);
}

const Inst *dsSwizzle(Wave &w, const Inst *i) {
  if (i->imm >= 0xc000 && i->imm < 0xe000 && (i->imm & 0x1f))
    return w.illegal(i, "rotates with a mask, where the manual's text and pseudo-code contradict each other");
  // LLVM encodes the data in ADDR; the manual does not say where it is.
  const u32 *s = activeData(w, w.v[i->src[0].reg]);
  u32 *out = w.tmp[0];
  for (unsigned n = 0; n < N; ++n)
    out[n] = s[swizzleSource(static_cast<u32>(i->imm), n)];
  finishPermute(w, i, out);
  return i->next();
}

const Inst *dsNop(Wave &, const Inst *i) { return i->next(); }

#define ATOMIC(NAME, TYPE, ...)                                                                                        \
  memory("ds_" NAME "_" TYPE, dsAtomic<__VA_ARGS__, false>),                                                           \
      memory("ds_" NAME "_rtn_" TYPE, dsAtomic<__VA_ARGS__, true>)

#define MISPRINTED(NAME, TYPE, ...)                                                                                    \
  memory("ds_" NAME "_" TYPE, dsAtomic<__VA_ARGS__, false>).documented(why::kMisprint),                                \
      memory("ds_" NAME "_rtn_" TYPE, dsAtomic<__VA_ARGS__, true>).documented(why::kMisprint)

constexpr Row kRows[] = {
    read<Data::B32>("ds_read_b32"),
    read<Data::B64>("ds_read_b64"),
    read<Data::B96>("ds_read_b96"),
    read<Data::B128>("ds_read_b128"),
    memory("ds_read_u8", dsRead<Data::U8>),
    memory("ds_read_i8", dsRead<Data::I8>),
    memory("ds_read_u16", dsRead<Data::U16>),
    memory("ds_read_i16", dsRead<Data::I16>),
    memory("ds_read_u8_d16", kLoad<dsRead<Data::U8D16>, Data::U8D16>),
    memory("ds_read_u8_d16_hi", kLoad<dsRead<Data::U8D16Hi>, Data::U8D16Hi>),
    memory("ds_read_i8_d16", kLoad<dsRead<Data::I8D16>, Data::I8D16>),
    memory("ds_read_i8_d16_hi", kLoad<dsRead<Data::I8D16Hi>, Data::I8D16Hi>),
    memory("ds_read_u16_d16", kLoad<dsRead<Data::B16D16>, Data::B16D16>),
    memory("ds_read_u16_d16_hi", kLoad<dsRead<Data::B16D16Hi>, Data::B16D16Hi>),
    write<Data::B32>("ds_write_b32"),
    write<Data::B64>("ds_write_b64"),
    write<Data::B96>("ds_write_b96"),
    write<Data::B128>("ds_write_b128"),
    memory("ds_write_b8", dsWrite<Data::U8>),
    memory("ds_write_b8_d16_hi", dsWrite<Data::U8D16Hi>),
    memory("ds_write_b16", dsWrite<Data::U16>),
    memory("ds_write_b16_d16_hi", dsWrite<Data::B16D16Hi>),
    read2<Data::B32, 1>("ds_read2_b32"),
    read2<Data::B32, 64>("ds_read2st64_b32"),
    read2<Data::B64, 1>("ds_read2_b64"),
    read2<Data::B64, 64>("ds_read2st64_b64"),
    memory("ds_write2_b32", dsWrite2<Data::B32, 1>),
    memory("ds_write2st64_b32", dsWrite2<Data::B32, 64>),
    memory("ds_write2_b64", dsWrite2<Data::B64, 1>),
    memory("ds_write2st64_b64", dsWrite2<Data::B64, 64>),
    memory("ds_wrxchg2_rtn_b32", dsExchange2<u32, 1>),
    memory("ds_wrxchg2st64_rtn_b32", dsExchange2<u32, 64>),
    memory("ds_wrxchg2_rtn_b64", dsExchange2<u64, 1>),
    memory("ds_wrxchg2st64_rtn_b64", dsExchange2<u64, 64>),

    ATOMIC("add", "u32", atomic::add<u32>),
    ATOMIC("sub", "u32", atomic::sub<u32>),
    ATOMIC("rsub", "u32", atomic::rsub<u32>),
    ATOMIC("inc", "u32", atomic::inc<u32>),
    ATOMIC("dec", "u32", atomic::dec<u32>),
    ATOMIC("min", "i32", atomic::smin<u32>),
    ATOMIC("max", "i32", atomic::smax<u32>),
    ATOMIC("min", "u32", atomic::umin<u32>),
    ATOMIC("max", "u32", atomic::umax<u32>),
    ATOMIC("and", "b32", atomic::and_<u32>),
    ATOMIC("or", "b32", atomic::or_<u32>),
    ATOMIC("xor", "b32", atomic::xor_<u32>),
    ATOMIC("mskor", "b32", atomic::mskor<u32>),
    ATOMIC("cmpst", "b32", atomic::cmpst<u32>),
    memory("ds_wrxchg_rtn_b32", dsAtomic<atomic::swap<u32>, true>),
    memory("ds_wrap_rtn_b32", dsAtomic<atomic::wrap, true>),
    ATOMIC("add", "u64", atomic::add<u64>),
    ATOMIC("sub", "u64", atomic::sub<u64>),
    ATOMIC("rsub", "u64", atomic::rsub<u64>),
    ATOMIC("inc", "u64", atomic::inc<u64>),
    ATOMIC("dec", "u64", atomic::dec<u64>),
    MISPRINTED("min", "i64", atomic::smin<u64>), // "-=" in the pseudo-code of these four
    MISPRINTED("max", "i64", atomic::smax<u64>),
    MISPRINTED("min", "u64", atomic::umin<u64>),
    MISPRINTED("max", "u64", atomic::umax<u64>),
    ATOMIC("and", "b64", atomic::and_<u64>),
    ATOMIC("or", "b64", atomic::or_<u64>),
    ATOMIC("xor", "b64", atomic::xor_<u64>),
    ATOMIC("mskor", "b64", atomic::mskor<u64>),
    ATOMIC("cmpst", "b64", atomic::cmpst<u64>),
    memory("ds_wrxchg_rtn_b64", dsAtomic<atomic::swap<u64>, true>),
    memory("ds_condxchg32_rtn_b64", dsAtomic<atomic::condxchg32, true>)
        .documented("this manual does not describe it; as the RDNA3 manual's pseudo-code has it"),

    memory("ds_add_f32", dsAtomic<atomic::fadd<f32>, false, AtomicFp::ModeF32>).documented(why::kSumOrder),
    memory("ds_add_rtn_f32", dsAtomic<atomic::fadd<f32>, true, AtomicFp::ModeF32>).documented(why::kSumOrder),
    memory("ds_add_f64", dsAtomic<atomic::fadd<f64>, false, AtomicFp::Keep>).documented(why::kSumOrder),
    memory("ds_add_rtn_f64", dsAtomic<atomic::fadd<f64>, true, AtomicFp::Keep>).documented(why::kSumOrder),
    // The manual compares DATA2 and stores DATA; LLVM knows one data operand, which is both.
    memory("ds_min_f32", kMinMax<f32, false, false>).chosen(why::kOneDataOperand),
    memory("ds_min_rtn_f32", kMinMax<f32, false, true>).chosen(why::kOneDataOperand),
    memory("ds_max_f32", kMinMax<f32, true, false>).chosen(why::kOneDataOperand),
    memory("ds_max_rtn_f32", kMinMax<f32, true, true>).chosen(why::kOneDataOperand),
    memory("ds_min_f64", kMinMax<f64, false, false>).chosen(why::kOneDataOperand),
    memory("ds_min_rtn_f64", kMinMax<f64, false, true>).chosen(why::kOneDataOperand),
    memory("ds_max_f64", kMinMax<f64, true, false>).chosen(why::kOneDataOperand),
    memory("ds_max_rtn_f64", kMinMax<f64, true, true>).chosen(why::kOneDataOperand),
    memory("ds_cmpst_f32", kCompareStore<f32, false>),
    memory("ds_cmpst_rtn_f32", kCompareStore<f32, true>),
    memory("ds_cmpst_f64", kCompareStore<f64, false>),
    memory("ds_cmpst_rtn_f64", kCompareStore<f64, true>),

    memory("ds_cmpstore_b32", dsAtomic<atomic::cmpswap<u32>, false>),
    memory("ds_cmpstore_rtn_b32", dsAtomic<atomic::cmpswap<u32>, true>),
    memory("ds_cmpstore_b64", dsAtomic<atomic::cmpswap<u64>, false>),
    memory("ds_cmpstore_rtn_b64", dsAtomic<atomic::cmpswap<u64>, true>),
    memory("ds_cmpstore_f32", kCompareSwap<f32, false>),
    memory("ds_cmpstore_rtn_f32", kCompareSwap<f32, true>),
    memory("ds_cmpstore_f64", kCompareSwap<f64, false>),
    memory("ds_cmpstore_rtn_f64", kCompareSwap<f64, true>),
    memory("ds_min_num_f32", kMinMaxNumber<f32, false, false>),
    memory("ds_min_num_rtn_f32", kMinMaxNumber<f32, false, true>),
    memory("ds_max_num_f32", kMinMaxNumber<f32, true, false>),
    memory("ds_max_num_rtn_f32", kMinMaxNumber<f32, true, true>),
    memory("ds_min_num_f64", kMinMaxNumber<f64, false, false>),
    memory("ds_min_num_rtn_f64", kMinMaxNumber<f64, false, true>),
    memory("ds_max_num_f64", kMinMaxNumber<f64, true, false>),
    memory("ds_max_num_rtn_f64", kMinMaxNumber<f64, true, true>),
    ATOMIC("cond_sub", "u32", atomic::condSub),
    ATOMIC("sub_clamp", "u32", atomic::subClamp),
    memory("ds_pk_add_f16", dsPackedAdd<false, false>).documented(why::kSumOrder),
    memory("ds_pk_add_rtn_f16", dsPackedAdd<false, true>).documented(why::kSumOrder),
    memory("ds_pk_add_bf16", dsPackedAdd<true, false>).documented(why::kSumOrder),
    memory("ds_pk_add_rtn_bf16", dsPackedAdd<true, true>).documented(why::kSumOrder),

    memory("ds_append", dsAppendConsume<true>).documented("only the low half of M0 counts, as LLVM sets it up"),
    memory("ds_consume", dsAppendConsume<false>).documented("only the low half of M0 counts, as LLVM sets it up"),
    memory("ds_read_addtid_b32", dsAddTid<false>).documented("only the low half of M0 counts, as LLVM sets it up"),
    memory("ds_write_addtid_b32", dsAddTid<true>).documented("only the low half of M0 counts, as LLVM sets it up"),
    memory("ds_permute_b32", dsPermute),
    memory("ds_bpermute_b32", dsBpermute),
    memory("ds_swizzle_b32", dsSwizzle),
    memory("ds_nop", dsNop),
    memory("lds_direct_load", ldsDirectLoad),
};

} // namespace

std::span<const Row> dsRows() { return kRows; }

} // namespace luthier::vgpu::LUTHIER_VGPU_LEVEL
