// Vector memory: what DS, FLAT, MUBUF and MTBUF share.
//
// An instruction is made of two things that know nothing of each other: where each lane's data is (the files of the
// encodings compute addresses), and what is moved (Data, below). This header moves data between lanes' addresses and
// VGPRs, and asks the address space for permission first: an instruction that faults has changed nothing.
//
// Most accesses of real kernels are coalesced: lane n touches the n-th element of one block. They are recognised by
// comparing all lanes' addresses at once and become vector moves of a whole register.
//
// Guests race with each other and with the host by design. Functions that touch guest memory are marked
// LUTHIER_GUEST_ACCESS, so that ThreadSanitizer watches the engine and not the guest; they move aligned elements whole.
#pragma once

#include "vgpu/exec/lanes.h"
#include "vgpu/memory/guest_access.h"

// A whole block is read even for a few lanes, which is harmless where all of it is accessible. AddressSanitizer knows
// of smaller things inside (a variable on the host's stack that ROCr copies from), so there only active lanes are read.
#if defined(__has_feature) && __has_feature(address_sanitizer)
#define LUTHIER_READS_INACTIVE_LANES 0
#else
#define LUTHIER_READS_INACTIVE_LANES 1
#endif

namespace luthier::vgpu::LUTHIER_VGPU_LEVEL {

// Guest memory has no type, and HSA runs with unaligned access enabled (SH_MEM_CONFIG.ALIGNMENT_MODE).
typedef u16 Mem16 __attribute__((may_alias, aligned(1)));
typedef u32 Mem32 __attribute__((may_alias, aligned(1)));
typedef u64 Mem64 __attribute__((may_alias, aligned(1)));

/// What one lane moves.
enum class Data : u8 {
  U8,
  I8,
  U16,
  I16,
  U8D16, // D16 loads write half a register, D16Hi the high half
  U8D16Hi,
  I8D16,
  I8D16Hi,
  B16D16,
  B16D16Hi,
  B32,
  B64,
  B96,
  B128,
};

constexpr unsigned bytesOf(Data d) {
  switch (d) {
  case Data::U8:
  case Data::I8:
  case Data::U8D16:
  case Data::U8D16Hi:
  case Data::I8D16:
  case Data::I8D16Hi:
    return 1;
  case Data::U16:
  case Data::I16:
  case Data::B16D16:
  case Data::B16D16Hi:
    return 2;
  case Data::B32:
    return 4;
  case Data::B64:
    return 8;
  case Data::B96:
    return 12;
  case Data::B128:
    return 16;
  }
}
constexpr unsigned registersOf(Data d) { return bytesOf(d) < 4 ? 1 : bytesOf(d) / 4; }

/// Bits of the register that a load writes where the others stay: half of it for D16 loads.
constexpr u32 writtenBits(Data d) {
  switch (d) {
  case Data::U8D16:
  case Data::I8D16:
  case Data::B16D16:
    return 0x0000ffff;
  case Data::U8D16Hi:
  case Data::I8D16Hi:
  case Data::B16D16Hi:
    return 0xffff0000;
  default:
    return ~0u;
  }
}

/// Memory wider than a register but with the bits of one: `raw` as a load leaves it in a register.
///
/// This is what targets with SRAM-ECC do: "When ECC is enabled 16-bit memory loads write the full 32-bit VGPR. Unused
/// bits are set to zero" (MI200 manual, 9.1.6). For the others, `keepingHalf` puts the other half back.
template <Data D> [[gnu::always_inline]] inline u32 loaded(u32 raw) {
  if constexpr (D == Data::I8)
    return static_cast<u32>(static_cast<i32>(static_cast<i8>(raw)));
  if constexpr (D == Data::I16)
    return static_cast<u32>(static_cast<i32>(static_cast<i16>(raw)));
  if constexpr (D == Data::I8D16)
    return static_cast<u16>(static_cast<i16>(static_cast<i8>(raw)));
  if constexpr (D == Data::I8D16Hi)
    return static_cast<u32>(static_cast<u16>(static_cast<i16>(static_cast<i8>(raw)))) << 16;
  if constexpr (D == Data::U8D16Hi || D == Data::B16D16Hi)
    return raw << 16;
  return raw;
}

/// What a store of D takes from a register, in its low bits.
template <Data D> [[gnu::always_inline]] inline u32 stored(u32 value) {
  if constexpr (D == Data::U8D16Hi || D == Data::B16D16Hi)
    return value >> 16;
  return value;
}

// One lane. `d` and `s` are lane arrays of registers; `step` is the distance between consecutive dwords in memory,
// which is not 4 in swizzled memory.

template <Data D, unsigned Step = 4>
[[gnu::always_inline]] LUTHIER_GUEST_ACCESS inline void loadLane(u32 *d, unsigned lane, u64 address, u64 step = Step) {
  if constexpr (bytesOf(D) == 1)
    d[lane] = loaded<D>(*reinterpret_cast<const u8 *>(address));
  else if constexpr (bytesOf(D) == 2)
    d[lane] = loaded<D>(*reinterpret_cast<const Mem16 *>(address));
  else if constexpr (bytesOf(D) == 4)
    d[lane] = *reinterpret_cast<const Mem32 *>(address);
  else if constexpr ((D == Data::B64 || D == Data::B128) && Step == 4) {
    for (unsigned c = 0; c < registersOf(D); c += 2)
      Lane<u64>::put(d + c * kRow, lane, *reinterpret_cast<const Mem64 *>(address + c * 4));
  } else {
    for (unsigned c = 0; c < registersOf(D); ++c)
      d[c * kRow + lane] = *reinterpret_cast<const Mem32 *>(address + c * step);
  }
}

template <Data D, unsigned Step = 4>
[[gnu::always_inline]] LUTHIER_GUEST_ACCESS inline void storeLane(const u32 *s, unsigned lane, u64 address,
                                                                  u64 step = Step) {
  if constexpr (bytesOf(D) == 1)
    *reinterpret_cast<u8 *>(address) = static_cast<u8>(stored<D>(s[lane]));
  else if constexpr (bytesOf(D) == 2)
    *reinterpret_cast<Mem16 *>(address) = static_cast<u16>(stored<D>(s[lane]));
  else if constexpr (bytesOf(D) == 4)
    *reinterpret_cast<Mem32 *>(address) = s[lane];
  else if constexpr ((D == Data::B64 || D == Data::B128) && Step == 4) {
    for (unsigned c = 0; c < registersOf(D); c += 2)
      *reinterpret_cast<Mem64 *>(address + c * 4) = Lane<u64>::get(s + c * kRow, lane);
  } else {
    for (unsigned c = 0; c < registersOf(D); ++c)
      *reinterpret_cast<Mem32 *>(address + c * step) = s[c * kRow + lane];
  }
}

// All lanes, lane n at `block` + n * bytesOf(D). The guest's memory is not the wave's register file, hence restrict.

typedef u32 LaneVector __attribute__((vector_size(64), may_alias, aligned(4)));
typedef u32 MemVector __attribute__((vector_size(64), may_alias, aligned(1)));

template <Data D> [[gnu::always_inline]] LUTHIER_GUEST_ACCESS inline void loadBlock(u32 *__restrict d, u64 block) {
  if constexpr (D == Data::B32) {
    // Vectors and not a loop over dwords, which the compiler would turn into a call of memcpy.
    for (unsigned i = 0; i < N; i += 16)
      *reinterpret_cast<LaneVector *>(d + i) = *reinterpret_cast<const MemVector *>(block + i * 4);
  } else if constexpr (bytesOf(D) > 4) {
    constexpr unsigned n = registersOf(D);
    const Mem32 *__restrict m = reinterpret_cast<const Mem32 *>(block);
#pragma clang loop vectorize(assume_safety)
    for (unsigned i = 0; i < N; ++i)
      for (unsigned c = 0; c < n; ++c)
        d[c * kRow + i] = m[i * n + c];
  } else if constexpr (bytesOf(D) == 2) {
    const Mem16 *__restrict m = reinterpret_cast<const Mem16 *>(block);
#pragma clang loop vectorize(assume_safety)
    for (unsigned i = 0; i < N; ++i)
      d[i] = loaded<D>(m[i]);
  } else {
    const u8 *__restrict m = reinterpret_cast<const u8 *>(block);
#pragma clang loop vectorize(assume_safety)
    for (unsigned i = 0; i < N; ++i)
      d[i] = loaded<D>(m[i]);
  }
}

template <Data D>
[[gnu::always_inline]] LUTHIER_GUEST_ACCESS inline void storeBlock(const u32 *__restrict s, u64 block) {
  if constexpr (D == Data::B32) {
    for (unsigned i = 0; i < N; i += 16)
      *reinterpret_cast<MemVector *>(block + i * 4) = *reinterpret_cast<const LaneVector *>(s + i);
  } else if constexpr (bytesOf(D) > 4) {
    constexpr unsigned n = registersOf(D);
    Mem32 *__restrict m = reinterpret_cast<Mem32 *>(block);
#pragma clang loop vectorize(assume_safety)
    for (unsigned i = 0; i < N; ++i)
      for (unsigned c = 0; c < n; ++c)
        m[i * n + c] = s[c * kRow + i];
  } else if constexpr (bytesOf(D) == 2) {
    Mem16 *__restrict m = reinterpret_cast<Mem16 *>(block);
#pragma clang loop vectorize(assume_safety)
    for (unsigned i = 0; i < N; ++i)
      m[i] = static_cast<u16>(stored<D>(s[i]));
  } else {
    u8 *__restrict m = reinterpret_cast<u8 *>(block);
#pragma clang loop vectorize(assume_safety)
    for (unsigned i = 0; i < N; ++i)
      m[i] = static_cast<u8>(stored<D>(s[i]));
  }
}

/// The lanes of `mask` of a block.
template <Data D>
[[gnu::always_inline]] LUTHIER_GUEST_ACCESS inline void storeBlock(const u32 *__restrict s, u64 block, u64 mask) {
#ifdef __AVX512F__
  if constexpr (D == Data::B32) {
    typedef int IntVector __attribute__((vector_size(64), may_alias, aligned(4)));
    for (unsigned i = 0; i < N; i += 16)
      __builtin_ia32_storedqusi512_mask(reinterpret_cast<int *>(block + i * 4),
                                        *reinterpret_cast<const IntVector *>(s + i), static_cast<u16>(mask >> i));
    return;
  }
#endif
  for (; mask; mask &= mask - 1) {
    const auto i = static_cast<unsigned>(__builtin_ctzll(mask));
    storeLane<D>(s, i, block + i * bytesOf(D));
  }
}

// Sixteen lanes at a time: rows of a tile are consecutive in 16 lanes though not in the whole wave, and values that a
// row shares are at one address. Recognising both costs a few host instructions; moving lane by lane costs a load and a
// store each.

inline constexpr unsigned kPart = 16;
typedef u32 PartVector __attribute__((vector_size(64)));

/// True when any lane of `x` is not 0.
[[gnu::always_inline]] inline bool anyBits(const PartVector &x) {
#ifdef __AVX512F__
  typedef bool Bits __attribute__((ext_vector_type(kPart)));
  return bits<u16>(__builtin_convertvector(x != 0, Bits)) != 0;
#else
  return __builtin_reduce_or(x) != 0;
#endif
}

/// Sixteen lanes that all read what is at `address`.
template <Data D> [[gnu::always_inline]] LUTHIER_GUEST_ACCESS inline void loadUniformPart(u32 *d, u64 address) {
  u32 value[registersOf(D)];
  loadLane<D>(d, 0, address);
  for (unsigned c = 0; c < registersOf(D); ++c)
    value[c] = d[c * kRow];
  for (unsigned c = 0; c < registersOf(D); ++c)
    *reinterpret_cast<LaneVector *>(d + c * kRow) = PartVector{} + value[c];
}

/// Sixteen lanes that read consecutive elements from `address` on.
template <Data D>
[[gnu::always_inline]] LUTHIER_GUEST_ACCESS inline void loadConsecutivePart(u32 *__restrict d, u64 address) {
  if constexpr (D == Data::B32) {
    *reinterpret_cast<LaneVector *>(d) = *reinterpret_cast<const MemVector *>(address);
  } else {
    for (unsigned i = 0; i < kPart; ++i)
      loadLane<D>(d, i, address + i * bytesOf(D));
  }
}

/// Sixteen lanes, each at its address.
template <Data D> [[gnu::always_inline]] LUTHIER_GUEST_ACCESS inline void gatherPart(u32 *d, const u64 *address) {
  const u64 first = address[0];
  u64 apart = 0, uneven = 0;
  for (unsigned i = 0; i < kPart; ++i) {
    apart |= address[i] ^ first;
    uneven |= address[i] ^ (first + i * bytesOf(D));
  }
  if (apart == 0)
    loadUniformPart<D>(d, first);
  else if (D == Data::B32 && uneven == 0)
    loadConsecutivePart<D>(d, first);
  else
    for (unsigned i = 0; i < kPart; ++i)
      loadLane<D>(d, i, address[i]);
}

/// Lanes of `mask`, each at its address.
template <Data D, unsigned Step = 4>
[[gnu::always_inline]] LUTHIER_GUEST_ACCESS inline void gather(u32 *d, const u64 *address, u64 mask, u64 step = Step) {
  if (mask == kAllLanes) {
    if constexpr (Step == 4) {
      for (unsigned i = 0; i < N; i += kPart)
        gatherPart<D>(d + i, address + i);
    } else {
      for (unsigned i = 0; i < N; ++i)
        loadLane<D, Step>(d, i, address[i], step);
    }
    return;
  }
  for (; mask; mask &= mask - 1) {
    const auto i = static_cast<unsigned>(__builtin_ctzll(mask));
    loadLane<D, Step>(d, i, address[i], step);
  }
}

/// Lanes of `mask`, each to its address; of lanes that write to the same place the highest one wins.
template <Data D, unsigned Step = 4>
[[gnu::always_inline]] LUTHIER_GUEST_ACCESS inline void scatter(const u32 *s, const u64 *address, u64 mask,
                                                                u64 step = Step) {
  if (mask == kAllLanes) {
    for (unsigned i = 0; i < N; ++i)
      storeLane<D, Step>(s, i, address[i], step);
    return;
  }
  for (; mask; mask &= mask - 1) {
    const auto i = static_cast<unsigned>(__builtin_ctzll(mask));
    storeLane<D, Step>(s, i, address[i], step);
  }
}

/// Registers of lanes whose address was out of range: "reads return the value zero".
[[gnu::always_inline]] inline void zeroLanes(u32 *d, u64 mask, unsigned registers) {
  for (; mask; mask &= mask - 1)
    for (unsigned c = 0; c < registers; ++c)
      d[c * kRow + static_cast<unsigned>(__builtin_ctzll(mask))] = 0;
}

/// Copies `registers` lane arrays in the lanes of EXEC.
template <unsigned Registers> [[gnu::always_inline]] inline void blendActive(Wave &w, u32 *to, const u32 *from) {
  const u32 *mask = execLanes(w);
  for (unsigned r = 0; r < Registers; ++r)
    for (unsigned i = 0; i < N; ++i)
      to[r * kRow + i] = (from[r * kRow + i] & mask[i]) | (to[r * kRow + i] & ~mask[i]);
}

// Permission.

inline constexpr u64 kAddressLimit = 1ull << 48;
/// Spans of more pages than this are checked lane by lane.
inline constexpr u64 kMostPages = 16;

/// True when [address, address + size) may be accessed. Asks the page table itself rather than Wave::accessible: a
/// wave's cache of ranges starts empty, filling it costs more than a short wave does, and most accesses lie in a page.
[[gnu::always_inline]] inline bool allowed(const Wave &w, u64 address, u64 size) {
  return address < kAddressLimit && w.memory->allows(address, size, w.deviceMask);
}

/// True when every lane of `mask` may access [address[lane], address[lane] + span), which may move addresses; else
/// `bad` is the first address that may not (Wave::resolveLanes).
[[gnu::always_inline]] inline bool lanesAllowed(Wave &w, const Inst *i, u64 *address, u64 mask, u64 span, bool write,
                                                u64 &bad) {
  u64 low = ~0ull, high = 0;
  if (mask == kAllLanes) {
    for (unsigned n = 0; n < N; ++n) {
      low = address[n] < low ? address[n] : low;
      high = address[n] > high ? address[n] : high;
    }
  } else {
    for (unsigned n = 0; n < N; ++n) {
      const u64 a = mask >> n & 1 ? address[n] : ~0ull, b = mask >> n & 1 ? address[n] : 0;
      low = a < low ? a : low;
      high = b > high ? b : high;
    }
  }
  if (high < kAddressLimit && high - low < kMostPages * AddressSpace::kPageSize && allowed(w, low, high - low + span))
      [[likely]]
    return true;
  return w.resolveLanes(i, address, mask, span, write, low, high, bad);
}

/// True when the lanes of `mask` are at consecutive elements of `size` bytes: lane n at `block` + n * size.
[[gnu::always_inline]] inline bool coalesced(const u64 *address, u64 mask, u64 size, u64 &block) {
  const auto first = static_cast<unsigned>(__builtin_ctzll(mask));
  block = address[first] - first * size;
  u64 different = 0;
  if (mask == kAllLanes) {
    for (unsigned i = 0; i < N; ++i)
      different |= address[i] ^ (block + i * size);
  } else {
    for (unsigned i = 0; i < N; ++i)
      different |= mask >> i & 1 ? address[i] ^ (block + i * size) : 0;
  }
  return different == 0;
}

/// The same for offsets of 32 bits; false too where adding a base would carry out of them.
[[gnu::always_inline]] inline bool coalesced32(Wave &w, const u32 *offset, u64 mask, u32 size, u32 &block) {
  const auto first = static_cast<unsigned>(__builtin_ctzll(mask));
  block = offset[first] - first * size;
  u32 different = 0;
  if (mask == kAllLanes) {
    for (unsigned i = 0; i < N; ++i)
      different |= offset[i] ^ (block + i * size);
  } else {
    const u32 *active = execLanes(w);
    for (unsigned i = 0; i < N; ++i)
      different |= (offset[i] ^ (block + i * size)) & active[i];
  }
  return different == 0 && block <= ~0u - N * size;
}

// Whole instructions, once addresses are known.

/// Loads lanes of `mask` into VGPR `dst` from `address`; lanes of `zero` get 0.
template <Data D>
[[gnu::noinline]] LUTHIER_GUEST_ACCESS const Inst *loadLanes(Wave &w, const Inst *i, u64 *address, u64 mask,
                                                             u64 zero = 0) {
  u32 *d = w.v[i->dst];
  if (mask) {
    u64 bad;
    if (!lanesAllowed(w, i, address, mask, bytesOf(D), false, bad)) [[unlikely]]
      return w.memoryFault(i, bad, false);
    gather<D>(d, address, mask);
  }
  if (zero) [[unlikely]]
    zeroLanes(d, zero, registersOf(D));
  return i->next();
}

/// Stores lanes of `mask` from `s` to `address`.
template <Data D>
[[gnu::noinline]] LUTHIER_GUEST_ACCESS const Inst *storeLanes(Wave &w, const Inst *i, const u32 *s, u64 *address,
                                                              u64 mask) {
  if (mask) {
    u64 bad;
    if (!lanesAllowed(w, i, address, mask, bytesOf(D), true, bad)) [[unlikely]]
      return w.memoryFault(i, bad, true);
    scatter<D>(s, address, mask);
  }
  return i->next();
}

/// Loads a block that EXEC's lanes share, when all of it may be accessed.
template <Data D> [[gnu::always_inline]] inline bool loadCoalesced(Wave &w, const Inst *i, u64 exec, u64 block) {
  if (!LUTHIER_READS_INACTIVE_LANES && exec != kAllLanes)
    return false;
  if (!allowed(w, block, N * bytesOf(D))) [[unlikely]]
    return false;
  if (exec == kAllLanes) {
    loadBlock<D>(w.v[i->dst], block);
  } else {
    loadBlock<D>(w.tmp[0], block);
    blendActive<registersOf(D)>(w, w.v[i->dst], w.tmp[0]);
  }
  return true;
}

/// Stores to a block that EXEC's lanes share, when all of it may be accessed.
template <Data D> [[gnu::always_inline]] inline bool storeCoalesced(Wave &w, const u32 *s, u64 exec, u64 block) {
  if (!allowed(w, block, N * bytesOf(D))) [[unlikely]]
    return false;
  if (exec == kAllLanes)
    storeBlock<D>(s, block);
  else
    storeBlock<D>(s, block, exec);
  return true;
}

// Swizzled memory: private memory, and buffers whose resource asks for it (manual, 9.1.5.2). Each dword of a record is
// followed by the same dword of the next record. Up to gfx10 there is no element size in the resource: it is one dword
// (ROCr's ELEMENT_SIZE field sits in bits that gfx9 no longer has).

struct Swizzle {
  u64 base;
  u32 indexStride; ///< records whose elements are interleaved; the lanes of the wave in scratch
  u32 stride;      ///< bytes of a record
  u32 element = 4; ///< bytes that stay together: 4 or 16

