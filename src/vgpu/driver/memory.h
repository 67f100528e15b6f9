// Memory that GPUs can reach: buffers of the driver, the application's own pages, and which GPU may access what.
//
// GPU addresses are host addresses. What a kernel driver would keep in video memory or in pinned host memory is here a
// range of one file in memory (BackingFile), which the thunk maps with mmap on a device file, at the address that it
// wants. Files can be mapped twice and shared, so that virtual memory management and other processes find the same
// bytes. The file is sparse: a virtual GPU of 16 GiB costs nothing until used; sizes are accounted for so that an
// allocation fails where it would on hardware.
//
// Only what is mapped to a GPU is entered in the AddressSpace, which is what guest accesses are checked against.
#pragma once

#include "memcheck/allocations.h"
#include "vgpu/driver/kfd_abi.h"
#include "vgpu/memory/address_space.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace luthier::vgpu {

using memcheck::Allocation;
using memcheck::Allocations;

/// What a process may note on a buffer for all that have it (DRM_IOCTL_AMDGPU_GEM_METADATA).
struct BufferNote {
  uint64_t flags = 0, tiling = 0;
  uint32_t bytes = 0, words[64] = {};
};

/// A sparse file in memory from which ranges are taken. Closed with the last reference to it.
class BackingFile {
public:
  /// Null, with errno set, when there can be none.
  static std::shared_ptr<BackingFile> create();
  /// The file `fd` of another process; null, with errno set, when that is none of ours.
  static std::shared_ptr<BackingFile> of(uint32_t pid, int fd);
  ~BackingFile();
  BackingFile(const BackingFile &) = delete;
  BackingFile &operator=(const BackingFile &) = delete;

  int fd() const { return fd_; }
  /// A range of zeros that nobody else has.
  std::optional<uint64_t> reserve(uint64_t size, uint64_t alignment);
  /// Gives pages back, unless another process has said that it uses them; they read as zeros then. `again`: the range
  /// may be reserved once more; else that happens only when there is no other.
  bool discard(uint64_t offset, uint64_t size, bool again);
  /// Keeps the other process, whose file this is, from discarding them until they are let go.
  bool hold(uint64_t offset, uint64_t size) const;
  void letGo(uint64_t offset, uint64_t size) const;
  /// Says to other processes that there is a buffer in this range, and that there no longer is.
  void announce(uint64_t offset, uint64_t size, bool there) const;
  /// What the other process, whose file this is, has announced.
  bool announced(uint64_t offset, uint64_t size) const;
  /// Of the buffer that begins here, whichever process writes it. False, with errno set, when there is no room.
  bool writeNote(uint64_t offset, const BufferNote &note) const;
  /// Empty unless written.
  BufferNote readNote(uint64_t offset) const;

private:
  explicit BackingFile(int fd) : fd_(fd) {}

  const int fd_;
  uint64_t end_ = 4096;
  std::multimap<uint64_t, uint64_t> free_, retired_; ///< offsets by size
};

/// What an allocation is, independently of where it is mapped.
struct Buffer {
  uint32_t flags = 0; ///< kfd::memory
  uint32_t gpu = 0;   ///< index of the owner
  uint64_t size = 0;
  std::shared_ptr<BackingFile> file; ///< null for the application's own pages
  uint64_t fileOffset = 0;
  uint64_t mmapOffset = 0; ///< what names it in mmap
  bool foreign = false;    ///< of another process
  bool shared = false;     ///< other processes may know of it
};

/// What another process needs to find a buffer.
struct SharedBuffer {
  uint32_t pid = 0;
  uint32_t fd = 0;
  uint64_t offset = 0, size = 0;
  uint32_t gpuId = 0, flags = 0;
};

class MemoryManager {
public:
  /// GPU n has `gpuBytes[n]` of memory of its own.
  MemoryManager(AddressSpace &space, uint64_t hostBytes, std::vector<uint64_t> gpuBytes);
  ~MemoryManager();
  MemoryManager(const MemoryManager &) = delete;
  MemoryManager &operator=(const MemoryManager &) = delete;

  /// Called when GPUs no longer find at these addresses what they did, without locks held.
  std::function<void(uint64_t begin, uint64_t size)> onGone;
  /// Called before GPUs find a buffer at these addresses, with the lock held.
  std::function<void(uint64_t begin, uint64_t size)> onGiven;
  /// Called when this handle is no longer known, before its buffer goes, without locks held.
  std::function<void(uint64_t handle)> onFree;

  // 0 or an errno value, unless said otherwise. Handles are those of KFD; addresses may be 0, for memory without one.
  int allocate(uint32_t gpu, uint64_t address, uint64_t size, uint32_t flags, uint64_t hostAddress, uint64_t &handle,
               uint64_t &mmapOffset);
  int release(uint64_t handle);
  int map(uint64_t handle, std::span<const uint32_t> gpus, uint32_t &done);
  int unmap(uint64_t handle, std::span<const uint32_t> gpus, uint32_t &done);
  uint64_t available(uint32_t gpu);

