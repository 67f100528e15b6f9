// DS: LDS and lane permutation (manual, chapter 11 and 12.12). Global wave sync is in gws.cc.
//
// A workgroup's LDS is touched by one host thread at a time, its waves take turns: nothing here is atomic for the host.
// Out of range, reads return 0 and writes are dropped, each lane and each of the two elements of READ2 and WRITE2 on
// its own. M0 does not limit LDS on gfx9, whatever chapter 11 says: LLVM does not set it up.

#include "vgpu/exec/tables.h"
#include "vgpu/exec/vmem.h"
#include "vgpu/exec/vmem_atomic.h"

#include <type_traits>

namespace luthier::vgpu::LUTHIER_VGPU_LEVEL {

namespace {

const Inst *noGds(Wave &w, const Inst *i) { return w.illegal(i, "uses GDS memory, which this GPU does not have"); }

/// Host addresses of `bytes` at LDS address v + offset, in `address`. Returns the active lanes that are in range.
/// The sum wraps at 32 bits: LLVM folds offsets into negative bases.
template <unsigned Bytes>
[[gnu::always_inline]] inline u64 ldsAddresses(const Wave &w, const u32 *v, u32 offset, u64 exec, u64 *address) {
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
  const u64 inside = ldsAddresses<bytesOf(D)>(w, v, offset, exec, w.addresses);
  gather<D>(d, w.addresses, inside);
  zeroLanes(d, exec & ~inside, registersOf(D));
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
  scatter<D>(s, w.addresses, ldsAddresses<bytesOf(D)>(w, v, offset, exec, w.addresses));
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
  const u64 inside0 = ldsAddresses<bytesOf(D)>(w, v, offset0<D, Scale>(i), exec, w.addresses);
  const u64 inside1 = ldsAddresses<bytesOf(D)>(w, v, offset1<D, Scale>(i), exec, address1);
  gather<D>(d0, w.addresses, inside0);
  gather<D>(d1, address1, inside1);
  zeroLanes(d0, exec & ~inside0, registersOf(D));
  zeroLanes(d1, exec & ~inside1, registersOf(D));
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
  scatter<D>(s0, w.addresses, ldsAddresses<bytesOf(D)>(w, v, first, exec, w.addresses));
  // "Setting both offsets to the same value ... uses only the first DATA0" (manual, 11.3.2).
  if (first != second)
    scatter<D>(s1, w.addresses, ldsAddresses<bytesOf(D)>(w, v, second, exec, w.addresses));
  return i->next();
}

template <class T, unsigned Scale> const Inst *dsExchange2(Wave &w, const Inst *i) {
  constexpr Data D = sizeof(T) == 4 ? Data::B32 : Data::B64;
  if (i->flags & kLds)
    return noGds(w, i);
  const u64 exec = activeLanes(w);
  const u32 *v = w.v[i->src[0].reg];
  alignas(64) u64 address1[N];
  const u64 inside0 = ldsAddresses<sizeof(T)>(w, v, offset0<D, Scale>(i), exec, w.addresses);
  const u64 inside1 = ldsAddresses<sizeof(T)>(w, v, offset1<D, Scale>(i), exec, address1);
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
  const u64 inside = ldsAddresses<sizeof(T)>(w, w.v[i->src[0].reg], static_cast<u32>(i->imm), exec, w.addresses);
  const u64 base = reinterpret_cast<u64>(w.lds);
  u64 low = 0;
  for (unsigned n = 0; n < N; ++n)
    low |= w.addresses[n] - base;
  if (low % sizeof(T)) [[unlikely]] // of some lane, active or not
    for (u64 m = inside; m; m &= m - 1) {
      const u64 a = w.addresses[__builtin_ctzll(m)] - base;
      if (a % sizeof(T))
        return w.memoryFault(i, w.sharedAperture + a, true);
    }
  const u32 *data = w.v[i->src[1].reg], *data2 = w.v[i->src[2].reg];
  u32 *d = w.v[i->dst];
  {
    const AtomicFpMode<Fp> fp(w);
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
template <class F> bool flushesInputs(const Wave &w) { return !((sizeof(F) == 4 ? w.mode >> 4 : w.mode >> 6) & 1); }
template <class F, bool Max, bool Return> const Inst *dsMinMax(Wave &w, const Inst *i) {
  using T = typename atomic::FloatBits<F>::Bits;
  if (flushesInputs<F>(w))
    return dsAtomic<atomic::fselect<F, Max, true, T>, Return>(w, i);
  return dsAtomic<atomic::fselect<F, Max, false, T>, Return>(w, i);
}

/// Compares as numbers: -0 equals +0, NaN equals nothing.
template <class F, bool Flush, class T> constexpr T fcmpst(T m, T cmp, T src) {
  using B = atomic::FloatBits<F>;
  auto flushed = [](T x) { return Flush && (x & B::exponent) == 0 ? x & B::sign : x; };
  const T a = flushed(m), b = flushed(cmp);
  const bool equal = !atomic::isNan<F>(a) && !atomic::isNan<F>(b) && (a == b || ((a | b) & ~B::sign) == 0);
  // "CompareStore flushes the result when input denormal flushing occurs" (manual, 9.5.2).
  return equal ? flushed(src) : a;
}
template <class F, bool Return> const Inst *dsCompareStore(Wave &w, const Inst *i) {
  using T = typename atomic::FloatBits<F>::Bits;
  if (flushesInputs<F>(w))
    return dsAtomic<fcmpst<F, true, T>, Return>(w, i);
  return dsAtomic<fcmpst<F, false, T>, Return>(w, i);
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
  const u64 inside = ldsAddresses<4>(w, w.tmp[0], base, exec, w.addresses);
  if constexpr (Write) {
    scatter<Data::B32>(w.v[i->src[1].reg], w.addresses, inside);
  } else {
    gather<Data::B32>(w.v[i->dst], w.addresses, inside);
    zeroLanes(w.v[i->dst], exec & ~inside, 1);
  }
  return i->next();
}

// Permutation: LDS hardware without LDS memory.

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
  u32 *out = w.tmp[0];
  for (unsigned n = 0; n < N; ++n)
    out[n] = 0;
  for (u64 m = activeLanes(w); m; m &= m - 1) {
    const auto n = static_cast<unsigned>(__builtin_ctzll(m));
    out[(v[n] + static_cast<u32>(i->imm)) / 4 % w.lanes] = s[n];
  }
  finishPermute(w, i, out);
  return i->next();
}

const Inst *dsBpermute(Wave &w, const Inst *i) {
  const u32 *v = w.v[i->src[0].reg], *s = activeData(w, w.v[i->src[1].reg]);
  const u32 last = w.lanes - 1;
  u32 *out = w.tmp[0];
#ifdef __AVX512F__
  // Look-ups in 32 lanes each, and bit 5 chooses.
  typedef u32 Vec __attribute__((vector_size(64)));
  typedef int Permute __attribute__((vector_size(64)));
  const auto *from = reinterpret_cast<const Vec *>(s);
  for (unsigned n = 0; n < N; n += 16) {
    const Vec lane = (*reinterpret_cast<const Vec *>(v + n) + static_cast<u32>(i->imm)) / 4 & last;
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
    out[n] = s[(v[n] + static_cast<u32>(i->imm)) / 4 & last];
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
    memory("ds_read_b32", dsRead<Data::B32>),
    memory("ds_read_b64", dsRead<Data::B64>),
    memory("ds_read_b96", dsRead<Data::B96>),
    memory("ds_read_b128", dsRead<Data::B128>),
    memory("ds_read_u8", dsRead<Data::U8>),
    memory("ds_read_i8", dsRead<Data::I8>),
    memory("ds_read_u16", dsRead<Data::U16>),
    memory("ds_read_i16", dsRead<Data::I16>),
    memory("ds_read_u8_d16", dsRead<Data::U8D16>),
    memory("ds_read_u8_d16_hi", dsRead<Data::U8D16Hi>),
    memory("ds_read_i8_d16", dsRead<Data::I8D16>),
    memory("ds_read_i8_d16_hi", dsRead<Data::I8D16Hi>),
    memory("ds_read_u16_d16", dsRead<Data::B16D16>),
    memory("ds_read_u16_d16_hi", dsRead<Data::B16D16Hi>),
    memory("ds_write_b32", dsWrite<Data::B32>),
    memory("ds_write_b64", dsWrite<Data::B64>),
    memory("ds_write_b96", dsWrite<Data::B96>),
    memory("ds_write_b128", dsWrite<Data::B128>),
    memory("ds_write_b8", dsWrite<Data::U8>),
    memory("ds_write_b8_d16_hi", dsWrite<Data::U8D16Hi>),
    memory("ds_write_b16", dsWrite<Data::U16>),
    memory("ds_write_b16_d16_hi", dsWrite<Data::B16D16Hi>),
    memory("ds_read2_b32", dsRead2<Data::B32, 1>),
    memory("ds_read2st64_b32", dsRead2<Data::B32, 64>),
    memory("ds_read2_b64", dsRead2<Data::B64, 1>),
    memory("ds_read2st64_b64", dsRead2<Data::B64, 64>),
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
    memory("ds_min_f32", dsMinMax<f32, false, false>).chosen(why::kOneDataOperand),
    memory("ds_min_rtn_f32", dsMinMax<f32, false, true>).chosen(why::kOneDataOperand),
    memory("ds_max_f32", dsMinMax<f32, true, false>).chosen(why::kOneDataOperand),
    memory("ds_max_rtn_f32", dsMinMax<f32, true, true>).chosen(why::kOneDataOperand),
    memory("ds_min_f64", dsMinMax<f64, false, false>).chosen(why::kOneDataOperand),
    memory("ds_min_rtn_f64", dsMinMax<f64, false, true>).chosen(why::kOneDataOperand),
    memory("ds_max_f64", dsMinMax<f64, true, false>).chosen(why::kOneDataOperand),
    memory("ds_max_rtn_f64", dsMinMax<f64, true, true>).chosen(why::kOneDataOperand),
    memory("ds_cmpst_f32", dsCompareStore<f32, false>),
    memory("ds_cmpst_rtn_f32", dsCompareStore<f32, true>),
    memory("ds_cmpst_f64", dsCompareStore<f64, false>),
    memory("ds_cmpst_rtn_f64", dsCompareStore<f64, true>),

    memory("ds_append", dsAppendConsume<true>).documented("only the low half of M0 counts, as LLVM sets it up"),
    memory("ds_consume", dsAppendConsume<false>).documented("only the low half of M0 counts, as LLVM sets it up"),
    memory("ds_read_addtid_b32", dsAddTid<false>).documented("only the low half of M0 counts, as LLVM sets it up"),
    memory("ds_write_addtid_b32", dsAddTid<true>).documented("only the low half of M0 counts, as LLVM sets it up"),
    memory("ds_permute_b32", dsPermute),
    memory("ds_bpermute_b32", dsBpermute),
    memory("ds_swizzle_b32", dsSwizzle),
    memory("ds_nop", dsNop),
};

} // namespace

std::span<const Row> dsRows() { return kRows; }

} // namespace luthier::vgpu::LUTHIER_VGPU_LEVEL
