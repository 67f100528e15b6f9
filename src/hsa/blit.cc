#include "hsa/blit.h"

#include "hsa/calls.h"
#include "support/log.h"

namespace luthier::hsa {

void BlitWatch::start() {
  auto counted = [this](ApiId id, hsa_status_t status, uint64_t bytes) {
    if (status == HSA_STATUS_SUCCESS)
      count(id, bytes);
  };
  subscriptions_.clear();
  const auto watchCopies = [&]<ApiId id>() {
    subscriptions_.push_back(
        calls::after<id>([=](hsa_status_t &status, void *&, hsa_agent_t &, const void *&, hsa_agent_t &, size_t &bytes,
                             auto &&...) { counted(id, status, bytes); }));
  };
  watchCopies.operator()<ApiId::hsa_amd_memory_async_copy>();
  watchCopies.operator()<ApiId::hsa_amd_memory_async_copy_on_engine>();
  subscriptions_.push_back(calls::after<ApiId::hsa_amd_memory_async_copy_rect>(
      [=](hsa_status_t &status, const hsa_pitched_ptr_t *&, const hsa_dim3_t *&, const hsa_pitched_ptr_t *&,
          const hsa_dim3_t *&, const hsa_dim3_t *&range, hsa_agent_t &, hsa_amd_copy_direction_t &, uint32_t &,
          const hsa_signal_t *&, hsa_signal_t &) {
        const uint64_t bytes = range ? uint64_t(range->x) * range->y * range->z : 0;
        counted(ApiId::hsa_amd_memory_async_copy_rect, status, bytes);
      }));
  subscriptions_.push_back(
      calls::after<ApiId::hsa_memory_copy>([=](hsa_status_t &status, void *&, const void *&, size_t &bytes) {
        counted(ApiId::hsa_memory_copy, status, bytes);
      }));
  subscriptions_.push_back(
      calls::after<ApiId::hsa_amd_memory_fill>([=](hsa_status_t &status, void *&, uint32_t &, size_t &words) {
        counted(ApiId::hsa_amd_memory_fill, status, words * sizeof(uint32_t));
      }));
  auto announced = [](const hsa_queue_t *queue, hsa_agent_t, void *data) {
    auto *self = static_cast<BlitWatch *>(data);
    std::lock_guard lock(self->mutex_);
    self->queues_.push_back(queue);
  };
  if (auto registered = call<ApiId::hsa_amd_runtime_queue_create_register>(+announced, static_cast<void *>(this));
      !registered)
    log::debug("ROCr's own queues are not announced: {}", registered.error().message());
}

void BlitWatch::stop() {
  subscriptions_.clear();
  std::lock_guard lock(mutex_);
  totals_.queues += queues_.size();
  queues_.clear();
}

void BlitWatch::count(ApiId id, uint64_t bytes) {
  {
    std::lock_guard lock(mutex_);
    ++totals_.operations;
    totals_.bytes += bytes;
    // The last look at the internal queues may come when ROCr has already taken them down.
    totals_.packets = 0;
    for (const hsa_queue_t *queue : queues_)
      totals_.packets += original<ApiId::hsa_queue_load_write_index_relaxed>()(queue);
  }
  events_.copied.raise(CopyRecord{id, bytes});
}

BlitWatch::Totals BlitWatch::totals() const {
  std::lock_guard lock(mutex_);
  Totals result = totals_;
  result.queues += queues_.size();
  return result;
}

} // namespace luthier::hsa
