// Kernel arguments that are not there yet when the packet is: written by the host while the packet waits behind a
// barrier, or by the kernel before it into memory of the GPU. While packets are submitted nobody may read the
// arguments: their page is inaccessible. Usage: late_arguments CODE_OBJECT
#include "sample.h"

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>

namespace {

#define HSA_CHECK(call)                                                                                                \
  do {                                                                                                                 \
    if (hsa_status_t status = (call); status != HSA_STATUS_SUCCESS)                                                    \
      sample::fail("%s: status %#x", #call, static_cast<unsigned>(status));                                            \
  } while (0)

constexpr size_t kPage = 4096;
constexpr unsigned kItems = 64;

hsa_agent_t gpu, cpu;
hsa_queue_t *queue;
hsa_executable_t executable;

void findAgents() {
  const auto visit = [](hsa_agent_t agent, void *) {
    hsa_device_type_t type;
    HSA_CHECK(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
    (type == HSA_DEVICE_TYPE_GPU ? gpu : cpu) = agent;
    return HSA_STATUS_SUCCESS;
  };
  HSA_CHECK(hsa_iterate_agents(visit, nullptr));
}

// A page of an agent's global memory of that kind, which the GPU may access.
template <class T> T *allocatePage(hsa_agent_t agent, uint32_t kind) {
  struct Search {
    uint32_t kind;
    hsa_amd_memory_pool_t found;
  } search = {kind, {}};
  const auto visit = [](hsa_amd_memory_pool_t pool, void *data) {
    auto &wanted = *static_cast<Search *>(data);
    hsa_amd_segment_t segment;
    uint32_t flags = 0;
    HSA_CHECK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment));
    if (segment != HSA_AMD_SEGMENT_GLOBAL)
      return HSA_STATUS_SUCCESS;
    HSA_CHECK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags));
    if (flags & wanted.kind)
      wanted.found = pool;
    return HSA_STATUS_SUCCESS;
  };
  HSA_CHECK(hsa_amd_agent_iterate_memory_pools(agent, visit, &search));
  void *memory = nullptr;
  HSA_CHECK(hsa_amd_memory_pool_allocate(search.found, kPage, 0, &memory));
  HSA_CHECK(hsa_amd_agents_allow_access(1, &gpu, nullptr, memory));
  return static_cast<T *>(memory);
}

void loadKernels(const char *path) {
  const int file = open(path, O_RDONLY);
  hsa_code_object_reader_t reader;
  HSA_CHECK(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr, &executable));
  HSA_CHECK(hsa_code_object_reader_create_from_file(file, &reader));
  HSA_CHECK(hsa_executable_load_agent_code_object(executable, gpu, reader, nullptr, nullptr));
  HSA_CHECK(hsa_executable_freeze(executable, nullptr));
}

uint64_t kernelNamed(const char *name) {
  hsa_executable_symbol_t symbol;
  uint64_t object = 0;
  HSA_CHECK(hsa_executable_get_symbol_by_name(executable, name, &gpu, &symbol));
  HSA_CHECK(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &object));
  return object;
}

template <class Packet> void submit(const Packet &packet, uint16_t type, uint16_t setup) {
  const uint64_t index = hsa_queue_add_write_index_scacq_screl(queue, 1);
  char *slot = static_cast<char *>(queue->base_address) + index % queue->size * sizeof packet;
  memcpy(slot + 4, reinterpret_cast<const char *>(&packet) + 4, sizeof packet - 4);
  const uint32_t header = type << HSA_PACKET_HEADER_TYPE | 1u << HSA_PACKET_HEADER_BARRIER |
                          HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                          HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
  __atomic_store_n(reinterpret_cast<uint32_t *>(slot), header | uint32_t{setup} << 16, __ATOMIC_RELEASE);
  hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
}

void waitBehind(hsa_signal_t gate) {
  hsa_barrier_and_packet_t barrier = {};
  barrier.dep_signal[0] = gate;
  submit(barrier, HSA_PACKET_TYPE_BARRIER_AND, 0);
}

void dispatch(uint64_t kernel, void *arguments, unsigned items, hsa_signal_t done) {
  hsa_kernel_dispatch_packet_t packet = {};
  packet.workgroup_size_x = static_cast<uint16_t>(items);
  packet.grid_size_x = items;
  packet.workgroup_size_y = packet.workgroup_size_z = packet.grid_size_y = packet.grid_size_z = 1;
  packet.kernel_object = kernel;
  packet.kernarg_address = arguments;
  packet.completion_signal = done;
  submit(packet, HSA_PACKET_TYPE_KERNEL_DISPATCH, 1);
}

void forbidAccess(void *page, bool forbidden) {
  if (mprotect(page, kPage, forbidden ? PROT_NONE : PROT_READ | PROT_WRITE) != 0)
    sample::fail("mprotect: %s", strerror(errno));
}

void waitFor(hsa_signal_t done) {
  while (hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED) != 0) {
  }
  hsa_signal_store_screlease(done, 1);
}

void expectStored(const char *what, const unsigned *out, unsigned value) {
  for (unsigned i = 0; i < kItems; ++i)
    if (out[i] != value + i)
      sample::fail("%s: out[%u] = %u, expected %u", what, i, out[i], value + i);
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 2)
    sample::fail("usage: late_arguments CODE_OBJECT");
  HSA_CHECK(hsa_init());
  findAgents();
  loadKernels(argv[1]);
  HSA_CHECK(hsa_queue_create(gpu, 1024, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, UINT32_MAX, UINT32_MAX, &queue));
  hsa_signal_t gate, done;
  HSA_CHECK(hsa_signal_create(1, 0, nullptr, &gate));
  HSA_CHECK(hsa_signal_create(1, 0, nullptr, &done));
  auto *out = allocatePage<unsigned>(cpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED);
  auto *late = allocatePage<uint64_t>(cpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT);
  auto *early = allocatePage<uint64_t>(cpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT);
  auto *onGpu = allocatePage<uint64_t>(gpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED);

  // By the host, once the packet is in the queue.
  forbidAccess(late, true);
  waitBehind(gate);
  dispatch(kernelNamed("store.kd"), late, kItems, done);
  forbidAccess(late, false);
  late[0] = reinterpret_cast<uint64_t>(out);
  late[1] = 1000;
  hsa_signal_store_screlease(gate, 0);
  waitFor(done);
  expectStored("arguments written behind a barrier", out, 1000);

  // By the kernel before it, in memory of the GPU.
  hsa_signal_store_screlease(gate, 1);
  early[0] = reinterpret_cast<uint64_t>(onGpu);
  early[1] = reinterpret_cast<uint64_t>(out);
  early[2] = 2000;
  forbidAccess(onGpu, true);
  waitBehind(gate);
  dispatch(kernelNamed("prepare.kd"), early, 1, {});
  dispatch(kernelNamed("store.kd"), onGpu, kItems, done);
  forbidAccess(onGpu, false);
  hsa_signal_store_screlease(gate, 0);
  waitFor(done);
  expectStored("arguments written by a kernel", out, 2000);

  dispatch(kernelNamed("nothing.kd"), nullptr, kItems, done);
  waitFor(done);
  HSA_CHECK(hsa_queue_destroy(queue));
  return sample::pass();
}
