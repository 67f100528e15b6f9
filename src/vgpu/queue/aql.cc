#include "vgpu/queue/aql.h"

#include "vgpu/memory/guest_access.h"
#include "vgpu/wave/device.h"

#include <fmt/core.h>
#include <utility>
#include <vector>

namespace luthier::vgpu {

namespace {

unsigned typeOf(uint16_t header) { return (header >> HSA_PACKET_HEADER_TYPE) & 0xff; }
bool hasBarrier(uint16_t header) { return (header >> HSA_PACKET_HEADER_BARRIER) & 1; }

} // namespace

AqlQueue::AqlQueue(uint64_t id, Device &device, QueueHost &host, amd_queue_t *queue)
    : Queue(id, device, host), queue_(queue), ring_(static_cast<volatile Packet *>(queue->hsa_queue.base_address)),
      size_(queue->hsa_queue.size), next_(queue->read_dispatch_id) {}

AqlQueue::~AqlQueue() {
  stop();
  std::unique_lock lock(mutex_);
  finished_.wait(lock, [&] { return running_ == 0; });
}

uint16_t AqlQueue::header(uint64_t index) const { return shared(slot(index).header).load(std::memory_order_acquire); }

// The doorbell's value is not looked at: with several producers the last store may name an earlier packet than one
// before it. A valid header below the write index says the same, and the standard lets us act on it. Slots keep their
// header until they are given back, so one that is still taken must not be mistaken for the packet a ring's length
// later.
bool AqlQueue::pending() const {
  if (failed_.load(std::memory_order_acquire))
    return false;
  if (faulted_.load(std::memory_order_acquire))
    return true;
  const uint64_t index = next_.load(std::memory_order_relaxed);
  return index < shared(queue_->write_dispatch_id).load(std::memory_order_relaxed) &&
         index - shared(queue_->read_dispatch_id).load(std::memory_order_acquire) < size_ &&
         typeOf(header(index)) != HSA_PACKET_TYPE_INVALID;
}

void AqlQueue::run() {
  while (!stopping() && !suspended() && pending()) {
    if (faulted_.load(std::memory_order_acquire))
      handleKernelFault();
    else
      processNext();
  }
}

void AqlQueue::processNext() {
  const uint64_t index = next_.load(std::memory_order_relaxed);
  const uint16_t head = header(index);
  seeMappings(&device().memory());
  if (!checkHeader(index, head) || (hasBarrier(head) && !waitForEarlier()))
    return;
  switch (typeOf(head)) {
  case HSA_PACKET_TYPE_KERNEL_DISPATCH:
    kernelDispatch(index);
    break;
  case HSA_PACKET_TYPE_BARRIER_AND:
    barrierAnd(index);
    break;
  case HSA_PACKET_TYPE_BARRIER_OR:
    barrierOr(index);
    break;
  case HSA_PACKET_TYPE_VENDOR_SPECIFIC:
    vendor(index);
    break;
  default:
    fail(queue_code::kBadPacket, fmt::format("packet {}: type {} is not one that a GPU queue runs (header {:#06x})",
                                             index, typeOf(head), head));
    break;
  }
}

bool AqlQueue::checkHeader(uint64_t index, uint16_t header) {
  constexpr unsigned kReservedShift = 13; // behind the release scope
  if (header >> kReservedShift) {
    fail(queue_code::kBadPacket, fmt::format("packet {}: reserved bits 13 to 15 of the header {:#06x} are {:#x}; "
                                             "expected 0",
                                             index, header, header >> kReservedShift));
    return false;
  }
  for (const auto [name, shift] : {std::pair{"acquire", HSA_PACKET_HEADER_ACQUIRE_FENCE_SCOPE},
                                   {"release", HSA_PACKET_HEADER_RELEASE_FENCE_SCOPE}})
    if (const unsigned scope = (header >> shift) & 3; scope > HSA_FENCE_SCOPE_SYSTEM) {
      fail(queue_code::kBadPacket, fmt::format("packet {}: the {} fence scope of the header {:#06x} is {}; expected 0 "
                                               "(none), 1 (agent) or 2 (system)",
                                               index, name, header, scope));
      return false;
    }
  return true;
}

bool AqlQueue::checkReserved(uint64_t index, const char *packet, const char *field, uint64_t value) {
  if (value == 0)
    return true;
  fail(queue_code::kBadPacket,
       fmt::format("packet {}: {} of a {} packet is {:#x}; expected 0", index, field, packet, value));
  return false;
}

// False when the queue stops or a kernel faulted: the packet is then not run.
bool AqlQueue::waitForEarlier() {
  std::unique_lock lock(mutex_);
  finished_.wait(lock, [&] { return running_ == 0; });
  return !stopping() && !faulted_.load(std::memory_order_acquire);
}

void AqlQueue::begin(uint64_t index) {
  std::lock_guard lock(mutex_);
  inFlight_.push_back({index, nullptr});
  next_.store(index + 1, std::memory_order_relaxed);
}

void AqlQueue::retireLocked(uint64_t index) {
  for (InFlight &entry : inFlight_)
    if (entry.index == index)
      entry.done = true;
  while (!inFlight_.empty() && inFlight_.front().done) {
    const uint64_t oldest = inFlight_.front().index;
    inFlight_.pop_front();
    shared(slot(oldest).header).store(HSA_PACKET_TYPE_INVALID, std::memory_order_relaxed);
    shared(queue_->read_dispatch_id).store(oldest + 1, std::memory_order_release);
  }
}

void AqlQueue::retire(uint64_t index) {
  std::lock_guard lock(mutex_);
  retireLocked(index);
}

void AqlQueue::finishHere(uint64_t index, hsa_signal_t completion, uint64_t start) {
  begin(index);
  completeSignal(host(), completion, start, Device::clock());
  retire(index);
}

void AqlQueue::abortRunning() {
  Fault stopped;
  stopped.kind = Fault::Kind::Aborted;
  stopped.text = "the queue was destroyed";
  std::vector<std::shared_ptr<Dispatch>> dispatches;
  {
    std::lock_guard lock(mutex_);
    for (InFlight &entry : inFlight_)
      if (entry.dispatch && !entry.done)
        dispatches.push_back(entry.dispatch);
  }
  for (const std::shared_ptr<Dispatch> &dispatch : dispatches)
    dispatch->abort(stopped);
}

} // namespace luthier::vgpu
