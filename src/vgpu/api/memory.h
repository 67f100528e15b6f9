// Memory of a virtual GPU that is driven directly: allocations between guard pages, entered in its address space.
#pragma once

#include "support/result.h"
#include "vgpu/memory/address_space.h"

#include <cstdint>
#include <map>
#include <mutex>

namespace luthier::vgpu {

class GpuMemory {
public:
  GpuMemory(AddressSpace &space, DeviceMask device) : space_(space), device_(device) {}
  ~GpuMemory();
  GpuMemory(const GpuMemory &) = delete;
  GpuMemory &operator=(const GpuMemory &) = delete;

  /// Zeroed whole pages with an inaccessible one on either side.
  Result<uint64_t> allocate(uint64_t bytes);
  Result<void> free(uint64_t address);

private:
  AddressSpace &space_;
  DeviceMask device_;
  std::mutex mutex_;
  std::map<uint64_t, uint64_t> allocations_; ///< address to size, in whole pages
};

/// An allocation that frees itself.
class GpuBlock {
public:
  static Result<GpuBlock> make(GpuMemory &memory, uint64_t bytes);
  GpuBlock() = default;
  GpuBlock(GpuBlock &&other) noexcept : memory_(other.memory_), address_(other.address_) { other.address_ = 0; }
  GpuBlock &operator=(GpuBlock &&other) noexcept;
  ~GpuBlock();
  uint64_t address() const { return address_; }

private:
  GpuMemory *memory_ = nullptr;
  uint64_t address_ = 0;
};

} // namespace luthier::vgpu