  [[gnu::always_inline]] u64 at(u32 index, u32 offset) const {
    return base + (static_cast<u64>(index / indexStride) * stride + (offset & -element)) * indexStride +
           static_cast<u64>(index % indexStride) * element + (offset & (element - 1));
  }
  /// Between consecutive dwords. Larger elements are read as if one went on for ever (RDNA4 manual, 9.4.2).
  [[gnu::always_inline]] u64 step() const { return element == 4 ? indexStride * 4 : 4; }
  /// Whether `bytes` at `offset` are in one piece.
  [[gnu::always_inline]] bool inOnePiece(u32 offset, u32 bytes) const {
    return element == 4 ? (offset & 3) + bytes <= 4 : (offset & 3) == 0 || (offset & 15) + bytes <= 16;
  }
};

/// Where the lanes of a swizzled access are. An access that crosses a dword boundary is not in one piece.
struct SwizzledLanes {
  bool whole;
  u64 span; ///< from the first to behind the last byte of one lane
};

template <Data D>
[[gnu::always_inline]] inline SwizzledLanes swizzledLanes(const Swizzle &memory, const u32 *index, const u32 *offset,
                                                          u64 mask, u64 *address) {
  constexpr u32 unit = bytesOf(D) < 4 ? bytesOf(D) : 4;
  bool whole = true;
  for (; mask; mask &= mask - 1) {
    const auto i = static_cast<unsigned>(__builtin_ctzll(mask));
    whole &= memory.inOnePiece(offset[i], unit);
    address[i] = memory.at(index[i], offset[i]);
  }
  return {whole, bytesOf(D) < 4 ? unit : (registersOf(D) - 1) * memory.step() + 4};
}

/// Checks the bytes of accesses that are in pieces.
/// (vmem.cc)
bool piecesAllowed(Wave &w, const Swizzle &memory, const u32 *index, const u32 *offset, u64 mask, u32 bytes, u64 &bad);
void loadPieces(const Swizzle &memory, u32 index, u32 offset, u32 bytes, u8 *to);
void storePieces(const Swizzle &memory, u32 index, u32 offset, u32 bytes, const u8 *from);

template <Data D>
LUTHIER_GUEST_ACCESS const Inst *loadSwizzled(Wave &w, const Inst *i, u32 *d, const Swizzle &memory, const u32 *index,
                                              const u32 *offset, u64 mask, u64 zero) {
  const SwizzledLanes lanes = swizzledLanes<D>(memory, index, offset, mask, w.addresses);
  u64 bad;
  if (lanes.whole) [[likely]] {
    if (mask && !lanesAllowed(w, i, w.addresses, mask, lanes.span, false, bad))
      return w.memoryFault(i, bad, false);
    u64 block;
    if (bytesOf(D) >= 4 && mask == kAllLanes && coalesced(w.addresses, mask, 4, block)) {
      for (unsigned c = 0; c < registersOf(D); ++c)
        loadBlock<Data::B32>(d + c * kRow, block + c * memory.step());
    } else {
      gather<D, 0>(d, w.addresses, mask, memory.step());
    }
  } else {
    if (!piecesAllowed(w, memory, index, offset, mask, bytesOf(D), bad))
      return w.memoryFault(i, bad, false);
    for (u64 m = mask; m; m &= m - 1) {
      const auto lane = static_cast<unsigned>(__builtin_ctzll(m));
      u32 bytes[4];
      loadPieces(memory, index[lane], offset[lane], bytesOf(D), reinterpret_cast<u8 *>(bytes));
      w.addresses[lane] = reinterpret_cast<u64>(bytes);
      loadLane<D>(d, lane, w.addresses[lane]);
    }
  }
  zeroLanes(d, zero, registersOf(D));
  return i->next();
}

template <Data D>
LUTHIER_GUEST_ACCESS const Inst *storeSwizzled(Wave &w, const Inst *i, const u32 *s, const Swizzle &memory,
                                               const u32 *index, const u32 *offset, u64 mask) {
  const SwizzledLanes lanes = swizzledLanes<D>(memory, index, offset, mask, w.addresses);
  u64 bad;
  if (lanes.whole) [[likely]] {
    if (mask && !lanesAllowed(w, i, w.addresses, mask, lanes.span, true, bad))
      return w.memoryFault(i, bad, true);
    u64 block;
    if (bytesOf(D) >= 4 && mask == kAllLanes && coalesced(w.addresses, mask, 4, block)) {
      for (unsigned c = 0; c < registersOf(D); ++c)
        storeBlock<Data::B32>(s + c * kRow, block + c * memory.step());
    } else {
      scatter<D, 0>(s, w.addresses, mask, memory.step());
    }
  } else {
    if (!piecesAllowed(w, memory, index, offset, mask, bytesOf(D), bad))
      return w.memoryFault(i, bad, true);
    for (u64 m = mask; m; m &= m - 1) {
      const auto lane = static_cast<unsigned>(__builtin_ctzll(m));
      u32 bytes[4];
      storeLane<D>(s, lane, reinterpret_cast<u64>(bytes));
      storePieces(memory, index[lane], offset[lane], bytesOf(D), reinterpret_cast<const u8 *>(bytes));
    }
  }
  return i->next();
}

// Loads to LDS: the data goes to consecutive dwords of LDS instead of a VGPR (manual, 9.1.9).

inline constexpr u32 kLdsOffsetInM0 = 0xffff;

/// LDS offset of each lane's dword: M0[15:0] + the instruction's offset + 4 * lane.
[[gnu::always_inline]] inline u32 ldsTarget(const Wave &w, const Inst *i, unsigned lane,
                                            u32 bitsOfM0 = kLdsOffsetInM0) {
  return (w.s[kM0] & bitsOfM0) + static_cast<u32>(i->imm) + 4 * lane;
}

template <Data D>
LUTHIER_GUEST_ACCESS const Inst *loadLanesToLds(Wave &w, const Inst *i, u64 *address, u64 mask, u64 zero,
                                                u32 bitsOfM0 = kLdsOffsetInM0) {
  static_assert(bytesOf(D) <= 4);
  u64 bad;
  if (mask && !lanesAllowed(w, i, address, mask, bytesOf(D), false, bad))
    return w.memoryFault(i, bad, false);
  gather<D>(w.tmp[0], address, mask);
  zeroLanes(w.tmp[0], zero, 1);
  u64 outside = 0;
  for (u64 m = mask | zero; m; m &= m - 1) {
    const auto lane = static_cast<unsigned>(__builtin_ctzll(m));
    // Lanes whose LDS address is out of range are masked off (manual, 3.11).
    const u32 to = ldsTarget(w, i, lane, bitsOfM0);
    if (static_cast<u64>(to) + 4 <= w.ldsSize)
      *reinterpret_cast<Mem32 *>(w.lds + to) = w.tmp[0][lane];
    else
      outside |= 1ull << lane;
  }
  if (outside && w.check) [[unlikely]] {
    for (unsigned lane = 0; lane < N; ++lane)
      w.addresses[lane] = reinterpret_cast<u64>(w.lds) + ldsTarget(w, i, lane, bitsOfM0);
    w.outsideLds(i, w.addresses, outside, 4, true);
  }
  return i->next();
}

/// The numbers of the lanes, as the records' indices in scratch memory.
alignas(64) inline constexpr u32 kLaneIds[kRow] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                                   16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
                                                   32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47,
                                                   48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};

