// Usage: hsa_dispatch CODE_OBJECT DISPATCHES
//
// Submits that many dispatches of one work-item to one HSA queue, as fast as it takes them, and prints how many per
// second were executed. bench/hsa_bench.cc runs it with and without Luthier in between.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <fcntl.h>

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

namespace {

void check(hsa_status_t status, const char *what) {
  if (status == HSA_STATUS_SUCCESS)
    return;
  fprintf(stderr, "%s: status %#x\n", what, static_cast<unsigned>(status));
  exit(1);
}
#define CHECK(call) check(call, #call)

hsa_agent_t gpu;
hsa_amd_memory_pool_t pool;

uint64_t loadKernel(const char *path) {
  const int file = open(path, O_RDONLY);
  hsa_code_object_reader_t reader;
  hsa_executable_t executable;
  hsa_executable_symbol_t symbol;
  uint64_t object = 0;
  CHECK(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr, &executable));
  CHECK(hsa_code_object_reader_create_from_file(file, &reader));
  CHECK(hsa_executable_load_agent_code_object(executable, gpu, reader, nullptr, nullptr));
  CHECK(hsa_executable_freeze(executable, nullptr));
  CHECK(hsa_executable_get_symbol_by_name(executable, "count.kd", &gpu, &symbol));
  CHECK(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &object));
  return object;
}

void findGpuAndMemory() {
  auto visitPool = [](hsa_amd_memory_pool_t candidate, void *) {
    uint32_t flags = 0;
    hsa_amd_memory_pool_get_info(candidate, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags);
    if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT)
      pool = candidate;
    return HSA_STATUS_SUCCESS;
  };
  static hsa_status_t (*const onPool)(hsa_amd_memory_pool_t, void *) = visitPool;
  auto visitAgent = [](hsa_agent_t agent, void *) {
    hsa_device_type_t type;
    if (hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type) == HSA_STATUS_SUCCESS && type == HSA_DEVICE_TYPE_GPU)
      gpu = agent;
    return hsa_amd_agent_iterate_memory_pools(agent, onPool, nullptr);
  };
  CHECK(hsa_iterate_agents(visitAgent, nullptr));
}

void submit(hsa_queue_t *queue, const hsa_kernel_dispatch_packet_t &packet, bool last) {
  const uint64_t index = hsa_queue_add_write_index_scacq_screl(queue, 1);
  while (index - hsa_queue_load_read_index_scacquire(queue) >= queue->size)
    std::this_thread::yield();
  char *slot = static_cast<char *>(queue->base_address) + index % queue->size * sizeof packet;
  memcpy(slot + 4, reinterpret_cast<const char *>(&packet) + 4, sizeof packet - 4);
  const uint32_t header = HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE |
                          static_cast<uint32_t>(last) << HSA_PACKET_HEADER_BARRIER |
                          HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                          HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
  __atomic_store_n(reinterpret_cast<uint32_t *>(slot), header | 1u << 16, __ATOMIC_RELEASE);
  hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: hsa_dispatch CODE_OBJECT DISPATCHES\n");
    return 2;
  }
  const int dispatches = std::max(1, atoi(argv[2]));
  CHECK(hsa_init());
  findGpuAndMemory();
  hsa_kernel_dispatch_packet_t packet = {};
  packet.workgroup_size_x = packet.workgroup_size_y = packet.workgroup_size_z = 1;
  packet.grid_size_x = packet.grid_size_y = packet.grid_size_z = 1;
  packet.kernel_object = loadKernel(argv[1]);
  void *memory = nullptr;
  CHECK(hsa_amd_memory_pool_allocate(pool, 4096, 0, &memory));
  CHECK(hsa_amd_agents_allow_access(1, &gpu, nullptr, memory));
  auto *counter = static_cast<uint64_t *>(memory);
  auto **arguments = reinterpret_cast<uint64_t **>(counter + 8);
  *counter = 0;
  *arguments = counter;
  packet.kernarg_address = arguments;
  hsa_queue_t *queue = nullptr;
  CHECK(hsa_queue_create(gpu, 1024, HSA_QUEUE_TYPE_SINGLE, nullptr, nullptr, UINT32_MAX, UINT32_MAX, &queue));
  hsa_signal_t done;
  CHECK(hsa_signal_create(1, 0, nullptr, &done));

  const auto begin = std::chrono::steady_clock::now();
  for (int n = 0; n < dispatches; ++n) {
    const bool last = n == dispatches - 1;
    packet.completion_signal = last ? done : hsa_signal_t{};
    submit(queue, packet, last);
  }
  while (hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED) > 0) {
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (*counter != static_cast<uint64_t>(dispatches)) {
    fprintf(stderr, "%llu of %d dispatches were executed\n", static_cast<unsigned long long>(*counter), dispatches);
    return 1;
  }
  printf("%.0f\n", dispatches / seconds);
  CHECK(hsa_queue_destroy(queue));
  return 0;
}
