// What each virtual GPU may touch: the virtual GPU's page table.
//
// GPU addresses are host addresses, so a stray guest access would often land in memory that the host process can
// read. Hardware would fault; so must we. Every range that the thunk maps to a GPU is entered here, one byte per
// 4 KiB page with one bit per GPU, and every guest access is checked against it.
//
// Look-ups take no lock: they run on every wave's memory path. Mapping and unmapping are rare and serialised.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

namespace luthier::vgpu {

/// Bit n stands for the GPU with index n.
using DeviceMask = uint8_t;
inline constexpr unsigned kMaxDevices = 8;

class AddressSpace {
public:
  static constexpr uint64_t kPageSize = 4096;
  /// ROCr insists that the GPU address of registered host memory differs from its host address; the thunk sets this
  /// bit there, and every access drops it again.
  static constexpr uint64_t kUserPointerTag = 1ull << 52;

  /// Addresses that can be mapped are below.
  static constexpr uint64_t kEnd = 1ull << 48;

  AddressSpace();
  ~AddressSpace();
  AddressSpace(const AddressSpace &) = delete;
  AddressSpace &operator=(const AddressSpace &) = delete;

  /// Lets the GPUs in `devices` access all pages that [begin, begin + size) touches; others keep what they had.
  void map(uint64_t begin, uint64_t size, DeviceMask devices);
  void unmap(uint64_t begin, uint64_t size, DeviceMask devices);

  /// True when the GPUs in `device` (normally one bit) may access every byte of [address, address + size).
  [[gnu::always_inline]] bool allows(uint64_t address, uint64_t size, DeviceMask device) const {
    if (address + size < address)
      return false;
    for (uint64_t page = address / kPageSize, last = (address + size - 1) / kPageSize; page <= last; ++page)
      if ((pageMask(page) & device) != device)
        return false;
    return true;
  }

private:
  static constexpr unsigned kLevelBits = 12;
  static constexpr uint64_t kEntries = 1ull << kLevelBits;
  static_assert(kEnd == kPageSize * kEntries * kEntries * kEntries);
  struct Leaf {
    std::atomic<DeviceMask> pages[kEntries];
  };
  struct Node {
    std::atomic<Leaf *> leaves[kEntries];
  };

  [[gnu::always_inline]] DeviceMask pageMask(uint64_t page) const {
    if (page >> (3 * kLevelBits))
      return 0;
    const Node *node = root_[page >> (2 * kLevelBits)].load(std::memory_order_acquire);
    if (!node)
      return 0;
    const Leaf *leaf = node->leaves[(page >> kLevelBits) % kEntries].load(std::memory_order_acquire);
    return leaf ? leaf->pages[page % kEntries].load(std::memory_order_relaxed) : 0;
  }
  Leaf &leafFor(uint64_t page);

  std::vector<std::atomic<Node *>> root_;
  std::mutex mutex_;
};

} // namespace luthier::vgpu
