#include "vgpu/api/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace luthier::vgpu {

static constexpr uint64_t kPage = AddressSpace::kPageSize;

GpuMemory::~GpuMemory() {
  for (const auto &[address, bytes] : allocations_)
    munmap(reinterpret_cast<void *>(address - kPage), bytes + 2 * kPage);
}

Result<uint64_t> GpuMemory::allocate(uint64_t bytes) {
  if (bytes > uint64_t{1} << 46)
    return makeError("cannot allocate {} bytes of GPU memory", bytes);
  const uint64_t size = std::max<uint64_t>(1, (bytes + kPage - 1) / kPage) * kPage;
  void *memory = mmap(nullptr, size + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return makeErrorCode(errno, "cannot allocate {} bytes of GPU memory: {}", bytes, strerror(errno));
  const uint64_t address = reinterpret_cast<uint64_t>(memory) + kPage;
  if (mprotect(reinterpret_cast<void *>(address), size, PROT_READ | PROT_WRITE) != 0) {
    const int error = errno;
    munmap(memory, size + 2 * kPage);
    return makeErrorCode(error, "cannot allocate {} bytes of GPU memory: {}", bytes, strerror(error));
  }
  {
    std::lock_guard lock(mutex_);
    allocations_.emplace(address, size);
  }
  space_.map(address, size, device_);
  return address;
}

Result<void> GpuMemory::free(uint64_t address) {
  uint64_t size;
  {
    std::lock_guard lock(mutex_);
    const auto it = allocations_.find(address);
    if (it == allocations_.end())
      return makeError("{:#x} is not the address of an allocation", address);
    size = it->second;
    allocations_.erase(it);
  }
  space_.unmap(address, size, device_);
  munmap(reinterpret_cast<void *>(address - kPage), size + 2 * kPage);
  return {};
}

Result<GpuBlock> GpuBlock::make(GpuMemory &memory, uint64_t bytes) {
  GpuBlock block;
  block.address_ = LUTHIER_TRY(memory.allocate(bytes));
  block.memory_ = &memory;
  return block;
}

GpuBlock &GpuBlock::operator=(GpuBlock &&other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(address_, other.address_);
  return *this;
}

GpuBlock::~GpuBlock() {
  if (address_)
    (void)memory_->free(address_);
}

} // namespace luthier::vgpu
