#include "fake_rocr.h"

#include <algorithm>
#include <cstring>

namespace luthier::hsa::test {

FakeRocr *FakeRocr::instance_ = nullptr;

amd_signal_t &FakeRocr::of(hsa_signal_t signal) { return *reinterpret_cast<amd_signal_t *>(signal.handle); }

FakeRocr::Queue &FakeRocr::of(const hsa_queue_t *queue) {
  std::lock_guard lock(instance_->mutex_);
  return *instance_->queues_.at(queue);
}

hsa_signal_t FakeRocr::makeSignal(hsa_signal_value_t value) {
  auto signal = std::make_unique<amd_signal_t>();
  memset(static_cast<void *>(signal.get()), 0, sizeof *signal);
  signal->value = value;
  const hsa_signal_t handle = {reinterpret_cast<uint64_t>(signal.get())};
  std::lock_guard lock(mutex_);
  signals_[handle.handle] = std::move(signal);
  return handle;
}

hsa_queue_t *FakeRocr::makeQueue(uint32_t size, hsa_queue_type32_t type, hsa_signal_t doorbell) {
  auto made = std::make_unique<Queue>();
  made->ring.resize(size);
  made->owned = doorbell.handle == 0;
  made->queue.type = type;
  made->queue.features = HSA_QUEUE_FEATURE_KERNEL_DISPATCH;
  made->queue.base_address = made->ring.data();
  made->queue.doorbell_signal = made->owned ? makeSignal(-1) : doorbell;
  made->queue.size = size;
  hsa_queue_t *queue = &made->queue;
  std::lock_guard lock(mutex_);
  queues_[queue] = std::move(made);
  return queue;
}

FakeRocr::FakeRocr() : before_(originalFunctions()), wrappers_(calls::wrappers()) {
  instance_ = this;
  originalFunctions() = {};

  provide<ApiId::hsa_status_string>([](hsa_status_t, const char **text) {
    *text = "STATUS: fake";
    return HSA_STATUS_SUCCESS;
  });
  provide<ApiId::hsa_system_get_info>([](hsa_system_info_t, void *value) {
    const uint64_t frequency = 1'000'000'000;
    memcpy(value, &frequency, sizeof frequency);
    return HSA_STATUS_SUCCESS;
  });
  provide<ApiId::hsa_iterate_agents>([](hsa_status_t (*visit)(hsa_agent_t, void *), void *data) {
    const hsa_status_t status = visit(kHost, data);
    return status == HSA_STATUS_SUCCESS ? visit(kGpu, data) : status;
  });
  provide<ApiId::hsa_agent_get_info>([](hsa_agent_t agent, hsa_agent_info_t, void *value) {
    const hsa_device_type_t type = agent.handle == kHost.handle ? HSA_DEVICE_TYPE_CPU : HSA_DEVICE_TYPE_GPU;
    memcpy(value, &type, sizeof type);
    return HSA_STATUS_SUCCESS;
  });
  provide<ApiId::hsa_agent_iterate_regions>(
      [](hsa_agent_t, hsa_status_t (*visit)(hsa_region_t, void *), void *data) { return visit({7}, data); });
  provide<ApiId::hsa_region_get_info>([](hsa_region_t, hsa_region_info_t attribute, void *value) {
    const uint32_t answer = attribute == HSA_REGION_INFO_SEGMENT ? uint32_t(HSA_REGION_SEGMENT_GLOBAL)
                                                                 : uint32_t(HSA_REGION_GLOBAL_FLAG_FINE_GRAINED);
    memcpy(value, &answer, sizeof answer);
    return HSA_STATUS_SUCCESS;
  });
  provide<ApiId::hsa_amd_profiling_convert_tick_to_system_domain>([](hsa_agent_t, uint64_t tick, uint64_t *system) {
    *system = tick;
    return HSA_STATUS_SUCCESS;
  });

  provide<ApiId::hsa_signal_create>([](hsa_signal_value_t value, uint32_t, const hsa_agent_t *, hsa_signal_t *signal) {
    *signal = instance_->makeSignal(value);
    return HSA_STATUS_SUCCESS;
  });
  provide<ApiId::hsa_signal_destroy>([](hsa_signal_t signal) {
    std::lock_guard lock(instance_->mutex_);
    return instance_->signals_.erase(signal.handle) ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_SIGNAL;
  });
  const auto load = [](hsa_signal_t signal) { return __atomic_load_n(&of(signal).value, __ATOMIC_ACQUIRE); };
  provide<ApiId::hsa_signal_load_relaxed>(load);
  provide<ApiId::hsa_signal_load_scacquire>(load);
  const auto store = [](hsa_signal_t signal, hsa_signal_value_t value) {
    __atomic_store_n(&of(signal).value, value, __ATOMIC_RELEASE);
  };
  provide<ApiId::hsa_signal_store_relaxed>(store);
  provide<ApiId::hsa_signal_store_screlease>(store);
  provide<ApiId::hsa_signal_silent_store_relaxed>(store);
  provide<ApiId::hsa_signal_silent_store_screlease>(store);
  provide<ApiId::hsa_signal_subtract_screlease>([](hsa_signal_t signal, hsa_signal_value_t value) {
    __atomic_fetch_sub(&of(signal).value, value, __ATOMIC_RELEASE);
  });
  provide<ApiId::hsa_signal_cas_scacq_screl>(
      [](hsa_signal_t signal, hsa_signal_value_t expected, hsa_signal_value_t value) {
        __atomic_compare_exchange_n(&of(signal).value, &expected, value, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
        return expected;
      });

  provide<ApiId::hsa_queue_create>([](hsa_agent_t, uint32_t size, hsa_queue_type32_t type,
                                      void (*)(hsa_status_t, hsa_queue_t *, void *), void *, uint32_t, uint32_t,
                                      hsa_queue_t **queue) {
    hsa_queue_t *&cooperative = instance_->cooperative_;
    *queue = type == HSA_QUEUE_TYPE_COOPERATIVE && cooperative ? cooperative : instance_->makeQueue(size, type, {});
    if (type == HSA_QUEUE_TYPE_COOPERATIVE)
      cooperative = *queue, ++instance_->cooperativeUsers_;
    return HSA_STATUS_SUCCESS;
  });
  provide<ApiId::hsa_soft_queue_create>(
      [](hsa_region_t, uint32_t size, hsa_queue_type32_t type, uint32_t, hsa_signal_t doorbell, hsa_queue_t **queue) {
        *queue = instance_->makeQueue(size, type, doorbell);
        return HSA_STATUS_SUCCESS;
      });
  provide<ApiId::hsa_queue_destroy>([](hsa_queue_t *queue) {
    std::lock_guard lock(instance_->mutex_);
    if (queue == instance_->cooperative_) {
      if (--instance_->cooperativeUsers_)
        return HSA_STATUS_SUCCESS;
      instance_->cooperative_ = nullptr;
    }
    if (instance_->queues_.at(queue)->owned)
      instance_->signals_.erase(queue->doorbell_signal.handle);
    instance_->queues_.erase(queue);
    return HSA_STATUS_SUCCESS;
  });
  const auto loadRead = [](const hsa_queue_t *queue) { return of(queue).read.load(); };
  provide<ApiId::hsa_queue_load_read_index_relaxed>(loadRead);
  provide<ApiId::hsa_queue_load_read_index_scacquire>(loadRead);
  const auto loadWrite = [](const hsa_queue_t *queue) { return of(queue).write.load(); };
  provide<ApiId::hsa_queue_load_write_index_relaxed>(loadWrite);
  provide<ApiId::hsa_queue_load_write_index_scacquire>(loadWrite);
  provide<ApiId::hsa_queue_store_write_index_relaxed>(
      [](const hsa_queue_t *queue, uint64_t index) { of(queue).write = index; });
  provide<ApiId::hsa_queue_store_read_index_screlease>(
      [](const hsa_queue_t *queue, uint64_t index) { of(queue).read = index; });
  provide<ApiId::hsa_queue_add_write_index_screlease>(
      [](const hsa_queue_t *queue, uint64_t count) { return of(queue).write.fetch_add(count); });
}

FakeRocr::~FakeRocr() {
  originalFunctions() = before_;
  instance_ = nullptr;
}

void FakeRocr::complete(hsa_signal_t signal, uint64_t begin, uint64_t end) {
  of(signal).start_ts = begin;
  of(signal).end_ts = end;
  __atomic_fetch_sub(&of(signal).value, 1, __ATOMIC_RELEASE);
}

std::vector<AqlPacket> FakeRocr::packetsIn(const hsa_queue_t *queue) const {
  const Queue &known = of(queue);
  std::vector<AqlPacket> packets;
  for (uint64_t n = known.read; n < known.write; ++n)
    packets.push_back(known.ring[n % known.ring.size()]);
  return packets;
}

void FakeRocr::take(hsa_queue_t *queue, uint64_t count) { of(queue).read += count; }

hsa_signal_value_t FakeRocr::rung(const hsa_queue_t *queue) const {
  return __atomic_load_n(&of(queue->doorbell_signal).value, __ATOMIC_ACQUIRE);
}

} // namespace luthier::hsa::test
