// A second HSA tool beside Luthier: counts the calls and packets that it sees.
//
// With SECOND_TOOL_INTERCEPT_QUEUES it does what profilers do: it replaces the application's queues by ROCr's intercept
// queues.
#include <hsa/hsa_api_trace.h>

#include <atomic>
#include <cstdlib>

namespace {

CoreApiTable core;
decltype(&hsa_amd_queue_intercept_create) createInterceptQueue = nullptr;
decltype(&hsa_amd_queue_intercept_register) registerInterceptor = nullptr;
bool interceptQueues = false;
std::atomic<uint64_t> queues = 0, executables = 0, packets = 0;

void countPackets(const void *batch, uint64_t count, uint64_t, void *, hsa_amd_queue_intercept_packet_writer writer) {
  packets += count;
  writer(batch, count);
}

hsa_status_t createQueue(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                         void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data, uint32_t privateSegment,
                         uint32_t groupSegment, hsa_queue_t **queue) {
  ++queues;
  if (!interceptQueues)
    return core.hsa_queue_create_fn(agent, size, type, callback, data, privateSegment, groupSegment, queue);
  const hsa_status_t status =
      createInterceptQueue(agent, size, type, callback, data, privateSegment, groupSegment, queue);
  if (status != HSA_STATUS_SUCCESS)
    return status;
  return registerInterceptor(*queue, countPackets, nullptr);
}

hsa_status_t freezeExecutable(hsa_executable_t executable, const char *options) {
  ++executables;
  return core.hsa_executable_freeze_fn(executable, options);
}

} // namespace

extern "C" {

[[gnu::visibility("default")]] bool OnLoad(HsaApiTable *table, uint64_t, uint64_t, const char *const *) {
  core = *table->core_;
  // One tool for every ROCr: functions have moved in 5.6, which has 55 of them.
  auto **amd = reinterpret_cast<void **>(&table->amd_ext_->version + 1);
  const size_t functions = (table->amd_ext_->version.minor_id - sizeof(ApiTableVersion)) / sizeof(void *);
  const size_t place = functions < 55 ? 35 : 37;
  createInterceptQueue = reinterpret_cast<decltype(createInterceptQueue)>(amd[place]);
  registerInterceptor = reinterpret_cast<decltype(registerInterceptor)>(amd[place + 1]);
  interceptQueues = getenv("SECOND_TOOL_INTERCEPT_QUEUES") != nullptr;
  queues = executables = packets = 0;
  table->core_->hsa_queue_create_fn = createQueue;
  table->core_->hsa_executable_freeze_fn = freezeExecutable;
  return true;
}

[[gnu::visibility("default")]] void OnUnload() {}

[[gnu::visibility("default")]] uint64_t secondToolQueues() { return queues; }
[[gnu::visibility("default")]] uint64_t secondToolExecutables() { return executables; }
[[gnu::visibility("default")]] uint64_t secondToolPackets() { return packets; }

} // extern "C"
