// Shared virtual memory: the application's own pages, which GPUs may access by the host's addresses.
//
// The thunk says which ranges which GPU may access, and never that a range is over: the kernel driver watches the
// host's page tables. Here, pages enter a GPU's page table when a kernel touches them, after a look whether the host
// still has them, and all of them leave it when the next kernel starts. With XNACK on, GPUs may access whatever the
// host can.
#pragma once

#include "vgpu/driver/kfd_abi.h"
#include "vgpu/memory/address_space.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <vector>

namespace luthier::vgpu {

class SharedMemory {
public:
  /// `gpuIds[n]` is KFD's name of GPU n.
  SharedMemory(AddressSpace &space, std::vector<uint32_t> gpuIds);

  // 0 or an errno value.
  int set(uint64_t start, uint64_t size, std::span<const kfd::SvmAttribute> attributes);
  int get(uint64_t start, uint64_t size, std::span<kfd::SvmAttribute> attributes);

  void setXnack(bool on) { xnack_.store(on); }
  bool xnack() const { return xnack_.load(); }

  /// Lets the GPUs in `device` access the page of `address`, and those around it, if they may and there are any.
  bool pageIn(uint64_t address, DeviceMask device);
  /// These addresses are a buffer's now, and stay whatever happens to pages.
  void disown(uint64_t begin, uint64_t size);
  /// Pages must be looked for anew: the host may have changed its mind.
  void forgetPages();

private:
  struct Attributes {
    DeviceMask access = 0, inPlace = 0, denied = 0;
    uint32_t preferred = kfd::kSvmUndefined, prefetched = kfd::kSvmUndefined;
    uint32_t flags = 0x1 | 0x2; ///< the driver's defaults: host access, coherent
    uint32_t granularity = 9;
    bool operator==(const Attributes &) const = default;
  };
  struct Range {
    uint64_t end = 0;
    Attributes attributes;
  };
  using Ranges = std::map<uint64_t, Range>;

  bool validLocation(uint32_t value) const;
  bool maskOf(uint32_t gpuId, DeviceMask &mask) const;
  void split(uint64_t at);
  bool allows(const Attributes &attributes, DeviceMask device) const;

  AddressSpace &space_;
  const std::vector<uint32_t> gpuIds_;
  std::atomic<bool> xnack_{false};
  std::atomic<bool> hasPages_{false};
  std::mutex mutex_;
  Ranges ranges_; ///< by start
  struct Pages {
    uint64_t begin, size;
    DeviceMask devices;
  };
  std::vector<Pages> pages_; ///< entered in the address space
};

} // namespace luthier::vgpu
