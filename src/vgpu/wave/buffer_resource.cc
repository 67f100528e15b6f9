#include "vgpu/wave/buffer_resource.h"

#include "vgpu/wave/operands.h"

namespace luthier::vgpu {

using Layout = isa::BufferResource;

BufferResource::BufferResource(const Wave &w, const MemoryAccess &access, Layout layout, bool typed)
    : w_(w), access_(access), layout_(layout) {
  const uint32_t *v = &w.s[number(access.saddr.first)];
  addsLane_ = v[3] >> 23 & 1;
  records_ = v[2];
  indexStride_ = 8u << (v[3] >> 21 & 3);
  rangeCheck_ = v[3] >> 28 & 3;
  soffset_ = access.soffset.empty() ? static_cast<uint32_t>(access.soffsetValue) : w.s[number(access.soffset.first)];
  base_ = v[0] | static_cast<uint64_t>(v[1] & 0xffff) << 32;
  stride_ = v[1] >> 16 & 0x3fff;
  if (layout < Layout::Gfx10 && addsLane_ && !typed)
    stride_ |= (v[3] >> 15 & 0xf) << 14;
  if (layout >= Layout::Gfx12) {
    static constexpr uint8_t kScales[] = {1, 4, 8, 32};
    stride_ *= kScales[v[3] >> 18 & 3];
  }
  const uint32_t swizzle = layout < Layout::Gfx11 ? v[1] >> 31 : v[1] >> 30;
  element_ = swizzle == 3 ? 16 : swizzle ? 4 : 0;
}

uint32_t BufferResource::index(unsigned lane) const {
  const unsigned reg = access_.vaddr.empty() ? 0 : vectorIndex(access_.vaddr.first);
  return (access_.idxen ? w_.v[reg][lane] : 0) + (addsLane_ ? lane : 0);
}

uint32_t BufferResource::offset(unsigned lane) const {
  const unsigned reg = access_.vaddr.empty() ? 0 : vectorIndex(access_.vaddr.first);
  return (access_.offen ? w_.v[reg + access_.idxen][lane] : 0) + static_cast<uint32_t>(access_.offset);
}

uint64_t BufferResource::address(unsigned lane) const {
  const uint32_t record = index(lane);
  if (!isSwizzled())
    return base_ + soffset_ + static_cast<uint64_t>(record) * stride_ + offset(lane);
  const bool together = layout_ >= Layout::Gfx12; // the scalar offset is swizzled with the others
  const uint32_t at = offset(lane) + (together ? soffset_ : 0);
  return base_ + (together ? 0 : soffset_) +
         (static_cast<uint64_t>(record / indexStride_) * stride_ + (at - at % element_)) * indexStride_ +
         static_cast<uint64_t>(record % indexStride_) * element_ + at % element_;
}

bool BufferResource::inside(unsigned lane) const {
  const uint64_t end = uint64_t{offset(lane)} + access_.bytes;
  if (layout_ < Layout::Gfx10) {
    if (addsLane_ && !access_.idxen) // private: not checked
      return true;
    return access_.idxen && stride_ ? index(lane) - (addsLane_ ? lane : 0) < records_ : end <= records_;
  }
  switch (rangeCheck_) {
  case 0:
    return index(lane) < records_ && end <= stride_;
  case 1:
    return index(lane) < records_;
  case 2:
    return records_ != 0;
  default:
    return end + soffset_ <= records_;
  }
}

} // namespace luthier::vgpu
