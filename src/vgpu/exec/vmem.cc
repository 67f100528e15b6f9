// The slow cases of vector memory: accesses to swizzled memory that cross a dword boundary, byte by byte.

#include "vgpu/exec/vmem.h"

namespace luthier::vgpu::LUTHIER_VGPU_LEVEL {

bool piecesAllowed(Wave &w, const Swizzle &memory, const u32 *index, const u32 *offset, u64 mask, u32 bytes, u64 &bad) {
  for (; mask; mask &= mask - 1) {
    const auto lane = static_cast<unsigned>(__builtin_ctzll(mask));
    for (u32 k = 0; k < bytes; ++k) {
      bad = memory.at(index[lane], offset[lane] + k);
      if (!allowed(w, bad, 1) && !w.memory->mapped(bad, 1, w.deviceMask))
        return false;
    }
  }
  return true;
}

LUTHIER_GUEST_ACCESS void loadPieces(const Swizzle &memory, u32 index, u32 offset, u32 bytes, u8 *to) {
  for (u32 k = 0; k < bytes; ++k)
    to[k] = *reinterpret_cast<const u8 *>(memory.at(index, offset + k));
}

LUTHIER_GUEST_ACCESS void storePieces(const Swizzle &memory, u32 index, u32 offset, u32 bytes, const u8 *from) {
  for (u32 k = 0; k < bytes; ++k)
    *reinterpret_cast<u8 *>(memory.at(index, offset + k)) = from[k];
}

} // namespace luthier::vgpu::LUTHIER_VGPU_LEVEL
