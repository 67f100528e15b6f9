// The queues of a process: ids, doorbells, creation and destruction.
#pragma once

#include "vgpu/queue/doorbell.h"
#include "vgpu/queue/host.h"
#include "vgpu/queue/queue.h"

#include <hsakmttypes.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace luthier::vgpu {

class Device;

class QueueTable {
public:
  /// `doorbellPages[n]`: kDoorbells doorbells of GPU n, aligned to their size as ROCr's trap handler wants it.
  QueueTable(std::vector<Device *> devices, std::vector<uint64_t *> doorbellPages, QueueHost &host);
  ~QueueTable();

  static constexpr size_t kDoorbells = 1024;
  static constexpr uint64_t kDoorbellBytes = kDoorbells * sizeof(uint64_t);

  /// A queue runs packets unless its `percentage` of the GPU is 0.
  HSAKMT_STATUS create(uint32_t node, HSA_QUEUE_TYPE type, uint32_t percentage, void *ring, uint64_t ringBytes,
                       HsaQueueResource *resource);
  HSAKMT_STATUS destroy(HSA_QUEUEID id);
  /// The ring must be the one that the queue was created with.
  HSAKMT_STATUS update(HSA_QUEUEID id, uint32_t percentage, const void *ring, uint64_t ringBytes);
  HSAKMT_STATUS setCuMask(HSA_QUEUEID id, uint32_t bits, const uint32_t *mask);
  HSAKMT_STATUS allocateGws(HSA_QUEUEID id, uint32_t count, uint32_t *first);

private:
  struct Entry {
    std::unique_ptr<Queue> queue;
    const void *ring = nullptr;
    uint64_t ringBytes = 0;
    size_t gpu = 0;
    size_t doorbell = 0;
    uint64_t sdmaRead = 0;
    uint64_t sdmaWrite = 0;
    bool hasGws = false;
  };

  std::shared_ptr<Entry> find(HSA_QUEUEID id);

  const std::vector<Device *> devices_;
  const std::vector<uint64_t *> doorbellPages_;
  QueueHost &host_;
  DoorbellPoller poller_;
  std::mutex mutex_;
  std::map<HSA_QUEUEID, std::shared_ptr<Entry>> queues_;
  std::vector<std::vector<bool>> doorbellsUsed_; ///< by GPU
  HSA_QUEUEID nextId_ = 1;
};

} // namespace luthier::vgpu
