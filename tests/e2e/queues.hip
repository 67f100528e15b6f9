// Many threads, each with an HSA queue of its own, submit small dispatches with barrier packets between them, while
// another thread loads and unloads HIP modules. Every dispatch adds one to a counter, so a lost packet shows, and so
// does one that was processed twice. Usage: queues [threads] [dispatches per thread]. Prints what it submitted, and
// PASS or FAIL.
#include "sample.h"

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <thread>
#include <vector>

namespace {

#define HSA_CHECK(call)                                                                                                \
  do {                                                                                                                 \
    if (hsa_status_t status = (call); status != HSA_STATUS_SUCCESS)                                                    \
      sample::fail("%s: status %#x", #call, static_cast<unsigned>(status));                                            \
  } while (0)

hsa_agent_t gpu;
const char *codeObject;
uint64_t kernelObject;
constexpr int kBarrierEvery = 8;
constexpr uint32_t kSlots = 1024;

constexpr uint16_t header(int type, bool barrier) {
  return static_cast<uint16_t>(type << HSA_PACKET_HEADER_TYPE | barrier << HSA_PACKET_HEADER_BARRIER |
                               HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                               HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE);
}

template <class Packet> void submit(hsa_queue_t *queue, const Packet &packet, uint32_t head) {
  const uint64_t index = hsa_queue_add_write_index_scacq_screl(queue, 1);
  while (index - hsa_queue_load_read_index_scacquire(queue) >= queue->size)
    std::this_thread::yield();
  char *slot = static_cast<char *>(queue->base_address) + index % queue->size * sizeof packet;
  memcpy(slot + 4, reinterpret_cast<const char *>(&packet) + 4, sizeof packet - 4);
  __atomic_store_n(reinterpret_cast<uint32_t *>(slot), head, __ATOMIC_RELEASE);
  hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
}

void submitAll(uint64_t *counter, uint64_t **arguments, int dispatches) {
  *arguments = counter;
  hsa_queue_t *queue = nullptr;
  HSA_CHECK(hsa_queue_create(gpu, kSlots, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, UINT32_MAX, UINT32_MAX, &queue));
  hsa_signal_t gate, done;
  HSA_CHECK(hsa_signal_create(1, 0, nullptr, &gate));
  HSA_CHECK(hsa_signal_create(1, 0, nullptr, &done));
  hsa_kernel_dispatch_packet_t dispatch = {};
  dispatch.workgroup_size_x = dispatch.workgroup_size_y = dispatch.workgroup_size_z = 1;
  dispatch.grid_size_x = dispatch.grid_size_y = dispatch.grid_size_z = 1;
  dispatch.kernel_object = kernelObject;
  dispatch.kernarg_address = arguments;
  for (int n = 0; n < dispatches; ++n) {
    if (n % kBarrierEvery == 0) {
      // The first ones wait for a signal that is sent when more packets than fit are on their way.
      hsa_barrier_and_packet_t barrier = {};
      barrier.dep_signal[0] = gate;
      submit(queue, barrier, header(HSA_PACKET_TYPE_BARRIER_AND, true));
    }
    if (n == std::min(dispatches, static_cast<int>(kSlots) / 2) - 1)
      hsa_signal_store_screlease(gate, 0);
    const bool last = n == dispatches - 1;
    dispatch.completion_signal = last ? done : hsa_signal_t{};
    submit(queue, dispatch, header(HSA_PACKET_TYPE_KERNEL_DISPATCH, last) | 1u << 16);
  }
  while (hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED) != 0) {
  }
  HSA_CHECK(hsa_queue_destroy(queue));
  HSA_CHECK(hsa_signal_destroy(gate));
  HSA_CHECK(hsa_signal_destroy(done));
}

void findGpu() {
  auto visit = [](hsa_agent_t agent, void *) {
    hsa_device_type_t type;
    if (hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type) == HSA_STATUS_SUCCESS && type == HSA_DEVICE_TYPE_GPU)
      gpu = agent;
    return HSA_STATUS_SUCCESS;
  };
  HSA_CHECK(hsa_iterate_agents(visit, nullptr));
}

void loadKernel() {
  const int file = open(codeObject, O_RDONLY);
  hsa_code_object_reader_t reader;
  hsa_executable_t executable;
  hsa_executable_symbol_t symbol;
  HSA_CHECK(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr, &executable));
  HSA_CHECK(hsa_code_object_reader_create_from_file(file, &reader));
  HSA_CHECK(hsa_executable_load_agent_code_object(executable, gpu, reader, nullptr, nullptr));
  HSA_CHECK(hsa_executable_freeze(executable, nullptr));
  HSA_CHECK(hsa_executable_get_symbol_by_name(executable, "count.kd", &gpu, &symbol));
  HSA_CHECK(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &kernelObject));
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 2)
    sample::fail("usage: queues CODE_OBJECT [threads] [dispatches per thread]");
  codeObject = argv[1];
  const int threads = argc > 2 ? atoi(argv[2]) : 8;
  const int dispatches = argc > 3 ? atoi(argv[3]) : 12500;
  HIP_CHECK(hipInit(0));
  HSA_CHECK(hsa_init());
  findGpu();
  loadKernel();
  uint64_t *shared = nullptr; // one counter per thread, then the arguments, each in a cache line of its own
  HIP_CHECK(hipHostMalloc(&shared, static_cast<size_t>(threads) * 128, 0));
  memset(shared, 0, static_cast<size_t>(threads) * 128);

  std::atomic<bool> stop = false;
  std::atomic<int> loads = 0;
  std::thread modules([&] {
    while (!stop) {
      hipModule_t module;
      hipFunction_t function;
      HIP_CHECK(hipModuleLoad(&module, codeObject));
      HIP_CHECK(hipModuleGetFunction(&function, module, "count"));
      HIP_CHECK(hipModuleUnload(module));
      ++loads;
    }
  });
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t)
    workers.emplace_back(submitAll, shared + t * 8, reinterpret_cast<uint64_t **>(shared + (threads + t) * 8),
                         dispatches);
  for (std::thread &worker : workers)
    worker.join();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  stop = true;
  modules.join();

  for (int t = 0; t < threads; ++t)
    if (shared[t * 8] != static_cast<uint64_t>(dispatches))
      sample::fail("thread %d: %llu of %d dispatches were executed", t, static_cast<unsigned long long>(shared[t * 8]),
                   dispatches);
  const int barriers = (dispatches + kBarrierEvery - 1) / kBarrierEvery;
  std::printf("%d dispatches and %d barriers on %d queues, %d modules loaded and unloaded, %.0f packets/s\n",
              threads * dispatches, threads * barriers, threads, loads.load(),
              threads * (dispatches + barriers) / seconds);
  return sample::pass();
}
