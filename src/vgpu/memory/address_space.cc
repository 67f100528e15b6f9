#include "vgpu/memory/address_space.h"

#include <algorithm>

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
}

void AddressSpace::unmap(uint64_t begin, uint64_t size, DeviceMask devices) {
  if (size == 0)
    return;
  std::lock_guard lock(mutex_);
  for (uint64_t page = begin / kPageSize, last = (begin + size - 1) / kPageSize; page <= last; ++page)
    leafFor(page).pages[page % kEntries].fetch_and(static_cast<DeviceMask>(~devices), std::memory_order_relaxed);
}

} // namespace luthier::vgpu
