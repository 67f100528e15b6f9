// Buffer resources: where MUBUF and MTBUF instructions find their data (manuals, "Buffer Addressing", "Range Checking"
// and "Buffer Resource").
//
// Base, stride, number of records, index stride and the thread number's bit are at the same places everywhere. What
// differs is kept apart by the resource's layout: gfx9 has DFMT and NFMT, later ones a number for both (mtbuf.cc), and
// OOB_SELECT, which says what is out of range; gfx11 has elements of 16 bytes; gfx12 scales the stride, and its scalar
// offset is swizzled with the others.
#pragma once

#include "isa/target.h"
#include "vgpu/exec/vmem.h"

namespace luthier::vgpu::LUTHIER_VGPU_LEVEL {

using Layout = isa::BufferResource;

/// Bits of a V#'s last dword that ask for something else than a buffer: TYPE, those that are reserved, and gfx12's
/// access to compressed data as such. (Without effect here: CACHE_SWIZZLE of the second dword, NV, gfx10's
/// RESOURCE_LEVEL, which compilers set for later ones too, compression, which programs do not see, and USER_VM_ENABLE
/// and USER_VM_MODE, where ROCr's scratch resource has what was ELEMENT_SIZE in gfx8.)
constexpr u32 notABuffer(Layout layout) {
  return layout < Layout::Gfx10 ? 3u << 30 | 3u << 28 | 7u << 24 : 3u << 30 | 3u << 26;
}
inline constexpr const char *kNotABufferText = "has a resource whose last dword has TYPE (bits 31:30) or reserved bits "
                                               "set, or a reserved kind of swizzling, which "
                                               "is not implemented";

/// A V# as one instruction sees it.
struct Buffer {
  u64 base; ///< with SOFFSET, where that is not swizzled
  u32 stride;
  u32 records;
  u32 indexStride;
  u32 word3;
  u32 element; ///< bytes that swizzling leaves together
  u32 soffset;
  u32 swizzledOffset; ///< SOFFSET, where it is swizzled
  u32 rangeCheck;     ///< OOB_SELECT
  Layout layout;
  bool swizzle;
  bool addTid;
  bool bound; ///< a resource without a data format is unbound: reads return 0