  /// What mmap on a device file does; MAP_FAILED and errno.
  void *mapToHost(void *address, uint64_t size, int flags, uint64_t mmapOffset);

  /// Null when there is none.
  std::shared_ptr<Buffer> buffer(uint64_t handle);
  /// By which GPUs have it under that handle; 0 when there is none.
  uint64_t addressOf(uint64_t handle);
  /// The buffer, live or freed, that is nearest to an address of a GPU. For messages.
  std::optional<Allocations::Neighbour> nearest(uint64_t address);
  /// For the driver's own use: the buffer's bytes, mapped for as long as the process lives. Null, and errno.
  static void *mapInternally(const Buffer &buffer);

  /// A second handle for a buffer, at another address.
  uint64_t adopt(std::shared_ptr<Buffer> buffer, uint64_t address);
  SharedBuffer share(Buffer &buffer) const;
  /// Null, and errno.
  std::shared_ptr<Buffer> find(const SharedBuffer &shared, uint32_t gpu);

  // Mappings that the render node makes: part of a buffer, for one GPU.
  int mapPart(const std::shared_ptr<Buffer> &buffer, uint64_t offset, uint64_t address, uint64_t size, uint32_t gpu);
  int unmapPart(uint64_t address, uint64_t size, uint32_t gpu);

  /// Memory of the driver itself, accessible to all GPUs and never freed.
  struct Internal {
    void *address;
    uint64_t size;
    uint64_t fileOffset;
  };
  std::optional<Internal> allocateInternal(uint64_t size, uint64_t alignment = AddressSpace::kPageSize);
  /// Lets the runtime map such memory by `mmapOffset`. Buffers of this kind (kfd::memory; 0: none) on the GPU are it.
  void provide(uint32_t gpu, uint32_t kind, const Internal &memory, uint64_t mmapOffset);

private:
  /// A buffer under a handle.
  struct Object {
    std::shared_ptr<Buffer> buffer;
    uint64_t address = 0;     ///< the GPU's; 0: none
    uint64_t hostAddress = 0; ///< of user memory
    DeviceMask mapped = 0;
    bool visible = false; ///< the host has it mapped at its address
    bool isUser() const { return hostAddress != 0; }
  };
  /// Made by mapPart.
  struct Part {
    uint64_t size = 0;
    std::shared_ptr<Buffer> buffer;
    uint64_t offset = 0;
    DeviceMask devices = 0;
    bool ours = false; ///< the host's mapping was made for the GPU's sake
  };

  /// Another process's file and what is used of it, by offset.
  struct Foreign {
    std::weak_ptr<BackingFile> file;
    std::map<uint64_t, std::weak_ptr<Buffer>> buffers;
  };

  static DeviceMask bit(uint32_t gpu) { return static_cast<DeviceMask>(1u << gpu); }
  DeviceMask allDevices() const { return static_cast<DeviceMask>((1u << gpuBytes_.size()) - 1); }
  uint64_t &usedBy(const Buffer &buffer);
  void enter(uint64_t begin, uint64_t size, DeviceMask devices);
  void give(Object &object, DeviceMask devices);
  void take(Object &object, DeviceMask devices);
  void takeUserPages(const Object &object, DeviceMask devices);
  std::shared_ptr<Buffer> newBuffer();
  std::shared_ptr<Buffer> makeBuffer(uint32_t gpu, uint64_t size, uint32_t flags);
  void destroy(const Buffer &buffer);
  int findObject(uint64_t handle, std::span<const uint32_t> gpus, Object *&object);
  std::shared_ptr<Buffer> byOffset(uint64_t mmapOffset);

  AddressSpace &space_;
  const uint64_t hostBytes_;
  const std::vector<uint64_t> gpuBytes_;
  std::mutex mutex_;
  std::shared_ptr<BackingFile> file_;
  std::map<uint64_t, Object> objects_;                                        ///< by handle
  std::multimap<uint64_t, uint64_t> byAddress_;                               ///< handles by the GPU's address
  std::map<uint64_t, std::weak_ptr<Buffer>> byOffset_;                        ///< by mmapOffset
  std::map<uint64_t, Part> parts_;                                            ///< by address
  std::map<std::pair<uint32_t, uint32_t>, std::shared_ptr<Buffer>> provided_; ///< by GPU and kind
  std::map<std::pair<uint32_t, uint32_t>, Foreign> foreign_;                  ///< by process and descriptor
  std::deque<Allocation> freed_;                                              ///< the last ones, newest first
  std::vector<uint64_t> used_;                                                ///< by GPU; the host's is last
  uint32_t nextHandle_ = 1;
  uint64_t nextForeignOffset_;
};

} // namespace luthier::vgpu