/// Cache control. The virtual GPU has no caches of its own; what remains is the order of accesses.
inline const Inst *cacheControl(Wave &, const Inst *i) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  return i->next();
}

/// A load that leaves the half of its register alone that it does not write, where the target's do.
template <Handler H, Data D> const Inst *keepingHalf(Wave &w, const Inst *i) {
  if (!(i->flags & kLoadKeepsHalf))
    return H(w, i);
  alignas(64) u32 old[N];
  u32 *d = w.v[i->dst];
  memcpy(old, d, sizeof old);
  const Inst *next = H(w, i);
  for (unsigned n = 0; n < N; ++n)
    d[n] = (d[n] & writtenBits(D)) | (old[n] & ~writtenBits(D));
  return next;
}
/// The handler of a load's row.
template <Handler H, Data D> inline constexpr Handler kLoad = H;
template <Handler H, Data D>
  requires(writtenBits(D) != ~0u)
inline constexpr Handler kLoad<H, D> = keepingHalf<H, D>;

/// A row of a memory instruction; the decoder needs no operand types for these formats.
constexpr Row memory(std::string_view mnemonic, Handler handler) {
  return Row{mnemonic, kBitcode ? nullptr : handler, nullptr, Type::None, {Type::None, Type::None, Type::None}, 0};
}

/// The threaded handlers of a row that has one for its usual case.
template <Handler H> inline constexpr Handler kOnly[8] = {H};

} // namespace luthier::vgpu::LUTHIER_VGPU_LEVEL