  bool implemented() const { return !(word3 & notABuffer(layout)) && (!swizzle || element); }
  Swizzle swizzled() const { return {base, indexStride, stride, element}; }
  bool hasRangeCheck() const { return layout >= Layout::Gfx10; }
};

[[gnu::always_inline]] inline bool offEnabled(const Inst *i) { return i->buffer.offen; }
[[gnu::always_inline]] inline bool idxEnabled(const Inst *i) { return i->buffer.idxen; }

/// `Typed`: the instruction converts formats, so that gfx9's DFMT field is not part of the stride.
template <bool Typed> [[gnu::always_inline]] inline Buffer bufferOf(const Wave &w, const Inst *i) {
  constexpr u32 kNoElement = 0;
  const u32 *v = &w.s[i->sdst];
  Buffer b;
  b.layout = static_cast<Layout>(i->buffer.layout);
  b.addTid = v[3] >> 23 & 1;
  b.stride = v[1] >> 16 & 0x3fff;
  b.records = v[2];
  b.indexStride = 8u << (v[3] >> 21 & 3);
  b.word3 = v[3];
  b.rangeCheck = v[3] >> 28 & 3;
  b.soffset = static_cast<u32>(scalarSource(w, *i, 2));
  u32 format;
  if (b.layout < Layout::Gfx10) {
    format = v[3] >> 15 & 0xf;
    b.stride |= b.addTid && !Typed ? format << 14 : 0;
  } else {
    format = v[3] >> 12 & (b.layout == Layout::Gfx10 ? 0x7f : 0x3f);
  }
  if (b.layout < Layout::Gfx11) {
    b.swizzle = v[1] >> 31;
    b.element = 4;
  } else {
    b.swizzle = v[1] >> 30;
    b.element = v[1] >> 30 == 3 ? 16 : v[1] >> 30 == 2 ? kNoElement : 4;
  }
  if (b.layout >= Layout::Gfx12) {
    static constexpr u8 kScales[] = {1, 4, 8, 32};
    b.stride *= kScales[v[3] >> 18 & 3];
  }
  b.bound = format != 0 || (b.addTid && !Typed);
  const bool inside = b.swizzle && b.layout >= Layout::Gfx12;
  b.swizzledOffset = inside ? b.soffset : 0;
  b.base = (v[0] | static_cast<u64>(v[1] & 0xffff) << 32) + (inside ? 0 : b.soffset);
  return b;
}

/// Index and offset of every lane.
struct BufferLanes {
  const u32 *index;
  const u32 *offset;
};

[[gnu::always_inline]] inline BufferLanes bufferLanes(Wave &w, const Inst *i, const Buffer &b) {
  const u32 *v = w.v[i->src[0].reg];
  u32 *index = w.tmp[4], *offset = w.tmp[5];
  const u32 *vOffset = idxEnabled(i) ? v + kRow : v;
  for (unsigned n = 0; n < N; ++n)
    index[n] = (idxEnabled(i) ? v[n] : 0) + (b.addTid ? n : 0);
  for (unsigned n = 0; n < N; ++n)
    offset[n] = (offEnabled(i) ? vOffset[n] : 0) + static_cast<u32>(i->imm) + b.swizzledOffset;
  return {index, offset};
}

/// gfx9: lanes whose offset + `extra` is in range. The manual names three kinds of buffers; of what it leaves open,
/// indexed buffers without a stride and swizzled ones without an index are checked like raw buffers.
[[gnu::always_inline]] inline u64 lanesInRangeGfx9(const Wave &w, const Inst *i, const Buffer &b,
                                                   const BufferLanes &lanes, u32 extra) {
  if (b.addTid && !idxEnabled(i)) // private: not checked
    return kAllLanes;
  u64 inside = 0;
  if (idxEnabled(i) && b.stride != 0) {
    const u32 *index = w.v[i->src[0].reg]; // without the thread's number
    for (unsigned n = 0; n < N; ++n)
      inside |= static_cast<u64>(index[n] < b.records) << n;
  } else {
    for (unsigned n = 0; n < N; ++n)
      inside |= static_cast<u64>(static_cast<u64>(lanes.offset[n]) + extra < b.records) << n;
  }
  return inside;
}

/// gfx10 and later: by OOB_SELECT. Number 3 is missing in the manuals of RDNA2 and RDNA4, but compilers choose it.
[[gnu::always_inline]] inline u64 lanesInRange(const Buffer &b, const BufferLanes &lanes, u32 extra, u32 payload) {
  enum : u32 { kStructured, kIndex, kEmpty, kRaw };
  u64 inside = 0;
  const auto each = [&](auto &&isInside) __attribute__((always_inline)) {
    for (unsigned n = 0; n < N; ++n)
      inside |= static_cast<u64>(isInside(lanes.index[n], static_cast<u64>(lanes.offset[n]) + extra)) << n;
  };
  if (b.rangeCheck == kEmpty)
    return b.records != 0 ? kAllLanes : 0;
  if (b.rangeCheck == kIndex) {
    each([&](u32 index, u64) { return index < b.records; });
  } else if (b.rangeCheck == kRaw && !(b.swizzle && b.stride != 0)) {
    const u64 bytes = b.records > b.soffset ? b.records - b.soffset : 0;
    each([&](u32, u64 offset) { return offset + payload <= bytes; });
  } else if (b.layout == Layout::Gfx10 && b.rangeCheck == kStructured) {
    each([&](u32 index, u64 offset) { return index < b.records && offset < b.stride; });
  } else {
    each([&](u32 index, u64 offset) { return index < b.records && offset + payload <= b.stride; });
  }
  return inside;
}

/// Lanes of EXEC whose `payload` bytes at `offset` + `extra` are in range.
[[gnu::always_inline]] inline u64 bufferInRange(const Wave &w, const Inst *i, const Buffer &b, const BufferLanes &lanes,
                                                u32 payload, u32 extra = 0) {
  if (!b.bound)
    return 0;
  return activeLanes(w) &
         (b.hasRangeCheck() ? lanesInRange(b, lanes, extra, payload) : lanesInRangeGfx9(w, i, b, lanes, extra));
}

/// Addresses in a buffer that is not swizzled.
[[gnu::always_inline]] inline u64 *linearAddresses(Wave &w, const Buffer &b, const BufferLanes &lanes) {
  for (unsigned n = 0; n < N; ++n)
    w.addresses[n] = b.base + static_cast<u64>(lanes.index[n]) * b.stride + lanes.offset[n];
  return w.addresses;
}

/// A row of an instruction that takes a resource.
constexpr Row ofBuffer(std::string_view mnemonic, Handler handler) {
  return memory(mnemonic, handler).documented(why::kBufferRange);
}

} // namespace luthier::vgpu::LUTHIER_VGPU_LEVEL
