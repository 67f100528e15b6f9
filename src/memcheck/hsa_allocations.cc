#include "memcheck/hsa_allocations.h"

#include "hsa/wrapped_tables.h"
#include "memcheck/application_memory.h"
#include "support/log.h"

namespace luthier::memcheck {

namespace {

using hsa::ApiId;

ApplicationMemory *(*memoryOf)() = nullptr;

/// ROCr's functions.
hsa::ApiFunctions originals;

template <ApiId id, class... Args> auto call(Args... args) { return originals.get<id>()(args...); }

uint64_t addressOf(const void *pointer) { return reinterpret_cast<uint64_t>(pointer); }

/// Gives freed memory back to ROCr, as far as the quarantine is full.
void release(ApplicationMemory &memory, bool all) {
  for (const uint64_t begin : memory.release(all))
    call<ApiId::hsa_amd_memory_pool_free>(reinterpret_cast<void *>(begin));
}

/// Calls `allocate`, a second time if freed memory that was kept may have been missing.
template <class Allocate> hsa_status_t allocateWith(ApplicationMemory *memory, Allocate allocate) {
  const hsa_status_t status = allocate();
  if (status != HSA_STATUS_ERROR_OUT_OF_RESOURCES || !memory)
    return status;
  release(*memory, true);
  return allocate();
}

hsa_status_t watchedPoolAllocate(hsa_amd_memory_pool_t pool, size_t size, uint32_t flags, void **pointer) {
  ApplicationMemory *memory = memoryOf();
  const hsa_status_t status =
      allocateWith(memory, [&] { return call<ApiId::hsa_amd_memory_pool_allocate>(pool, size, flags, pointer); });
  if (status == HSA_STATUS_SUCCESS && memory)
    memory->allocated(addressOf(*pointer), size);
  return status;
}

hsa_status_t watchedMemoryAllocate(hsa_region_t region, size_t size, void **pointer) {
  ApplicationMemory *memory = memoryOf();
  const hsa_status_t status =
      allocateWith(memory, [&] { return call<ApiId::hsa_memory_allocate>(region, size, pointer); });
  if (status == HSA_STATUS_SUCCESS && memory)
    memory->allocated(addressOf(*pointer), size);
  return status;
}

template <ApiId id> hsa_status_t watchedFree(void *pointer) {
  ApplicationMemory *memory = memoryOf();
  if (!memory)
    return call<id>(pointer);
  switch (memory->freed(addressOf(pointer))) {
  case ApplicationMemory::Freed::Kept:
    release(*memory, false);
    return HSA_STATUS_SUCCESS;
  case ApplicationMemory::Freed::Again:
    return HSA_STATUS_ERROR_INVALID_ALLOCATION;
  case ApplicationMemory::Freed::Unknown:
    break;
  }
  return call<id>(pointer);
}

hsa_status_t watchedLock(void *host, size_t size, hsa_agent_t *agents, int count, void **pointer) {
  const hsa_status_t status = call<ApiId::hsa_amd_memory_lock>(host, size, agents, count, pointer);
  if (ApplicationMemory *memory = memoryOf(); memory && status == HSA_STATUS_SUCCESS)
    memory->registered(addressOf(host), addressOf(*pointer), size);
  return status;
}

hsa_status_t watchedLockToPool(void *host, size_t size, hsa_agent_t *agents, int count, hsa_amd_memory_pool_t pool,
                               uint32_t flags, void **pointer) {
  const hsa_status_t status = call<ApiId::hsa_amd_memory_lock_to_pool>(host, size, agents, count, pool, flags, pointer);
  if (ApplicationMemory *memory = memoryOf(); memory && status == HSA_STATUS_SUCCESS)
    memory->registered(addressOf(host), addressOf(*pointer), size);
  return status;
}

hsa_status_t watchedUnlock(void *host) {
  const hsa_status_t status = call<ApiId::hsa_amd_memory_unlock>(host);
  if (ApplicationMemory *memory = memoryOf(); memory && status == HSA_STATUS_SUCCESS)
    memory->unregistered(addressOf(host));
  return status;
}

hsa_status_t watchedSetAttributes(void *begin, size_t size, hsa_amd_svm_attribute_pair_t *attributes, size_t count) {
  const hsa_status_t status = call<ApiId::hsa_amd_svm_attributes_set>(begin, size, attributes, count);
  if (ApplicationMemory *memory = memoryOf(); memory && status == HSA_STATUS_SUCCESS)
    memory->managed(addressOf(begin), size);
  return status;
}

/// ROCr copies small pieces itself where the host can reach both sides.
hsa_status_t watchedCopy(void *to, const void *from, size_t size) {
  const hsa_status_t status = call<ApiId::hsa_memory_copy>(to, from, size);
  if (ApplicationMemory *memory = memoryOf(); memory && memory->onCopied && status == HSA_STATUS_SUCCESS)
    memory->onCopied(addressOf(to), addressOf(from), size);
  return status;
}

} // namespace

void watchHsaAllocations(HsaApiTable *table, ApplicationMemory *(*memory)()) {
  memoryOf = memory;
  static auto &tables = *new hsa::WrappedTables(originals); // threads may still call through it when the process exits
  hsa::ApiFunctions &wrappers = tables.wrappers();
  wrappers.set<ApiId::hsa_memory_allocate>(watchedMemoryAllocate);
  wrappers.set<ApiId::hsa_memory_free>(watchedFree<ApiId::hsa_memory_free>);
  wrappers.set<ApiId::hsa_memory_copy>(watchedCopy);
  wrappers.set<ApiId::hsa_amd_memory_pool_allocate>(watchedPoolAllocate);
  wrappers.set<ApiId::hsa_amd_memory_pool_free>(watchedFree<ApiId::hsa_amd_memory_pool_free>);
  wrappers.set<ApiId::hsa_amd_memory_lock>(watchedLock);
  wrappers.set<ApiId::hsa_amd_memory_lock_to_pool>(watchedLockToPool);
  wrappers.set<ApiId::hsa_amd_memory_unlock>(watchedUnlock);
  wrappers.set<ApiId::hsa_amd_svm_attributes_set>(watchedSetAttributes);
  if (const Result<void> installed = tables.install(table); !installed)
    return log::warn("sizes of allocations are not known: {}", installed.error().message());
  if (ApplicationMemory *current = memory())
    current->tableSeen();
}

} // namespace luthier::memcheck
