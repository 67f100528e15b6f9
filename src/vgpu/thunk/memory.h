// Memory that GPUs can reach: allocations, registered host memory, and which GPU may access what.
//
// GPU addresses are host addresses. Everything is reserved with mmap and committed by the host kernel when touched, so
// a virtual GPU of 16 GiB costs nothing until used; sizes are accounted for so that an allocation fails where it would
// on hardware. Each allocation has an inaccessible page on either side. Only what is mapped to a GPU is entered in the
// AddressSpace, which is what guest accesses are checked against.
//
// Which calls map what to whom follows the original thunk: hsaKmtMapMemoryToGPU maps to all GPUs (scratch: to its
// owner), hsaKmtMapMemoryToGPUNodes makes the given nodes the only ones, and registered host memory always maps to all
// GPUs, counted.
#pragma once

#include "vgpu/memory/address_space.h"

#include <hsakmttypes.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace luthier::vgpu {

class MemoryManager {
public:
  /// Node 0 is the host with `hostBytes` of memory; node n + 1 is GPU n with `gpuBytes[n]`.
  MemoryManager(AddressSpace &space, uint64_t hostBytes, std::vector<uint64_t> gpuBytes);
  ~MemoryManager();
  MemoryManager(const MemoryManager &) = delete;
  MemoryManager &operator=(const MemoryManager &) = delete;

  /// Called after executable memory was freed or unmapped, without locks held.
  std::function<void()> onCodeGone;

  HSAKMT_STATUS allocate(uint32_t node, uint64_t size, HsaMemFlags flags, void **address);
  HSAKMT_STATUS release(void *address);
  HSAKMT_STATUS registerUser(void *address, uint64_t size, HsaMemFlags flags, std::span<const uint32_t> nodes);
  HSAKMT_STATUS deregister(void *address);
  HSAKMT_STATUS mapToAll(void *address, uint64_t size, uint64_t *alternate);
  HSAKMT_STATUS mapToNodes(void *address, uint64_t size, std::span<const uint32_t> nodes, uint64_t *alternate);
  HSAKMT_STATUS unmap(void *address);
  HSAKMT_STATUS query(const void *address, HsaPointerInfo *info);
  HSAKMT_STATUS setUserData(const void *address, void *userData);

  /// Memory of the driver itself (doorbells, mailboxes): accessible to all GPUs, not counted, never freed.
  void *allocateInternal(uint64_t size, uint64_t alignment = AddressSpace::kPageSize);

  uint64_t used(uint32_t node);

private:
  struct Object {
    enum class Kind { System, Local, ScratchPool, User } kind;
    uint64_t start = 0; ///< host address; for user memory as registered, not page aligned
    uint64_t size = 0;
    void *reservation = nullptr; ///< what to unmap, with the guard pages
    uint64_t reservedBytes = 0;
    uint32_t node = 0;
    HsaMemFlags flags{};
    DeviceMask mapped = 0;
    uint32_t mapCount = 0;
    uint32_t registerCount = 0;
    uint64_t order = 0;
    void *userData = nullptr;
    std::vector<uint32_t> registeredNodes;
    std::vector<uint32_t> mappedNodes; ///< handed out by query(); rebuilt when `mapped` changes
    uint64_t pageBegin() const { return start & ~(AddressSpace::kPageSize - 1); }
    uint64_t pageBytes() const;
  };
  using Objects = std::multimap<uint64_t, std::unique_ptr<Object>>;

  DeviceMask allDevices() const { return static_cast<DeviceMask>((1u << gpuBytes_.size()) - 1); }
  bool maskOf(std::span<const uint32_t> nodes, DeviceMask &mask) const;
  bool validNode(uint32_t node) const { return node <= gpuBytes_.size(); }

  Objects::iterator findOwned(uint64_t address);
  Objects::iterator findUser(uint64_t address, uint64_t size);
  Object *findExact(uint64_t address, uint64_t size);
  Object *findContaining(uint64_t address);
  Object *scratchPoolOf(uint64_t address);

  void setMapped(Object &object, DeviceMask mapped);
  void unmapUserPages(const Object &object, DeviceMask devices);
  HSAKMT_STATUS mapScratch(Object &pool, uint64_t address, uint64_t size);
  HSAKMT_STATUS unmapScratch(Object &pool, uint64_t address);
  HSAKMT_STATUS mapUser(Object &object, uint64_t address, uint64_t *alternate);
  HSAKMT_STATUS unmapLocked(uint64_t address, bool &codeGone);
  HSAKMT_STATUS reserve(Object &object, uint64_t fixedAddress);

  AddressSpace &space_;
  const uint64_t hostBytes_;
  const std::vector<uint64_t> gpuBytes_;
  std::mutex mutex_;
  Objects owned_;                            ///< by host address: what we allocated
  Objects users_;                            ///< by host address: what was registered; may overlap
  std::map<uint64_t, uint64_t> scratchMaps_; ///< mapped parts of scratch pools: address to size
  std::vector<uint64_t> used_;               ///< by node
  uint64_t nextOrder_ = 0;
};

} // namespace luthier::vgpu
