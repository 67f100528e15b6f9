// Memory pools: where memory for GPUs comes from; and what is allocated there.
#pragma once

#include "hsa/handle.h"

#include <cstddef>

#include <hsa/hsa_ext_amd.h>

namespace luthier::hsa {

class Agent;

/// Memory of a pool, freed with it.
class [[nodiscard]] PoolMemory {
public:
  PoolMemory() = default;
  PoolMemory(void *data, size_t size) : data_(data), size_(size) {}
  PoolMemory(PoolMemory &&other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  PoolMemory &operator=(PoolMemory &&other) noexcept;
  ~PoolMemory();

  void *data() const { return data_; }
  template <class T> T *as() const { return static_cast<T *>(data_); }
  uint64_t address() const { return reinterpret_cast<uint64_t>(data_); }
  size_t size() const { return size_; } ///< as asked for
  explicit operator bool() const { return data_ != nullptr; }

  /// Lets these agents, and no others but the owner, use it.
  Result<void> allowAccess(std::span<const Agent> agents) const;
  void *release();
  Result<void> free();

private:
  void *data_ = nullptr;
  size_t size_ = 0;
};

class MemoryPool : public Handle<MemoryPool, hsa_amd_memory_pool_t> {
public:
  static constexpr std::string_view kWhat = "memory pool";
  using Handle::Handle;

  Result<hsa_amd_segment_t> segment() const;
  Result<uint32_t> globalFlags() const; ///< of hsa_amd_memory_pool_global_flag_t; pools of other segments have none
  Result<size_t> size() const;
  Result<bool> allocatable() const;
  Result<size_t> granule() const;   ///< sizes are rounded up to it
  Result<size_t> alignment() const; ///< of allocations

  Result<PoolMemory> allocate(size_t bytes) const;

  static Result<void> free(void *memory);
  static Result<void> allowAccess(const void *memory, std::span<const Agent> agents);
};

/// Copies between any memory that HSA knows and the host's; the other way round as well. Waits for it.
Result<void> copyMemory(void *to, const void *from, size_t bytes);

} // namespace luthier::hsa
