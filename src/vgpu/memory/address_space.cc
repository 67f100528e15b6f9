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

const AddressSpace::Leaf *AddressSpace::leafOf(uint64_t page) const {
  if (page >> (3 * kLevelBits))
    return nullptr;
  const Node *node = root_[page >> (2 * kLevelBits)].load(std::memory_order_acquire);
  return node ? node->leaves[(page >> kLevelBits) % kEntries].load(std::memory_order_acquire) : nullptr;
}

/// Calls `change(leaf, hidden, entry)` for each page of the range, under the lock: `hidden` may be null, `entry` is the
/// page's in both tables.
template <typename Change> void AddressSpace::changePages(uint64_t begin, uint64_t size, Change change) {
  if (size == 0)
    return;
  std::lock_guard lock(mutex_);
  for (uint64_t page = begin / kPageSize, last = (begin + size - 1) / kPageSize; page <= last; ++page) {
    Leaf &leaf = leafFor(page);
    change(leaf, leaf.hidden.load(std::memory_order_relaxed), page % kEntries);
  }
}

void AddressSpace::map(uint64_t begin, uint64_t size, DeviceMask devices) {
  changePages(begin, size, [&](Leaf &leaf, Hidden *hidden, uint64_t entry) {
    if (hidden && hidden->pages[entry].load(std::memory_order_relaxed))
      hidden->pages[entry].fetch_or(devices, std::memory_order_relaxed);
    else
      leaf.pages[entry].fetch_or(devices, std::memory_order_relaxed);
  });
  if (size)
    publishMappings(this);
}

void AddressSpace::unmap(uint64_t begin, uint64_t size, DeviceMask devices) {
  changePages(begin, size, [&](Leaf &leaf, Hidden *hidden, uint64_t entry) {
    leaf.pages[entry].fetch_and(static_cast<DeviceMask>(~devices), std::memory_order_relaxed);
    if (hidden)
      hidden->pages[entry].fetch_and(static_cast<uint16_t>(~uint16_t{devices}), std::memory_order_relaxed);
  });
}

void AddressSpace::guard(uint64_t begin, uint64_t size) {
  changePages(begin, size, [](Leaf &leaf, Hidden *hidden, uint64_t entry) {
    if (!hidden)
      leaf.hidden.store(hidden = new Hidden(), std::memory_order_release);
    if (hidden->pages[entry].load(std::memory_order_relaxed))
      return;
    // Known before it is refused: `mapped` may be looking.
    hidden->pages[entry].store(Hidden::kGuarded | leaf.pages[entry].load(std::memory_order_relaxed),
                               std::memory_order_release);
    leaf.pages[entry].store(0, std::memory_order_release);
  });
}

void AddressSpace::unguard(uint64_t begin, uint64_t size) {
  changePages(begin, size, [](Leaf &leaf, Hidden *hidden, uint64_t entry) {
    const uint16_t known = hidden ? hidden->pages[entry].load(std::memory_order_relaxed) : uint16_t{0};
    if (!known)
      return;
    leaf.pages[entry].store(static_cast<DeviceMask>(known), std::memory_order_release);
    hidden->pages[entry].store(0, std::memory_order_release);
  });
}

bool AddressSpace::guarded(uint64_t begin, uint64_t size) const {
  for (uint64_t page = begin / kPageSize, last = (begin + size - 1) / kPageSize; page <= last; ++page)
    if (const Leaf *leaf = leafOf(page))
      if (const Hidden *hidden = leaf->hidden.load(std::memory_order_acquire))
        if (hidden->pages[page % kEntries].load(std::memory_order_acquire))
          return true;
  return false;
}

bool AddressSpace::mapped(uint64_t address, uint64_t size, DeviceMask device) const {
  if (address + size < address)
    return false;
  for (uint64_t page = address / kPageSize, last = (address + size - 1) / kPageSize; page <= last; ++page) {
    if ((pageMask(page) & device) == device)
      continue;
    const Leaf *leaf = leafOf(page);
    const Hidden *hidden = leaf ? leaf->hidden.load(std::memory_order_acquire) : nullptr;
    const uint16_t known = hidden ? hidden->pages[page % kEntries].load(std::memory_order_acquire) : uint16_t{0};
    // A guard that was taken away since has put the page back where it was.
    if ((known & device) != device && (pageMask(page) & device) != device)
      return false;
  }
  return true;
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
    return mapped(address, size, device);
  for (uint64_t at = address; at < address + size; at = (at / kPageSize + 1) * kPageSize)
    if (!mapped(at, 1, device) && !pager(at, device))
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
