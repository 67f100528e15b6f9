// The 64 bytes that a dispatch packet's kernel_object points at, as far as the packet processor looks at them
// (LLVM's AMDGPUUsage, "Kernel Descriptor"). ROCr's built-in blit kernels have the older amd_kernel_code_t there, which
// keeps these fields at the same offsets.
#pragma once

#include <cstdint>
#include <cstring>

namespace luthier::vgpu {

struct KernelDescriptor {
  uint64_t entry; ///< address of the first instruction
  uint32_t rsrc1, rsrc2, rsrc3;
  uint16_t properties;

  static constexpr uint64_t kBytes = 64;

  static KernelDescriptor at(uint64_t address) {
    const auto *bytes = reinterpret_cast<const uint8_t *>(address);
    KernelDescriptor d;
    int64_t entryOffset;
    memcpy(&entryOffset, bytes + 16, 8);
    memcpy(&d.rsrc3, bytes + 44, 4);
    memcpy(&d.rsrc1, bytes + 48, 4);
    memcpy(&d.rsrc2, bytes + 52, 4);
    memcpy(&d.properties, bytes + 56, 2);
    d.entry = address + static_cast<uint64_t>(entryOffset);
    return d;
  }

  uint32_t vgprs(uint32_t granule) const { return ((rsrc1 & 0x3f) + 1) * granule; }
  /// FLOAT_MODE, DX10_CLAMP and IEEE_MODE at their places in the MODE register.
  uint32_t mode() const { return (rsrc1 >> 12 & 0xff) | (rsrc1 >> 21 & 1) << 8 | (rsrc1 >> 23 & 1) << 9; }
  bool scratchOffset() const { return rsrc2 & 1; }
  uint32_t userSgprs() const { return rsrc2 >> 1 & 0x1f; }
  bool workgroupId(unsigned dimension) const { return rsrc2 >> (7 + dimension) & 1; }
  bool workgroupInfo() const { return rsrc2 >> 10 & 1; }
  uint32_t workitemIds() const { return rsrc2 >> 11 & 3; } ///< 0: x, 1: x and y, 2: all

  bool privateSegmentBuffer() const { return properties & 1; }
  bool dispatchPtr() const { return properties & 2; }
  bool queuePtr() const { return properties & 4; }
  bool kernargPtr() const { return properties & 8; }
  bool dispatchId() const { return properties & 16; }
  bool flatScratchInit() const { return properties & 32; }
  bool privateSegmentSize() const { return properties & 64; }
  bool wave32() const { return properties & 1 << 10; }
};

} // namespace luthier::vgpu
