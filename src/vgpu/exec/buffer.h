// Buffer resources: where MUBUF and MTBUF instructions find their data (manual, 9.1.5 and 9.1.8).
#pragma once

#include "vgpu/exec/vmem.h"

namespace luthier::vgpu::LUTHIER_VGPU_LEVEL {

/// Bits of a V#'s last dword that ask for something else than a buffer: TYPE, and those that are reserved. (Without
/// effect here: CACHE_SWIZZLE of the second dword, NV, and USER_VM_ENABLE and USER_VM_MODE, where ROCr's scratch
/// resource has what was ELEMENT_SIZE in gfx8.)
inline constexpr u32 kNotABuffer = 3u << 30 | 3u << 28 | 7u << 24;
inline constexpr const char *kNotABufferText =
    "has a resource whose last dword has TYPE (bits 31:30) or reserved bits (29:28, 26:24) set, which is not "
    "implemented";

/// A V# as one instruction sees it, with SOFFSET added to its base.
struct Buffer {
  u64 base;
  u32 stride;
  u32 records;
  u32 indexStride;
  u32 word3;
  bool swizzle;
  bool addTid;
  bool bound; ///< a resource without a data format is unbound: reads return 0

  bool implemented() const { return !(word3 & kNotABuffer); }
  Swizzle swizzled() const { return {base, indexStride, stride}; }
};

[[gnu::always_inline]] inline bool offEnabled(const Inst *i) { return i->buffer.offen; }
[[gnu::always_inline]] inline bool idxEnabled(const Inst *i) { return i->buffer.idxen; }

/// `Typed`: the instruction converts formats, so that the DFMT field is not part of the stride.
template <bool Typed> [[gnu::always_inline]] inline Buffer bufferOf(const Wave &w, const Inst *i) {
  const u32 *v = &w.s[i->sdst];
  const u32 dfmt = v[3] >> 15 & 0xf;
  Buffer b;
  b.addTid = v[3] >> 23 & 1;
  b.swizzle = v[1] >> 31;
  b.stride = (v[1] >> 16 & 0x3fff) | (b.addTid && !Typed ? dfmt << 14 : 0);
  b.records = v[2];
  b.indexStride = 8u << (v[3] >> 21 & 3);
  b.word3 = v[3];
  b.bound = dfmt != 0 || (b.addTid && !Typed);
  b.base = (v[0] | static_cast<u64>(v[1] & 0xffff) << 32) + static_cast<u32>(scalarSource(w, *i, 2));
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
    offset[n] = (offEnabled(i) ? vOffset[n] : 0) + static_cast<u32>(i->imm);
  return {index, offset};
}

/// Lanes of EXEC whose element at `offset` + `extra` is in range. The manual names three kinds of buffers; of what it
/// leaves open, indexed buffers without a stride and swizzled ones without an index are checked like raw buffers.
[[gnu::always_inline]] inline u64 bufferInRange(const Wave &w, const Inst *i, const Buffer &b, const BufferLanes &lanes,
                                                u32 extra = 0) {
  const u64 exec = activeLanes(w);
  if (!b.bound)
    return 0;
  if (b.addTid && !idxEnabled(i)) // private: not checked
    return exec;
  u64 inside = 0;
  if (idxEnabled(i) && b.stride != 0) {
    const u32 *index = w.v[i->src[0].reg]; // without the thread's number
    for (unsigned n = 0; n < N; ++n)
      inside |= static_cast<u64>(index[n] < b.records) << n;
  } else {
    for (unsigned n = 0; n < N; ++n)
      inside |= static_cast<u64>(static_cast<u64>(lanes.offset[n]) + extra < b.records) << n;
  }
  return inside & exec;
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
