#include "vgpu/driver/queues.h"

#include "support/log.h"
#include "vgpu/queue/aql.h"
#include "vgpu/queue/sdma.h"
#include "vgpu/state/global_wave_sync.h"
#include "vgpu/wave/device.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstddef>

namespace luthier::vgpu {

namespace {

constexpr uint32_t kMostPercent = 100;
constexpr uint32_t kHighestPriority = 15;

} // namespace

QueueTable::QueueTable(std::vector<Device *> devices, std::vector<Doorbells> doorbells, QueueHost &host)
    : devices_(std::move(devices)), doorbells_(std::move(doorbells)), host_(host),
      doorbellsUsed_(devices_.size(), std::vector<bool>(kDoorbells)) {}

QueueTable::~QueueTable() {
  for (auto &[id, entry] : queues_)
    poller_.remove(entry->queue.get());
}

int QueueTable::create(uint32_t gpu, kfd::CreateQueue &request) {
  if (gpu >= devices_.size() || request.percentage > kMostPercent || request.priority > kHighestPriority)
    return EINVAL;
  bool aql = false;
  switch (static_cast<kfd::QueueType>(request.type)) {
  case kfd::QueueType::ComputeAql:
    aql = true;
    break;
  case kfd::QueueType::Sdma:
  case kfd::QueueType::SdmaXgmi:
  case kfd::QueueType::SdmaByEngine: // which engine makes no difference here
    break;
  default:
    log::error("vgpu: AMDKFD_IOC_CREATE_QUEUE: queues of type {} ({}) are not supported", request.type,
               request.type == 0 ? "compute by PM4 packets" : "unknown");
    return EINVAL;
  }
  Device &device = *devices_[gpu];
  const DeviceMask mask = device.mask();
  const AddressSpace &memory = device.memory();
  if (!request.ring || !std::has_single_bit(request.ringBytes) || !memory.mapped(request.ring, request.ringBytes, mask))
    return EINVAL;
  for (const uint64_t pointer : {request.readPointer, request.writePointer})
    if (!pointer || pointer % sizeof(uint64_t) || !memory.mapped(pointer, sizeof(uint64_t), mask))
      return EINVAL;

  auto entry = std::make_shared<Entry>();
  entry->ring = request.ring;
  entry->ringBytes = request.ringBytes;
  entry->gpu = gpu;
  std::lock_guard lock(mutex_);
  std::vector<bool> &used = doorbellsUsed_[gpu];
  const auto free = std::ranges::find(used, false);
  if (free == used.end())
    return ENOMEM;
  entry->doorbell = static_cast<size_t>(free - used.begin());
  uint64_t *doorbell = doorbells_[gpu].first + entry->doorbell;
  const uint32_t id = nextId_++;
  auto *ring = reinterpret_cast<void *>(request.ring);
  if (aql) {
    *doorbell = ~0ull; // "the packet before the first"
    auto *queue = reinterpret_cast<amd_queue_t *>(request.readPointer - offsetof(amd_queue_t, read_dispatch_id));
    constexpr uint64_t kPacketBytes = 64;
    if (!std::has_single_bit(queue->hsa_queue.size) || queue->hsa_queue.base_address != ring ||
        queue->hsa_queue.size > request.ringBytes / kPacketBytes)
      return EINVAL;
    entry->queue = std::make_unique<AqlQueue>(id, device, host_, queue);
  } else {
    *doorbell = 0;
    entry->queue = std::make_unique<SdmaQueue>(id, device, host_, ring, request.ringBytes,
                                               reinterpret_cast<uint64_t *>(request.readPointer), doorbell);
  }
  *free = true;
  request.queueId = id;
  request.doorbellOffset = doorbells_[gpu].mmapOffset + entry->doorbell * sizeof(uint64_t);
  entry->queue->suspend(request.percentage == 0);
  entry->queue->start();
  poller_.add(entry->queue.get());
  queues_.emplace(id, std::move(entry));
  return 0;
}

std::shared_ptr<QueueTable::Entry> QueueTable::find(uint32_t id) {
  std::lock_guard lock(mutex_);
  auto found = queues_.find(id);
  return found == queues_.end() ? nullptr : found->second;
}

int QueueTable::destroy(uint32_t id) {
  std::shared_ptr<Entry> entry;
  {
    std::lock_guard lock(mutex_);
    auto found = queues_.find(id);
    if (found == queues_.end())
      return EINVAL;
    entry = std::move(found->second);
    queues_.erase(found);
  }
  poller_.remove(entry->queue.get());
  entry->queue.reset(); // waits for the queue's thread and kernels
  std::lock_guard lock(mutex_);
  doorbellsUsed_[entry->gpu][entry->doorbell] = false;
  return 0;
}

int QueueTable::update(const kfd::UpdateQueue &request) {
  std::shared_ptr<Entry> entry = find(request.queueId);
  if (!entry || request.percentage > kMostPercent || request.priority > kHighestPriority)
    return EINVAL;
  if (request.ring && (request.ring != entry->ring || request.ringBytes != entry->ringBytes)) {
    log::error("vgpu: AMDKFD_IOC_UPDATE_QUEUE: another ring ({:#x}, {:#x} bytes) for queue {}, which has {:#x} with "
               "{:#x} bytes; that is not supported",
               request.ring, request.ringBytes, request.queueId, entry->ring, entry->ringBytes);
    return EINVAL;
  }
  entry->queue->suspend(request.percentage == 0 || request.ring == 0);
  return 0;
}

// Accepted and without effect: which compute units run a kernel changes nothing that a program can see here.
int QueueTable::setCuMask(uint32_t id, uint32_t bits, const uint32_t *mask) {
  return find(id) && bits != 0 && bits % 32 == 0 && mask ? 0 : EINVAL;
}

// Global wave sync is how hardware promises that all workgroups of a cooperative kernel are resident; here the
// scheduler makes them so for any kernel that waits.
int QueueTable::allocateGws(uint32_t id, uint32_t count, uint32_t &first) {
  std::shared_ptr<Entry> entry = find(id);
  if (!entry)
    return EINVAL;
  if (count > GlobalWaveSync::kResources)
    return EBUSY;
  std::lock_guard lock(mutex_);
  if (count != 0 && entry->hasGws)
    return EBUSY;
  entry->hasGws = count != 0;
  first = 0;
  return 0;
}

} // namespace luthier::vgpu
