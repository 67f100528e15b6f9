// What each virtual GPU may touch: the virtual GPU's page table.
//
// GPU addresses are host addresses, so a stray guest access would often land in memory that the host process can
// read. Hardware would fault; so must we. Every range that the driver maps to a GPU is entered here, one byte per
// 4 KiB page with one bit per GPU, and every guest access is checked against it.
//
// Two kinds of pages are not in the table. Registered host memory may have a GPU address of its own (older thunks give
// it one): that is an alias, translated where the table has refused. Pageable memory is entered when it is touched:
// whoever sees a refusal asks the pager and tries again.
//
// Pages can be guarded: they stay what they are, but `allows` refuses them, so that whoever wants to look at single
// bytes of them (wave/memory_check.h) sees every access. All other pages cost what they did.
//
// Look-ups take no lock: they run on every wave's memory path. Mapping and unmapping are rare and serialised.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <vector>

namespace luthier::vgpu {

/// Bit n stands for the GPU with index n.
using DeviceMask = uint8_t;
inline constexpr unsigned kMaxDevices = 8;

class AddressSpace {
public:
  static constexpr uint64_t kPageSize = 4096;
  /// Addresses that can be mapped are below.
  static constexpr uint64_t kEnd = 1ull << 48;

  AddressSpace();
  ~AddressSpace();
  AddressSpace(const AddressSpace &) = delete;
  AddressSpace &operator=(const AddressSpace &) = delete;

  /// Lets the GPUs in `devices` access all pages that [begin, begin + size) touches; others keep what they had.
  void map(uint64_t begin, uint64_t size, DeviceMask devices);
  void unmap(uint64_t begin, uint64_t size, DeviceMask devices);

  /// Makes `allows` refuse all pages that [begin, begin + size) touches, mapped or not, until the guard is taken away.
  void guard(uint64_t begin, uint64_t size);
  void unguard(uint64_t begin, uint64_t size);
  /// Whether any page of the range is guarded.
  bool guarded(uint64_t begin, uint64_t size) const;

  /// True when the GPUs in `device` (normally one bit) may access every byte of [address, address + size), guarded or
  /// not. For whoever is not a wave: guards are not meant for it.
  bool mapped(uint64_t address, uint64_t size, DeviceMask device) const;

  /// The same for pages that are not guarded, as fast as can be.
  [[gnu::always_inline]] bool allows(uint64_t address, uint64_t size, DeviceMask device) const {
    if (address + size < address)
      return false;
    for (uint64_t page = address / kPageSize, last = (address + size - 1) / kPageSize; page <= last; ++page)
      if ((pageMask(page) & device) != device)
        return false;
    return true;
  }

  /// Lets the GPUs in `devices` access host memory at `host` by the address `begin`. `host` itself must be mapped too.
  void mapAlias(uint64_t begin, uint64_t size, uint64_t host, DeviceMask devices);
  void unmapAlias(uint64_t begin, DeviceMask devices);

  /// Called for a byte that is not mapped: true when it is now. Set once, before any GPU runs.
  std::function<bool(uint64_t address, DeviceMask device)> pager;

  /// The slow way of `mapped`: also true for aliases, of which `address` becomes the host's, and for what the pager
  /// brings in.
  bool resolve(uint64_t &address, uint64_t size, DeviceMask device) const;

private:
  uint64_t aliasOf(uint64_t address, uint64_t size, DeviceMask device) const;

  struct Alias {
    uint64_t end, host;
    DeviceMask devices;
  };

  static constexpr unsigned kLevelBits = 12;
  static constexpr uint64_t kEntries = 1ull << kLevelBits;
  static_assert(kEnd == kPageSize * kEntries * kEntries * kEntries);
  /// What is known of guarded pages.
  struct Hidden {
    static constexpr uint16_t kGuarded = 0x100;
    std::atomic<uint16_t> pages[kEntries]; ///< kGuarded, and the GPUs that may access the page; 0: not guarded
  };
  struct Leaf {
    std::atomic<DeviceMask> pages[kEntries];
    std::atomic<Hidden *> hidden; ///< null: no page was ever guarded
    ~Leaf() { delete hidden.load(); }
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
  const Leaf *leafOf(uint64_t page) const;
  Leaf &leafFor(uint64_t page);
  template <typename Change> void changePages(uint64_t begin, uint64_t size, Change change);

  std::vector<std::atomic<Node *>> root_;
  std::mutex mutex_;
  mutable std::shared_mutex aliasMutex_;
  std::map<uint64_t, Alias> aliases_; ///< by first address; they do not overlap
};

} // namespace luthier::vgpu
