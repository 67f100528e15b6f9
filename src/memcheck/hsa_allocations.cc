#include "memcheck/hsa_allocations.h"

#include "memcheck/application_memory.h"

#include <cstddef>

namespace luthier::memcheck {

namespace {

ApplicationMemory *(*memoryOf)() = nullptr;

// ROCr's functions. They stay what they were at the first load: ROCr's table is the same each time.
decltype(::hsa_memory_allocate) *memoryAllocate = nullptr;
decltype(::hsa_memory_free) *memoryFree = nullptr;
decltype(::hsa_amd_memory_pool_allocate) *poolAllocate = nullptr;
decltype(::hsa_amd_memory_pool_free) *poolFree = nullptr;
decltype(::hsa_amd_memory_lock) *lockMemory = nullptr;
decltype(::hsa_amd_memory_lock_to_pool) *lockToPool = nullptr;
decltype(::hsa_amd_memory_unlock) *unlockMemory = nullptr;
decltype(::hsa_amd_svm_attributes_set) *setAttributes = nullptr;
decltype(::hsa_memory_copy) *copyMemory = nullptr;

uint64_t addressOf(const void *pointer) { return reinterpret_cast<uint64_t>(pointer); }

/// Gives freed memory back to ROCr, as far as the quarantine is full.
void release(ApplicationMemory &memory, bool all) {
  for (const uint64_t begin : memory.release(all))
    poolFree(reinterpret_cast<void *>(begin));
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
  const hsa_status_t status = allocateWith(memory, [&] { return poolAllocate(pool, size, flags, pointer); });
  if (status == HSA_STATUS_SUCCESS && memory)
    memory->allocated(addressOf(*pointer), size);
  return status;
}

hsa_status_t watchedMemoryAllocate(hsa_region_t region, size_t size, void **pointer) {
  ApplicationMemory *memory = memoryOf();
  const hsa_status_t status = allocateWith(memory, [&] { return memoryAllocate(region, size, pointer); });
  if (status == HSA_STATUS_SUCCESS && memory)
    memory->allocated(addressOf(*pointer), size);
  return status;
}

template <auto &Next> hsa_status_t watchedFree(void *pointer) {
  ApplicationMemory *memory = memoryOf();
  if (!memory)
    return Next(pointer);
  switch (memory->freed(addressOf(pointer))) {
  case ApplicationMemory::Freed::Kept:
    release(*memory, false);
    return HSA_STATUS_SUCCESS;
  case ApplicationMemory::Freed::Again:
    return HSA_STATUS_ERROR_INVALID_ALLOCATION;
  case ApplicationMemory::Freed::Unknown:
    break;
  }
  return Next(pointer);
}

hsa_status_t watchedLock(void *host, size_t size, hsa_agent_t *agents, int count, void **pointer) {
  const hsa_status_t status = lockMemory(host, size, agents, count, pointer);
  if (ApplicationMemory *memory = memoryOf(); memory && status == HSA_STATUS_SUCCESS)
    memory->registered(addressOf(host), addressOf(*pointer), size);
  return status;
}

hsa_status_t watchedLockToPool(void *host, size_t size, hsa_agent_t *agents, int count, hsa_amd_memory_pool_t pool,
                               uint32_t flags, void **pointer) {
  const hsa_status_t status = lockToPool(host, size, agents, count, pool, flags, pointer);
  if (ApplicationMemory *memory = memoryOf(); memory && status == HSA_STATUS_SUCCESS)
    memory->registered(addressOf(host), addressOf(*pointer), size);
  return status;
}

hsa_status_t watchedUnlock(void *host) {
  const hsa_status_t status = unlockMemory(host);
  if (ApplicationMemory *memory = memoryOf(); memory && status == HSA_STATUS_SUCCESS)
    memory->unregistered(addressOf(host));
  return status;
}

hsa_status_t watchedSetAttributes(void *begin, size_t size, hsa_amd_svm_attribute_pair_t *attributes, size_t count) {
  const hsa_status_t status = setAttributes(begin, size, attributes, count);
  if (ApplicationMemory *memory = memoryOf(); memory && status == HSA_STATUS_SUCCESS)
    memory->managed(addressOf(begin), size);
  return status;
}

/// ROCr copies small pieces itself where the host can reach both sides.
hsa_status_t watchedCopy(void *to, const void *from, size_t size) {
  const hsa_status_t status = copyMemory(to, from, size);
  if (ApplicationMemory *memory = memoryOf(); memory && memory->onCopied && status == HSA_STATUS_SUCCESS)
    memory->onCopied(addressOf(to), addressOf(from), size);
  return status;
}

/// Puts `ours` in the place of an entry, which the table may be too old to have.
template <class Table, class Function>
void replace(Table *table, Function *Table::*entry, Function *&next, Function *ours) {
  const auto offset =
      static_cast<size_t>(reinterpret_cast<const char *>(&(table->*entry)) - reinterpret_cast<const char *>(table));
  if (offset + sizeof(Function *) > table->version.minor_id || !(table->*entry))
    return;
  if (table->*entry != ours)
    next = table->*entry;
  table->*entry = ours;
}

} // namespace

void watchHsaAllocations(HsaApiTable *table, ApplicationMemory *(*memory)()) {
  memoryOf = memory;
  CoreApiTable *core = table->core_;
  AmdExtTable *amd = table->amd_ext_;
  if (!core || !amd)
    return;
  replace(core, &CoreApiTable::hsa_memory_allocate_fn, memoryAllocate, &watchedMemoryAllocate);
  replace(core, &CoreApiTable::hsa_memory_free_fn, memoryFree, &watchedFree<memoryFree>);
  replace(core, &CoreApiTable::hsa_memory_copy_fn, copyMemory, &watchedCopy);
  replace(amd, &AmdExtTable::hsa_amd_memory_pool_allocate_fn, poolAllocate, &watchedPoolAllocate);
  replace(amd, &AmdExtTable::hsa_amd_memory_pool_free_fn, poolFree, &watchedFree<poolFree>);
  replace(amd, &AmdExtTable::hsa_amd_memory_lock_fn, lockMemory, &watchedLock);
  replace(amd, &AmdExtTable::hsa_amd_memory_lock_to_pool_fn, lockToPool, &watchedLockToPool);
  replace(amd, &AmdExtTable::hsa_amd_memory_unlock_fn, unlockMemory, &watchedUnlock);
  replace(amd, &AmdExtTable::hsa_amd_svm_attributes_set_fn, setAttributes, &watchedSetAttributes);
  if (ApplicationMemory *current = memory())
    current->tableSeen();
}

} // namespace luthier::memcheck
