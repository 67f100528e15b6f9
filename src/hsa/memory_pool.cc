#include "hsa/memory_pool.h"

#include "hsa/agent.h"

namespace luthier::hsa {

namespace {
constexpr ApiId kPoolInfo = ApiId::hsa_amd_memory_pool_get_info;
}

PoolMemory &PoolMemory::operator=(PoolMemory &&other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

PoolMemory::~PoolMemory() {
  if (auto freed = free(); !freed)
    log::warn("{}", freed.error().message());
}

Result<void> PoolMemory::allowAccess(std::span<const Agent> agents) const {
  return MemoryPool::allowAccess(data_, agents);
}

void *PoolMemory::release() {
  size_ = 0;
  return std::exchange(data_, nullptr);
}

Result<void> PoolMemory::free() { return data_ ? MemoryPool::free(release()) : Result<void>(); }

Result<hsa_amd_segment_t> MemoryPool::segment() const {
  return info<kPoolInfo, hsa_amd_segment_t>(HSA_AMD_MEMORY_POOL_INFO_SEGMENT);
}

Result<uint32_t> MemoryPool::globalFlags() const {
  if (LUTHIER_TRY(segment()) != HSA_AMD_SEGMENT_GLOBAL)
    return 0u;
  return info<kPoolInfo, uint32_t>(HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS);
}

Result<size_t> MemoryPool::size() const { return info<kPoolInfo, size_t>(HSA_AMD_MEMORY_POOL_INFO_SIZE); }
Result<bool> MemoryPool::allocatable() const {
  return info<kPoolInfo, bool>(HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED);
}
Result<size_t> MemoryPool::granule() const {
  return info<kPoolInfo, size_t>(HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_GRANULE);
}
Result<size_t> MemoryPool::alignment() const {
  return info<kPoolInfo, size_t>(HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALIGNMENT);
}
Result<PoolMemory> MemoryPool::allocate(size_t bytes) const {
  void *memory = nullptr;
  LUTHIER_TRY(invoke<ApiId::hsa_amd_memory_pool_allocate>(bytes, 0u, &memory));
  return PoolMemory(memory, bytes);
}

Result<void> MemoryPool::free(void *memory) { return call<ApiId::hsa_amd_memory_pool_free>(memory); }

Result<void> MemoryPool::allowAccess(const void *memory, std::span<const Agent> agents) {
  std::vector<hsa_agent_t> raw;
  for (const Agent agent : agents)
    raw.push_back(agent.raw());
  return call<ApiId::hsa_amd_agents_allow_access>(static_cast<uint32_t>(raw.size()), raw.data(), nullptr, memory);
}

Result<void> copyMemory(void *to, const void *from, size_t bytes) {
  return call<ApiId::hsa_memory_copy>(to, from, bytes);
}

} // namespace luthier::hsa
