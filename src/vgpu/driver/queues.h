// The queues of a process: ids, doorbells, creation and destruction.
#pragma once

#include "vgpu/driver/kfd_abi.h"
#include "vgpu/queue/doorbell.h"
#include "vgpu/queue/host.h"
#include "vgpu/queue/queue.h"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace luthier::vgpu {

class Device;

class QueueTable {
public:
  /// A page of doorbells, aligned to its size, and where mmap finds it.
  struct Doorbells {
    uint64_t *first = nullptr;
    uint64_t mmapOffset = 0;
  };
  QueueTable(std::vector<Device *> devices, std::vector<Doorbells> doorbells, QueueHost &host);
  ~QueueTable();

  static constexpr size_t kDoorbells = 1024;
  static constexpr uint64_t kDoorbellBytes = kDoorbells * sizeof(uint64_t);

  // 0 or an errno value.
  /// A queue runs packets unless its percentage of the GPU is 0. Fills in the queue's id and the place of its doorbell.
  int create(uint32_t gpu, kfd::CreateQueue &request);
  int destroy(uint32_t id);
  /// The ring must be the one that the queue was created with, or none, which suspends the queue.
  int update(const kfd::UpdateQueue &request);
  int setCuMask(uint32_t id, uint32_t bits, const uint32_t *mask);
  int allocateGws(uint32_t id, uint32_t count, uint32_t &first);
  bool known(uint32_t id) { return find(id) != nullptr; }

private:
  struct Entry {
    std::unique_ptr<Queue> queue;
    uint64_t ring = 0;
    uint32_t ringBytes = 0;
    uint32_t gpu = 0;
    size_t doorbell = 0;
    bool hasGws = false;
  };

  std::shared_ptr<Entry> find(uint32_t id);

  const std::vector<Device *> devices_;
  const std::vector<Doorbells> doorbells_;
  QueueHost &host_;
  DoorbellPoller poller_;
  std::mutex mutex_;
  std::map<uint32_t, std::shared_ptr<Entry>> queues_;
  std::vector<std::vector<bool>> doorbellsUsed_; ///< by GPU
  uint32_t nextId_ = 1;
};

} // namespace luthier::vgpu
