// MUBUF: memory through a buffer resource, without format conversion (manual, 9.1). The conversions are in mtbuf.cc.
//
// Private memory is reached this way too: with ROCr's scratch resource (swizzled, thread number added) an offset
// addresses the same bytes as the same private offset does in a SCRATCH or FLAT instruction. Dwords need not be
// aligned, whatever 9.1.7 says: HSA runs with unaligned access enabled.

#include "vgpu/exec/buffer.h"
#include "vgpu/exec/tables.h"
#include "vgpu/exec/vmem.h"
#include "vgpu/exec/vmem_atomic.h"

namespace luthier::vgpu::LUTHIER_VGPU_LEVEL {

namespace {

/// Bytes of the first dword of a datum, which is what a range check looks at, with what is behind them.
template <Data D> inline constexpr u32 kPayload = bytesOf(D) < 4 ? bytesOf(D) : 4;

/// True for the addressing of spills: one offset for all lanes of scratch memory, dword aligned. `block` is lane 0's.
[[gnu::always_inline]] inline bool spillBlock(const Inst *i, const Buffer &b, u64 &block) {
  constexpr u32 kNoCheck = 2;
  const u32 offset = static_cast<u32>(i->imm) + b.swizzledOffset;
  block = b.base + static_cast<u64>(offset) * N;
  return b.addTid && b.swizzle && b.indexStride == N && b.element == 4 && !i->buffer.offen && !i->buffer.idxen &&
         offset % 4 == 0 && (!b.hasRangeCheck() || (b.rangeCheck == kNoCheck && b.records != 0));
}

/// Whether a spill's block is in the wave's scratch; asked only where accesses are checked.
[[gnu::always_inline]] inline bool blockInScratch(const Wave &w, u64 block, u64 bytes) {
  return !w.check || block - w.scratchBase + bytes <= w.scratchBytes;
}

/// The lanes of `inside` that a private access may go on with: all, unless accesses are checked.
template <Data D>
[[gnu::always_inline]] inline u64 checkedPrivate(Wave &w, const Inst *i, const Buffer &b, const BufferLanes &lanes,
                                                 u64 inside, bool write) {
  if (!w.check || !b.addTid) [[likely]]
    return inside;
  swizzledLanes<D>(b.swizzled(), lanes.index, lanes.offset, inside, w.addresses);
  return w.insideScratch(i, w.addresses, inside, bytesOf(D), write);
}

template <Data D> LUTHIER_GUEST_ACCESS const Inst *loadToLds(Wave &w, const Inst *i, const Buffer &b) {
  const u64 exec = activeLanes(w);
  const BufferLanes lanes = bufferLanes(w, i, b);
  const u64 inside = bufferInRange(w, i, b, lanes, kPayload<D>);
  u64 *address = w.addresses;
  if (!b.swizzle)
    address = linearAddresses(w, b, lanes);
  else if (!swizzledLanes<D>(b.swizzled(), lanes.index, lanes.offset, inside, w.addresses).whole)
    return w.illegal(i, "loads unaligned data from a swizzled buffer to LDS, which is not implemented");
  return loadLanesToLds<D>(w, i, address, inside, exec & ~inside);
}

/// Some component of some lane is out of range: each dword has its own lanes.
template <Data D>
LUTHIER_GUEST_ACCESS const Inst *loadComponents(Wave &w, const Inst *i, const Buffer &b, const BufferLanes &lanes) {
  const u64 exec = activeLanes(w);
  u64 inside[registersOf(D)], bad;
  for (unsigned c = 0; c < registersOf(D); ++c) {
    inside[c] = bufferInRange(w, i, b, lanes, 4, 4 * c);
    if (inside[c] && !lanesAllowed(w, i, w.addresses, inside[c], 4 * c + 4, false, bad))
      return w.memoryFault(i, bad, false);
  }
  for (unsigned c = 0; c < registersOf(D); ++c) {
    u32 *d = w.v[i->dst + c];
    for (u64 m = inside[c]; m; m &= m - 1) {
      const auto n = static_cast<unsigned>(__builtin_ctzll(m));
      loadLane<Data::B32>(d, n, w.addresses[n] + 4 * c);
    }
    zeroLanes(d, exec & ~inside[c], 1);
  }
  return i->next();
}

template <Data D> LUTHIER_GUEST_ACCESS const Inst *bufferLoad(Wave &w, const Inst *i) {
  const u64 exec = activeLanes(w);
  if (exec == 0)
    return i->next();
  const Buffer b = bufferOf<false>(w, i);
  if (!b.implemented()) [[unlikely]]
    return w.illegal(i, kNotABufferText);
  if (i->flags & kLds) [[unlikely]] {
    if constexpr (D <= Data::I16 || D == Data::B32)
      return loadToLds<D>(w, i, b);
    return w.illegal(i, "cannot load to LDS");
  }
  u64 block;
  if constexpr (bytesOf(D) >= 4) {
    if (spillBlock(i, b, block) && allowed(w, block, registersOf(D) * N * 4) &&
        blockInScratch(w, block, registersOf(D) * N * 4)) {
      u32 *d = w.v[i->dst];
      for (unsigned c = 0; c < registersOf(D); ++c, d += kRow, block += N * 4) {
        if (exec == kAllLanes) {
          loadBlock<Data::B32>(d, block);
        } else {
          loadBlock<Data::B32>(w.tmp[0], block);
          blendActive<1>(w, d, w.tmp[0]);
        }
      }
      return i->next();
    }
  }
  const BufferLanes lanes = bufferLanes(w, i, b);
  u64 inside = bufferInRange(w, i, b, lanes, kPayload<D>);
  if (b.swizzle) {
    inside = checkedPrivate<D>(w, i, b, lanes, inside, false);
    return loadSwizzled<D>(w, i, w.v[i->dst], b.swizzled(), lanes.index, lanes.offset, inside, exec & ~inside);
  }
  u64 *address = linearAddresses(w, b, lanes);
  if (registersOf(D) > 1 && bufferInRange(w, i, b, lanes, 4, bytesOf(D) - 4) != exec) [[unlikely]]
    return loadComponents<D>(w, i, b, lanes);
  if (inside == exec && coalesced(address, exec, bytesOf(D), block) && loadCoalesced<D>(w, i, exec, block))
    return i->next();
  return loadLanes<D>(w, i, address, inside, exec & ~inside);
}

template <Data D>
LUTHIER_GUEST_ACCESS const Inst *storeComponents(Wave &w, const Inst *i, const Buffer &b, const BufferLanes &lanes) {
  u64 inside[registersOf(D)], bad;
  for (unsigned c = 0; c < registersOf(D); ++c) {
    inside[c] = bufferInRange(w, i, b, lanes, 4, 4 * c);
    if (inside[c] && !lanesAllowed(w, i, w.addresses, inside[c], 4 * c + 4, true, bad))
      return w.memoryFault(i, bad, true);
  }
  for (u64 m = activeLanes(w); m; m &= m - 1) {
    const auto n = static_cast<unsigned>(__builtin_ctzll(m));
    for (unsigned c = 0; c < registersOf(D); ++c)
      if (inside[c] >> n & 1)
        storeLane<Data::B32>(w.v[i->src[1].reg + c], n, w.addresses[n] + 4 * c);
  }
  return i->next();
}

template <Data D> LUTHIER_GUEST_ACCESS const Inst *bufferStore(Wave &w, const Inst *i) {
  const u64 exec = activeLanes(w);
  if (exec == 0)
    return i->next();
  if (i->flags & kLds) [[unlikely]]
    return w.illegal(i, "cannot store from LDS");
  const Buffer b = bufferOf<false>(w, i);
  if (!b.implemented()) [[unlikely]]
    return w.illegal(i, kNotABufferText);
  const u32 *s = w.v[i->src[1].reg];
  u64 block;
  if constexpr (bytesOf(D) >= 4) {
    if (spillBlock(i, b, block) && allowed(w, block, registersOf(D) * N * 4) &&
        blockInScratch(w, block, registersOf(D) * N * 4)) {
      for (unsigned c = 0; c < registersOf(D); ++c)
        storeBlock<Data::B32>(s + c * kRow, block + c * N * 4, exec);
      return i->next();
    }
  }
  const BufferLanes lanes = bufferLanes(w, i, b);
  u64 inside = bufferInRange(w, i, b, lanes, kPayload<D>);
  if (b.swizzle) {
    inside = checkedPrivate<D>(w, i, b, lanes, inside, true);
    return storeSwizzled<D>(w, i, s, b.swizzled(), lanes.index, lanes.offset, inside);
  }
  u64 *address = linearAddresses(w, b, lanes);
  if (registersOf(D) > 1 && bufferInRange(w, i, b, lanes, 4, bytesOf(D) - 4) != exec) [[unlikely]]
    return storeComponents<D>(w, i, b, lanes);
  if (inside == exec && coalesced(address, exec, bytesOf(D), block) && storeCoalesced<D>(w, s, exec, block))
    return i->next();
  return storeLanes<D>(w, i, s, address, inside);
}

/// One dword per lane from LDS to memory.
LUTHIER_GUEST_ACCESS const Inst *bufferStoreLds(Wave &w, const Inst *i) {
  const u64 exec = activeLanes(w);
  const Buffer b = bufferOf<false>(w, i);
  if (!b.implemented()) [[unlikely]]
    return w.illegal(i, kNotABufferText);
  const BufferLanes lanes = bufferLanes(w, i, b);
  u64 inside = bufferInRange(w, i, b, lanes, 4), outside = 0;
  for (u64 m = exec; m; m &= m - 1) {
    const auto n = static_cast<unsigned>(__builtin_ctzll(m));
    const u32 from = ldsTarget(w, i, n);
    if (static_cast<u64>(from) + 4 <= w.ldsSize)
      w.tmp[0][n] = *reinterpret_cast<const Mem32 *>(w.lds + from);
    else
      outside |= 1ull << n;
  }
  inside &= ~outside;
  if (outside && w.check) [[unlikely]] {
    for (unsigned n = 0; n < N; ++n)
      w.addresses[n] = reinterpret_cast<u64>(w.lds) + ldsTarget(w, i, n);
    w.outsideLds(i, w.addresses, outside, 4, false);
  }
  if (b.swizzle)
    return storeSwizzled<Data::B32>(w, i, w.tmp[0], b.swizzled(), lanes.index, lanes.offset, inside);
  return storeLanes<Data::B32>(w, i, w.tmp[0], linearAddresses(w, b, lanes), inside);
}

template <auto F, AtomicFp Fp = AtomicFp::None> LUTHIER_GUEST_ACCESS const Inst *bufferAtomic(Wave &w, const Inst *i) {
  using T = typename atomic::Shape<decltype(F)>::Value;
  const u64 exec = activeLanes(w);
  if (exec == 0)
    return i->next();
  const Buffer b = bufferOf<false>(w, i);
  if (!b.implemented()) [[unlikely]]
    return w.illegal(i, kNotABufferText);
  if (b.swizzle && sizeof(T) != 4)
    return w.illegal(i, "is a 64-bit atomic on a swizzled buffer, where a qword is not in one piece");
  const BufferLanes lanes = bufferLanes(w, i, b);
  const u64 inside = bufferInRange(w, i, b, lanes, 4, sizeof(T) - 4);
  u64 *address = w.addresses;
  if (b.swizzle)
    swizzledLanes<Data::B32>(b.swizzled(), lanes.index, lanes.offset, inside, w.addresses);
  else
    address = linearAddresses(w, b, lanes);
  u32 *d = i->flags & kReturnsOld ? w.v[i->dst] : nullptr;
  const Inst *next = atomicLanes<F, Fp>(w, i, w.v[i->src[1].reg], d, address, inside);
  if (next && d)
    zeroLanes(d, exec & ~inside, sizeof(T) / 4);
  return next;
}

#define ATOMIC(NAME, ...) ofBuffer("buffer_atomic_" NAME, bufferAtomic<__VA_ARGS__>)
#define BY_MODE(NAME, F, FLUSHING, KEEPING)                                                                            \
  ofBuffer("buffer_atomic_" NAME, asModeSays<F, bufferAtomic<FLUSHING>, bufferAtomic<KEEPING>>)                        \
      .documented(why::kAtomicDenormals)

constexpr Row kRows[] = {
    ofBuffer("buffer_load_ubyte", bufferLoad<Data::U8>),
    ofBuffer("buffer_load_sbyte", bufferLoad<Data::I8>),
    ofBuffer("buffer_load_ushort", bufferLoad<Data::U16>),
    ofBuffer("buffer_load_sshort", bufferLoad<Data::I16>),
    ofBuffer("buffer_load_dword", bufferLoad<Data::B32>),
    ofBuffer("buffer_load_dwordx2", bufferLoad<Data::B64>),
    ofBuffer("buffer_load_dwordx3", bufferLoad<Data::B96>),
    ofBuffer("buffer_load_dwordx4", bufferLoad<Data::B128>),
    ofBuffer("buffer_load_ubyte_d16", kLoad<bufferLoad<Data::U8D16>, Data::U8D16>),
    ofBuffer("buffer_load_ubyte_d16_hi", kLoad<bufferLoad<Data::U8D16Hi>, Data::U8D16Hi>),
    ofBuffer("buffer_load_sbyte_d16", kLoad<bufferLoad<Data::I8D16>, Data::I8D16>),
    ofBuffer("buffer_load_sbyte_d16_hi", kLoad<bufferLoad<Data::I8D16Hi>, Data::I8D16Hi>),
    ofBuffer("buffer_load_short_d16", kLoad<bufferLoad<Data::B16D16>, Data::B16D16>),
    ofBuffer("buffer_load_short_d16_hi", kLoad<bufferLoad<Data::B16D16Hi>, Data::B16D16Hi>),
    ofBuffer("buffer_store_byte", bufferStore<Data::U8>),
    ofBuffer("buffer_store_byte_d16_hi", bufferStore<Data::U8D16Hi>),
    ofBuffer("buffer_store_short", bufferStore<Data::U16>),
    ofBuffer("buffer_store_short_d16_hi", bufferStore<Data::B16D16Hi>),
    ofBuffer("buffer_store_dword", bufferStore<Data::B32>),
    ofBuffer("buffer_store_dwordx2", bufferStore<Data::B64>),
    ofBuffer("buffer_store_dwordx3", bufferStore<Data::B96>),
    ofBuffer("buffer_store_dwordx4", bufferStore<Data::B128>),
    ofBuffer("buffer_store_lds_dword", bufferStoreLds),
    INTEGER_ATOMICS(ATOMIC),
    FLOAT_ATOMICS(ATOMIC, BY_MODE),
    ATOMIC("csub", atomic::subClamp),
    ATOMIC("cond_sub_u32", atomic::condSub),
    // L2 flushes f32 denormals on some targets, and never those of f64 and f16 (MI200 manual, table 43).
    ATOMIC("add_f32", atomic::fadd<f32>, AtomicFp::Memory).documented(why::kSumOrder),
    ATOMIC("pk_add_f16", atomic::pkAddF16<>, AtomicFp::Keep).documented(why::kSumOrder),
    ATOMIC("pk_add_bf16", atomic::pkAddBf16<>, AtomicFp::Keep).documented(why::kSumOrder),
    ATOMIC("add_f64", atomic::fadd<f64>, AtomicFp::Keep).documented(why::kSumOrder),
    ATOMIC("min_f64", atomic::fmin<f64>),
    ATOMIC("max_f64", atomic::fmax<f64>),
    memory("buffer_wbl2", cacheControl).documented(why::kNoCache),
    memory("buffer_invl2", cacheControl).documented(why::kNoCache),
    memory("buffer_inv", cacheControl).documented(why::kNoCache),
    memory("buffer_wbinvl1", cacheControl).documented(why::kNoCache),
    memory("buffer_wbinvl1_vol", cacheControl).documented(why::kNoCache),
    memory("buffer_gl0_inv", cacheControl).documented(why::kNoCache),
    memory("buffer_gl1_inv", cacheControl).documented(why::kNoCache),
};

} // namespace

std::span<const Row> mubufRows() { return kRows; }

} // namespace luthier::vgpu::LUTHIER_VGPU_LEVEL
