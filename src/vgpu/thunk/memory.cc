#include "vgpu/thunk/memory.h"

#include "support/log.h"

#include <algorithm>
#include <sys/mman.h>

namespace luthier::vgpu {

namespace {

constexpr uint64_t kPage = AddressSpace::kPageSize;
constexpr int kReserveFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

uint64_t alignUp(uint64_t value, uint64_t alignment) { return (value + alignment - 1) / alignment * alignment; }

uint64_t pageSizeOf(HsaMemFlags flags) {
  switch (flags.ui32.PageSize) {
  case HSA_PAGE_SIZE_64KB:
    return 64ull << 10;
  case HSA_PAGE_SIZE_2MB:
    return 2ull << 20;
  case HSA_PAGE_SIZE_1GB:
    return 1ull << 30;
  default:
    return kPage;
  }
}

/// Whether all that a caller asks for can be had. Caching, placement and granularity make no difference here.
bool checkFlags(const char *function, HsaMemFlags flags) {
  if (flags.ui32.ReadOnly)
    log::error("vgpu: {}: ReadOnly in the flags {:#x} is not supported", function, flags.Value);
  if (flags.ui32.Reserved)
    log::error("vgpu: {}: reserved bits in the flags {:#x} are {:#x}; expected 0", function, flags.Value,
               static_cast<uint32_t>(flags.ui32.Reserved));
  return !flags.ui32.ReadOnly && !flags.ui32.Reserved;
}

} // namespace

uint64_t MemoryManager::Object::pageBytes() const { return alignUp(start + size, kPage) - pageBegin(); }

MemoryManager::MemoryManager(AddressSpace &space, uint64_t hostBytes, std::vector<uint64_t> gpuBytes)
    : space_(space), hostBytes_(hostBytes), gpuBytes_(std::move(gpuBytes)), used_(gpuBytes_.size() + 1) {}

MemoryManager::~MemoryManager() {
  for (auto &[address, object] : owned_) {
    space_.unmap(object->start, object->size, allDevices());
    munmap(object->reservation, object->reservedBytes);
  }
}

bool MemoryManager::maskOf(std::span<const uint32_t> nodes, DeviceMask &mask) const {
  mask = 0;
  for (uint32_t node : nodes) {
    if (node == 0 || !validNode(node))
      return false;
    mask |= static_cast<DeviceMask>(1u << (node - 1));
  }
  return true;
}

// Alignment beyond a page is had by reserving more and giving the surplus back.
HSAKMT_STATUS MemoryManager::reserve(Object &object, uint64_t fixedAddress) {
  const uint64_t alignment = pageSizeOf(object.flags);
  uint64_t begin;
  if (fixedAddress != 0) {
    void *at = mmap(reinterpret_cast<void *>(fixedAddress), object.size, PROT_READ | PROT_WRITE,
                    kReserveFlags | MAP_FIXED_NOREPLACE, -1, 0);
    if (at == MAP_FAILED)
      return HSAKMT_STATUS_NO_MEMORY;
    begin = reinterpret_cast<uint64_t>(at);
    object.reservation = at;
    object.reservedBytes = object.size;
  } else {
    const uint64_t slack = alignment > kPage ? alignment : 0;
    const uint64_t bytes = object.size + 2 * kPage + slack;
    void *at = mmap(nullptr, bytes, PROT_NONE, kReserveFlags, -1, 0);
    if (at == MAP_FAILED)
      return HSAKMT_STATUS_NO_MEMORY;
    const uint64_t first = reinterpret_cast<uint64_t>(at);
    begin = alignUp(first + kPage, alignment);
    if (begin - kPage > first)
      munmap(at, begin - kPage - first);
    const uint64_t end = begin + object.size + kPage;
    if (end < first + bytes)
      munmap(reinterpret_cast<void *>(end), first + bytes - end);
    object.reservation = reinterpret_cast<void *>(begin - kPage);
    object.reservedBytes = object.size + 2 * kPage;
    if (mprotect(reinterpret_cast<void *>(begin), object.size, PROT_READ | PROT_WRITE) != 0) {
      munmap(object.reservation, object.reservedBytes);
      return HSAKMT_STATUS_NO_MEMORY;
    }
  }
  object.start = begin;
  return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS MemoryManager::allocate(uint32_t node, uint64_t size, HsaMemFlags flags, void **address) {
  if (!validNode(node))
    return HSAKMT_STATUS_INVALID_NODE_UNIT;
  if (!address || size == 0 || size % pageSizeOf(flags) != 0 || (flags.ui32.FixedAddress && !*address))
    return HSAKMT_STATUS_INVALID_PARAMETER;
  if (flags.ui32.GDSMemory || (flags.ui32.Scratch && node == 0))
    return HSAKMT_STATUS_NOT_SUPPORTED;
  if (!checkFlags("hsaKmtAllocMemory", flags))
    return HSAKMT_STATUS_NOT_SUPPORTED;
  const uint64_t fixedAddress = flags.ui32.FixedAddress ? reinterpret_cast<uint64_t>(*address) : 0;
  *address = nullptr;

  auto object = std::make_unique<Object>();
  if (flags.ui32.Scratch)
    object->kind = Object::Kind::ScratchPool;
  else if (node == 0 || !flags.ui32.NonPaged)
    object->kind = Object::Kind::System; // pageable memory "of a GPU" is host memory
  else
    object->kind = Object::Kind::Local;
  object->node = node;
  object->size = size;
  object->flags = flags;

  std::lock_guard lock(mutex_);
  const bool local = object->kind == Object::Kind::Local;
  const bool counted = object->kind != Object::Kind::ScratchPool;
  uint64_t &used = used_[local ? node : 0];
  const uint64_t limit = local ? gpuBytes_[node - 1] : hostBytes_;
  if (counted && (size > limit || used > limit - size))
    return HSAKMT_STATUS_NO_MEMORY;
  if (HSAKMT_STATUS status = reserve(*object, fixedAddress); status != HSAKMT_STATUS_SUCCESS)
    return status;
  if (counted)
    used += size;
  *address = reinterpret_cast<void *>(object->start);
  const uint64_t start = object->start;
  owned_.emplace(start, std::move(object));
  return HSAKMT_STATUS_SUCCESS;
}

void *MemoryManager::allocateInternal(uint64_t size, uint64_t alignment) {
  size = alignUp(size, kPage);
  const uint64_t bytes = size + alignment + kPage;
  void *at = mmap(nullptr, bytes, PROT_NONE, kReserveFlags, -1, 0);
  if (at == MAP_FAILED)
    return nullptr;
  const uint64_t begin = alignUp(reinterpret_cast<uint64_t>(at) + kPage, alignment);
  if (mprotect(reinterpret_cast<void *>(begin), size, PROT_READ | PROT_WRITE) != 0)
    return nullptr;
  space_.map(begin, size, allDevices());
  return reinterpret_cast<void *>(begin);
}

HSAKMT_STATUS MemoryManager::release(void *pointer) {
  bool codeGone = false;
  {
    std::lock_guard lock(mutex_);
    auto found = findOwned(reinterpret_cast<uint64_t>(pointer));
    if (found == owned_.end())
      return HSAKMT_STATUS_MEMORY_NOT_REGISTERED;
    Object &object = *found->second;
    space_.unmap(object.start, object.size, allDevices());
    if (object.kind == Object::Kind::ScratchPool)
      scratchMaps_.erase(scratchMaps_.lower_bound(object.start), scratchMaps_.lower_bound(object.start + object.size));
    else
      used_[object.kind == Object::Kind::Local ? object.node : 0] -= object.size;
    munmap(object.reservation, object.reservedBytes);
    codeGone = object.flags.ui32.ExecuteAccess;
    owned_.erase(found);
  }
  if (codeGone && onCodeGone)
    onCodeGone();
  return HSAKMT_STATUS_SUCCESS;
}

MemoryManager::Objects::iterator MemoryManager::findOwned(uint64_t address) { return owned_.find(address); }

// Several registrations may start at one address. Without a size, the latest one is meant.
MemoryManager::Objects::iterator MemoryManager::findUser(uint64_t address, uint64_t size) {
  auto best = users_.end();
  auto [first, last] = users_.equal_range(address & ~AddressSpace::kUserPointerTag);
  for (auto it = first; it != last; ++it)
    if ((size == 0 || it->second->size == size) && (best == users_.end() || it->second->order > best->second->order))
      best = it;
  return best;
}

MemoryManager::Object *MemoryManager::findExact(uint64_t address, uint64_t size) {
  if (auto user = findUser(address, size); user != users_.end())
    return user->second.get();
  auto owned = findOwned(address & ~(kPage - 1));
  return owned == owned_.end() ? nullptr : owned->second.get();
}

MemoryManager::Object *MemoryManager::findContaining(uint64_t address) {
  const uint64_t plain = address & ~AddressSpace::kUserPointerTag;
  for (auto it = users_.begin(); it != users_.end() && it->first <= plain; ++it)
    if (plain < it->second->start + it->second->size)
      return it->second.get();
  auto after = owned_.upper_bound(plain);
  if (after == owned_.begin())
    return nullptr;
  Object *object = std::prev(after)->second.get();
  return plain < object->start + object->size ? object : nullptr;
}

MemoryManager::Object *MemoryManager::scratchPoolOf(uint64_t address) {
  auto after = owned_.upper_bound(address);
  if (after == owned_.begin())
    return nullptr;
  Object *object = std::prev(after)->second.get();
  return object->kind == Object::Kind::ScratchPool && address < object->start + object->size ? object : nullptr;
}

HSAKMT_STATUS MemoryManager::registerUser(void *pointer, uint64_t size, HsaMemFlags flags,
                                          std::span<const uint32_t> nodes) {
  const uint64_t address = reinterpret_cast<uint64_t>(pointer);
  DeviceMask mask;
  if (!address || size == 0 || !maskOf(nodes, mask))
    return HSAKMT_STATUS_INVALID_PARAMETER;
  if (address >= AddressSpace::kEnd || size > AddressSpace::kEnd - address)
    return HSAKMT_STATUS_INVALID_PARAMETER;
  if (!checkFlags("hsaKmtRegisterMemory", flags))
    return HSAKMT_STATUS_NOT_SUPPORTED;
  if (gpuBytes_.empty())
    return HSAKMT_STATUS_ERROR;
  std::lock_guard lock(mutex_);
  Object *object = findExact(address, size);
  if (object && object->kind == Object::Kind::User) {
    ++object->registerCount;
  } else if (!object) {
    auto made = std::make_unique<Object>();
    made->kind = Object::Kind::User;
    made->start = address;
    made->size = size;
    made->node = 1;
    made->flags = flags;
    made->registerCount = 1;
    made->order = ++nextOrder_;
    object = made.get();
    users_.emplace(address, std::move(made));
  }
  if (!object->registeredNodes.empty() && !nodes.empty() && !std::ranges::equal(object->registeredNodes, nodes))
    return HSAKMT_STATUS_MEMORY_ALREADY_REGISTERED;
  if (!nodes.empty())
    object->registeredNodes.assign(nodes.begin(), nodes.end());
  return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS MemoryManager::deregister(void *pointer) {
  std::lock_guard lock(mutex_);
  const uint64_t address = reinterpret_cast<uint64_t>(pointer);
  if (auto user = findUser(address, 0); user != users_.end()) {
    Object &object = *user->second;
    if (--object.registerCount > 0)
      return HSAKMT_STATUS_SUCCESS;
    setMapped(object, 0);
    users_.erase(user);
    return HSAKMT_STATUS_SUCCESS;
  }
  auto owned = findOwned(address);
  if (owned == owned_.end() || owned->second->registeredNodes.empty())
    return HSAKMT_STATUS_MEMORY_NOT_REGISTERED;
  owned->second->registeredNodes.clear();
  return HSAKMT_STATUS_SUCCESS;
}

// A page may belong to several registrations, or to memory that we allocated; it goes away with the last of them.
void MemoryManager::unmapUserPages(const Object &object, DeviceMask devices) {
  const uint64_t end = object.pageBegin() + object.pageBytes();
  for (uint32_t gpu = 0; gpu < gpuBytes_.size(); ++gpu) {
    const auto bit = static_cast<DeviceMask>(1u << gpu);
    if (!(devices & bit))
      continue;
    std::vector<std::pair<uint64_t, uint64_t>> kept;
    for (const Objects *objects : {&users_, &owned_})
      for (auto it = objects->begin(); it != objects->end() && it->first < end; ++it) {
        const Object &other = *it->second;
        if (&other != &object && (other.mapped & bit) && other.pageBegin() + other.pageBytes() > object.pageBegin())
          kept.emplace_back(other.pageBegin(), other.pageBegin() + other.pageBytes());
      }
    std::ranges::sort(kept);
    uint64_t at = object.pageBegin();
    for (auto [begin, last] : kept) {
      if (begin > at)
        space_.unmap(at, begin - at, bit);
      at = std::max(at, last);
    }
    if (at < end)
      space_.unmap(at, end - at, bit);
  }
}

void MemoryManager::setMapped(Object &object, DeviceMask mapped) {
  const auto gone = static_cast<DeviceMask>(object.mapped & ~mapped);
  const auto added = static_cast<DeviceMask>(mapped & ~object.mapped);
  object.mapped = mapped;
  if (gone && object.kind == Object::Kind::User)
    unmapUserPages(object, gone);
  else if (gone)
    space_.unmap(object.start, object.size, gone);
  if (added)
    space_.map(object.pageBegin(), object.pageBytes(), added);
  object.mappedNodes.clear();
  for (uint32_t gpu = 0; gpu < gpuBytes_.size(); ++gpu)
    if (mapped & (1u << gpu))
      object.mappedNodes.push_back(gpu + 1);
}

HSAKMT_STATUS MemoryManager::mapUser(Object &object, uint64_t address, uint64_t *alternate) {
  if (object.mapCount++ == 0) {
    DeviceMask devices = allDevices();
    if (!object.registeredNodes.empty())
      maskOf(object.registeredNodes, devices);
    setMapped(object, devices);
  }
  if (alternate)
    *alternate = object.start | AddressSpace::kUserPointerTag;
  return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS MemoryManager::mapToAll(void *pointer, uint64_t size, uint64_t *alternate) {
  const uint64_t address = reinterpret_cast<uint64_t>(pointer);
  if (alternate)
    *alternate = 0;
  std::lock_guard lock(mutex_);
  if (Object *pool = scratchPoolOf(address))
    return mapScratch(*pool, address, size);
  Object *object = findExact(address, size);
  if (!object)
    return HSAKMT_STATUS_ERROR;
  if (object->kind == Object::Kind::User)
    return mapUser(*object, address, alternate);
  DeviceMask devices = allDevices();
  if (!object->registeredNodes.empty())
    maskOf(object->registeredNodes, devices);
  object->mapCount = 1;
  setMapped(*object, object->mapped | devices);
  return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS MemoryManager::mapToNodes(void *pointer, uint64_t size, std::span<const uint32_t> nodes,
                                        uint64_t *alternate) {
  const uint64_t address = reinterpret_cast<uint64_t>(pointer);
  if (alternate)
    *alternate = 0;
  DeviceMask devices;
  if (!address || nodes.empty())
    return HSAKMT_STATUS_INVALID_PARAMETER;
  if (!maskOf(nodes, devices))
    return HSAKMT_STATUS_INVALID_NODE_UNIT;
  std::lock_guard lock(mutex_);
  Object *object = findExact(address, size);
  if (!object)
    return HSAKMT_STATUS_ERROR;
  if (object->kind == Object::Kind::User)
    return mapUser(*object, address, alternate);
  if (object->kind == Object::Kind::ScratchPool)
    return mapScratch(*object, address, size);
  DeviceMask registered = allDevices();
  if (!object->registeredNodes.empty())
    maskOf(object->registeredNodes, registered);
  if (devices & ~registered)
    return HSAKMT_STATUS_ERROR;
  object->mapCount = 1;
  setMapped(*object, devices);
  return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS MemoryManager::mapScratch(Object &pool, uint64_t address, uint64_t size) {
  if (size == 0 || address % kPage || size % kPage || address + size > pool.start + pool.size)
    return HSAKMT_STATUS_ERROR;
  scratchMaps_[address] = size;
  space_.map(address, size, static_cast<DeviceMask>(1u << (pool.node - 1)));
  return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS MemoryManager::unmapScratch(Object &pool, uint64_t address) {
  auto found = scratchMaps_.find(address);
  if (found == scratchMaps_.end())
    return HSAKMT_STATUS_ERROR;
  space_.unmap(address, found->second, static_cast<DeviceMask>(1u << (pool.node - 1)));
  madvise(reinterpret_cast<void *>(address), found->second, MADV_DONTNEED);
  scratchMaps_.erase(found);
  return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS MemoryManager::unmapLocked(uint64_t address, bool &codeGone) {
  if (Object *pool = scratchPoolOf(address))
    return unmapScratch(*pool, address);
  Object *object = findExact(address, 0);
  if (!object)
    return HSAKMT_STATUS_ERROR;
  if (object->kind == Object::Kind::User && object->mapCount > 1) {
    --object->mapCount;
    return HSAKMT_STATUS_SUCCESS;
  }
  object->mapCount = 0;
  codeGone = object->mapped && object->flags.ui32.ExecuteAccess;
  setMapped(*object, 0);
  return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS MemoryManager::unmap(void *pointer) {
  bool codeGone = false;
  HSAKMT_STATUS status;
  {
    std::lock_guard lock(mutex_);
    status = unmapLocked(reinterpret_cast<uint64_t>(pointer), codeGone);
  }
  if (codeGone && onCodeGone)
    onCodeGone();
  return status;
}

HSAKMT_STATUS MemoryManager::query(const void *pointer, HsaPointerInfo *info) {
  if (!info)
    return HSAKMT_STATUS_INVALID_PARAMETER;
  *info = {};
  std::lock_guard lock(mutex_);
  Object *object = findContaining(reinterpret_cast<uint64_t>(pointer));
  if (!object || object->kind == Object::Kind::ScratchPool)
    return HSAKMT_STATUS_ERROR;
  const bool user = object->kind == Object::Kind::User;
  info->Type = user ? HSA_POINTER_REGISTERED_USER : HSA_POINTER_ALLOCATED;
  info->Node = object->node;
  info->MemFlags = object->flags;
  info->CPUAddress = reinterpret_cast<void *>(object->start);
  info->GPUAddress = user ? object->start | AddressSpace::kUserPointerTag : object->start;
  info->SizeInBytes = object->size;
  info->NRegisteredNodes = static_cast<HSAuint32>(object->registeredNodes.size());
  info->RegisteredNodes = object->registeredNodes.data();
  info->NMappedNodes = static_cast<HSAuint32>(object->mappedNodes.size());
  info->MappedNodes = object->mappedNodes.data();
  info->UserData = object->userData;
  return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS MemoryManager::setUserData(const void *pointer, void *userData) {
  std::lock_guard lock(mutex_);
  Object *object = findExact(reinterpret_cast<uint64_t>(pointer), 0);
  if (!object)
    return HSAKMT_STATUS_ERROR;
  object->userData = userData;
  return HSAKMT_STATUS_SUCCESS;
}

uint64_t MemoryManager::used(uint32_t node) {
  std::lock_guard lock(mutex_);
  return used_.at(node);
}

} // namespace luthier::vgpu
