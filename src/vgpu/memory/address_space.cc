#include "vgpu/memory/address_space.h"

#include "vgpu/memory/guest_access.h"

#include <iterator>

namespace luthier::vgpu {

AddressSpace::AddressSpace() : root_(kEntries) {}

AddressSpace::~AddressSpace() {
  for (auto &slot : root_) {
    Node *node = slot.load();
    if (!node)
      continue;
    for (auto &leaf : node->leaves)
      delete leaf.load();
    delete node;
  }
}

AddressSpace::Leaf &AddressSpace::leafFor(uint64_t page) {
  auto &slot = root_[page >> (2 * kLevelBits)];
  Node *node = slot.load(std::memory_order_relaxed);
  if (!node) {
    node = new Node();
    slot.store(node, std::memory_order_release);
  }
  auto &leafSlot = node->leaves[(page >> kLevelBits) % kEntries];
  Leaf *leaf = leafSlot.load(std::memory_order_relaxed);
  if (!leaf) {
    leaf = new Leaf();
    leafSlot.store(leaf, std::memory_order_release);
  }
  return *leaf;
}

void AddressSpace::map(uint64_t begin, uint64_t size, DeviceMask devices) {
  if (size == 0)
    return;
  std::lock_guard lock(mutex_);
  for (uint64_t page = begin / kPageSize, last = (begin + size - 1) / kPageSize; page <= last; ++page)
    leafFor(page).pages[page % kEntries].fetch_or(devices, std::memory_order_relaxed);
  publishMappings(this);
}

void AddressSpace::unmap(uint64_t begin, uint64_t size, DeviceMask devices) {
  if (size == 0)
    return;
  std::lock_guard lock(mutex_);
  for (uint64_t page = begin / kPageSize, last = (begin + size - 1) / kPageSize; page <= last; ++page)
    leafFor(page).pages[page % kEntries].fetch_and(static_cast<DeviceMask>(~devices), std::memory_order_relaxed);
}

void AddressSpace::mapAlias(uint64_t begin, uint64_t size, uint64_t host, DeviceMask devices) {
  std::lock_guard lock(aliasMutex_);
  auto [at, isNew] = aliases_.try_emplace(begin, Alias{begin + size, host, 0});
  at->second.devices |= devices;
}

void AddressSpace::unmapAlias(uint64_t begin, DeviceMask devices) {
  std::lock_guard lock(aliasMutex_);
  const auto found = aliases_.find(begin);
  if (found == aliases_.end())
    return;
  found->second.devices &= static_cast<DeviceMask>(~devices);
  if (!found->second.devices)
    aliases_.erase(found);
}

bool AddressSpace::resolve(uint64_t &address, uint64_t size, DeviceMask device) const {
  if (address + size < address)
    return false;
  if (const uint64_t host = aliasOf(address, size, device)) {
    address = host;
    return true;
  }
  if (!pager)
    return allows(address, size, device);
  for (uint64_t at = address; at < address + size; at = (at / kPageSize + 1) * kPageSize)
    if (!allows(at, 1, device) && !pager(at, device))
      return false;
  return true;
}

/// The host address of an access to an alias; 0 for anything else.
uint64_t AddressSpace::aliasOf(uint64_t address, uint64_t size, DeviceMask device) const {
  std::shared_lock lock(aliasMutex_);
  auto after = aliases_.upper_bound(address);
  if (after == aliases_.begin())
    return 0;
  const auto &[begin, alias] = *std::prev(after);
  if (address >= alias.end || size > alias.end - address || (alias.devices & device) != device)
    return 0;
  return alias.host + (address - begin);
}

} // namespace luthier::vgpu
