#include "hsa/queue.h"

#include "hsa/interceptor.h"
#include "hsa/queue_interception.h"

#include <thread>

namespace luthier::hsa {

namespace {

hsa_queue_t *hardwareQueue(hsa_queue_t *queue) { return Interceptor::instance().queues().realOf(queue); }

} // namespace

Result<OwnedQueue> Queue::create(Agent agent, uint32_t size, const Options &options) {
  hsa_queue_t *queue = nullptr;
  LUTHIER_TRY(call<ApiId::hsa_queue_create>(agent.raw(), size, options.type, options.onError, options.data,
                                            options.privateSegmentSize, options.groupSegmentSize, &queue));
  return OwnedQueue(Queue(queue));
}

Result<void> Queue::destroy() const {
  LUTHIER_TRY(check("destroying"));
  if (hardwareQueue(raw_) != raw_)
    return makeError("a queue of the application's is not Luthier's to destroy");
  lifetime::noteDestruction(value());
  return call<ApiId::hsa_queue_destroy>(raw_);
}

uint64_t Queue::readIndex() const {
  return usable("asking") ? call<ApiId::hsa_queue_load_read_index_scacquire>(raw_) : 0;
}

AqlPacket *Queue::slot(uint64_t index) const {
  return usable("asking") ? static_cast<AqlPacket *>(raw_->base_address) + (index & (raw_->size - 1)) : nullptr;
}

Result<uint64_t> Queue::submit(std::span<const AqlPacket> packets, std::chrono::milliseconds timeout) const {
  LUTHIER_TRY(check("submitting"));
  if (packets.empty())
    return makeError("no packets to submit");
  if (packets.size() > raw_->size)
    return makeError("{} packets do not fit into a queue of {}", packets.size(), raw_->size);
  const auto begin = std::chrono::steady_clock::now();
  uint64_t first = call<ApiId::hsa_queue_load_write_index_relaxed>(raw_);
  for (;;) {
    const uint64_t end = first + packets.size();
    if (end - call<ApiId::hsa_queue_load_read_index_scacquire>(raw_) <= raw_->size) {
      const uint64_t found = call<ApiId::hsa_queue_cas_write_index_scacq_screl>(raw_, first, end);
      if (found == first)
        break;
      first = found;
      continue;
    }
    if (std::chrono::steady_clock::now() - begin >= timeout)
      return makeError("the queue was full for {} ms", timeout.count());
    std::this_thread::sleep_for(std::chrono::microseconds(20));
    first = call<ApiId::hsa_queue_load_write_index_relaxed>(raw_);
  }
  for (size_t n = 0; n < packets.size(); ++n)
    packets[n].writeTo(slot(first + n));
  const hsa_signal_t doorbell = raw_->doorbell_signal;
  const auto last = static_cast<hsa_signal_value_t>(first + packets.size() - 1);
  if (!Interceptor::instance().queues().ring(doorbell, last))
    call<ApiId::hsa_signal_store_screlease>(doorbell, last);
  return first;
}

} // namespace luthier::hsa
