// Kernel descriptors where the packet processor finds them: in memory, at the address that a dispatch packet calls its
// kernel object. What is in them is in object/kernel_descriptor.h.
#pragma once

#include "object/kernel_descriptor.h"
#include "vgpu/memory/guest_access.h"

#include <cstdint>

namespace luthier::vgpu {

using object::KernelDescriptor;

/// The descriptor at an address that is known to be readable.
inline KernelDescriptor descriptorAt(uint64_t address) {
  const GuestCopy guest;
  return KernelDescriptor::read(std::span<const std::byte, KernelDescriptor::kBytes>(
      reinterpret_cast<const std::byte *>(address), KernelDescriptor::kBytes));
}

/// Where its first instruction is. Firmware that preloads arguments skips the code that loads them or complains.
inline uint64_t entryAt(uint64_t address, const isa::Target &target) {
  const KernelDescriptor descriptor = descriptorAt(address);
  return address + static_cast<uint64_t>(descriptor.entryOffset) +
         (descriptor.preloaded(target) ? KernelDescriptor::kPreloadSkip : 0);
}

} // namespace luthier::vgpu
