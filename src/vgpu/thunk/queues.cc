#include "vgpu/thunk/queues.h"

#include "support/log.h"
#include "vgpu/queue/aql.h"
#include "vgpu/queue/sdma.h"
#include "vgpu/wave/global_wave_sync.h"

#include <algorithm>
#include <bit>
#include <cstddef>

namespace luthier::vgpu {

QueueTable::QueueTable(std::vector<Device *> devices, std::vector<uint64_t *> doorbellPages, QueueHost &host)
    : devices_(std::move(devices)), doorbellPages_(std::move(doorbellPages)), host_(host),
      doorbellsUsed_(devices_.size(), std::vector<bool>(kDoorbells)) {}

QueueTable::~QueueTable() {
  for (auto &[id, entry] : queues_)
    poller_.remove(entry->queue.get());
}

HSAKMT_STATUS QueueTable::create(uint32_t node, HSA_QUEUE_TYPE type, uint32_t percentage, void *ring,
                                 uint64_t ringBytes, HsaQueueResource *resource) {
  if (node == 0 || node > devices_.size())
    return HSAKMT_STATUS_INVALID_NODE_UNIT;
  if (!ring || !resource || percentage > 100 || !std::has_single_bit(ringBytes))
    return HSAKMT_STATUS_INVALID_PARAMETER;
  const bool aql = type == HSA_QUEUE_COMPUTE_AQL;
  if (!aql && type != HSA_QUEUE_SDMA && type != HSA_QUEUE_SDMA_XGMI)
    return HSAKMT_STATUS_NOT_SUPPORTED;
  if (aql && !resource->QueueRptrValue)
    return HSAKMT_STATUS_INVALID_PARAMETER;

  auto entry = std::make_shared<Entry>();
  entry->ring = ring;
  entry->ringBytes = ringBytes;
  entry->gpu = node - 1;
  Device &device = *devices_[entry->gpu];
  std::lock_guard lock(mutex_);
  std::vector<bool> &used = doorbellsUsed_[entry->gpu];
  const auto free = std::ranges::find(used, false);
  if (free == used.end())
    return HSAKMT_STATUS_OUT_OF_RESOURCES;
  entry->doorbell = static_cast<size_t>(free - used.begin());
  uint64_t *doorbell = doorbellPages_[entry->gpu] + entry->doorbell;
  const HSA_QUEUEID id = nextId_++;
  if (aql) {
    *doorbell = ~0ull; // "the packet before the first"
    auto *queue = reinterpret_cast<amd_queue_t *>(resource->QueueRptrValue - offsetof(amd_queue_t, read_dispatch_id));
    constexpr uint64_t kPacketBytes = 64;
    if (!std::has_single_bit(queue->hsa_queue.size) || queue->hsa_queue.base_address != ring ||
        queue->hsa_queue.size > ringBytes / kPacketBytes)
      return HSAKMT_STATUS_INVALID_PARAMETER;
    entry->queue = std::make_unique<AqlQueue>(id, device, host_, queue);
  } else {
    *doorbell = 0;
    resource->QueueRptrValue = reinterpret_cast<uint64_t>(&entry->sdmaRead);
    resource->QueueWptrValue = reinterpret_cast<uint64_t>(&entry->sdmaWrite);
    entry->queue = std::make_unique<SdmaQueue>(id, device, host_, ring, ringBytes, &entry->sdmaRead, doorbell);
  }
  *free = true;
  resource->QueueId = id;
  resource->Queue_DoorBell_aql = doorbell;
  entry->queue->suspend(percentage == 0);
  entry->queue->start();
  poller_.add(entry->queue.get());
  queues_.emplace(id, std::move(entry));
  return HSAKMT_STATUS_SUCCESS;
}

std::shared_ptr<QueueTable::Entry> QueueTable::find(HSA_QUEUEID id) {
  std::lock_guard lock(mutex_);
  auto found = queues_.find(id);
  return found == queues_.end() ? nullptr : found->second;
}

HSAKMT_STATUS QueueTable::destroy(HSA_QUEUEID id) {
  std::shared_ptr<Entry> entry;
  {
    std::lock_guard lock(mutex_);
    auto found = queues_.find(id);
    if (found == queues_.end())
      return HSAKMT_STATUS_INVALID_PARAMETER;
    entry = std::move(found->second);
    queues_.erase(found);
  }
  poller_.remove(entry->queue.get());
  entry->queue.reset(); // waits for the queue's thread and kernels
  std::lock_guard lock(mutex_);
  doorbellsUsed_[entry->gpu][entry->doorbell] = false;
  return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS QueueTable::update(HSA_QUEUEID id, uint32_t percentage, const void *ring, uint64_t ringBytes) {
  std::shared_ptr<Entry> entry = find(id);
  if (!entry || percentage > 100)
    return HSAKMT_STATUS_INVALID_PARAMETER;
  if (ring != entry->ring || ringBytes != entry->ringBytes) {
    log::error("vgpu: hsaKmtUpdateQueue: another ring ({}, {:#x} bytes) for queue {}, which has {} with {:#x} bytes; "
               "that is not supported",
               ring, ringBytes, id, entry->ring, entry->ringBytes);
    return HSAKMT_STATUS_NOT_SUPPORTED;
  }
  entry->queue->suspend(percentage == 0);
  return HSAKMT_STATUS_SUCCESS;
}

// Accepted and without effect: which compute units run a kernel changes nothing that a program can see here.
HSAKMT_STATUS QueueTable::setCuMask(HSA_QUEUEID id, uint32_t bits, const uint32_t *mask) {
  return find(id) && bits != 0 && bits % 32 == 0 && mask ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_PARAMETER;
}

// Global wave sync is how hardware promises that all workgroups of a cooperative kernel are resident; here the
// scheduler makes them so for any kernel that waits.
HSAKMT_STATUS QueueTable::allocateGws(HSA_QUEUEID id, uint32_t count, uint32_t *first) {
  std::shared_ptr<Entry> entry = find(id);
  if (!entry)
    return HSAKMT_STATUS_INVALID_PARAMETER;
  if (count > GlobalWaveSync::kResources)
    return HSAKMT_STATUS_OUT_OF_RESOURCES;
  std::lock_guard lock(mutex_);
  if (count != 0 && entry->hasGws)
    return HSAKMT_STATUS_OUT_OF_RESOURCES;
  entry->hasGws = count != 0;
  if (first)
    *first = 0;
  return HSAKMT_STATUS_SUCCESS;
}

} // namespace luthier::vgpu
