// Usage: link_objects links|undefined|twice FILE...
//
// Loads the code objects into one executable in the order given, freezes it, and, where it must link, runs the kernel
// callForeign on the GPU and compares what it computed with the host. Plain HSA, no HIP: what an application would do.

#include "foreign.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include "luthier/hsa_ext.h"

namespace {

void check(hsa_status_t status, const char *what) {
  if (status == HSA_STATUS_SUCCESS)
    return;
  const char *text = "";
  hsa_status_string(status, &text);
  printf("%s: %s\n", what, text);
  exit(1);
}
#define CHECK(call) check(call, #call)

hsa_agent_t theGpu() {
  hsa_agent_t gpu = {};
  auto visit = [](hsa_agent_t agent, void *data) {
    hsa_device_type_t type;
    if (hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type) == HSA_STATUS_SUCCESS && type == HSA_DEVICE_TYPE_GPU)
      *static_cast<hsa_agent_t *>(data) = agent;
    return HSA_STATUS_SUCCESS;
  };
  CHECK(hsa_iterate_agents(visit, &gpu));
  return gpu;
}

template <class T> T *sharedMemory(hsa_agent_t gpu, size_t count) {
  struct Search {
    hsa_amd_memory_pool_t pool = {};
  } search;
  auto visitPool = [](hsa_amd_memory_pool_t pool, void *data) {
    uint32_t flags = 0;
    hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags);
    if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT)
      static_cast<Search *>(data)->pool = pool;
    return HSA_STATUS_SUCCESS;
  };
  static hsa_status_t (*const onPool)(hsa_amd_memory_pool_t, void *) = visitPool;
  auto visitAgent = [](hsa_agent_t agent, void *data) {
    return hsa_amd_agent_iterate_memory_pools(agent, onPool, data);
  };
  CHECK(hsa_iterate_agents(visitAgent, &search));
  void *memory = nullptr;
  CHECK(hsa_amd_memory_pool_allocate(search.pool, count * sizeof(T), 0, &memory));
  CHECK(hsa_amd_agents_allow_access(1, &gpu, nullptr, memory));
  memset(memory, 0, count * sizeof(T));
  return static_cast<T *>(memory);
}

template <class T> T symbolInfo(hsa_executable_symbol_t symbol, hsa_executable_symbol_info_t what) {
  T value{};
  CHECK(hsa_executable_symbol_get_info(symbol, what, &value));
  return value;
}

struct Function {
  std::string name;
  uint64_t address, size;
  hsa_executable_symbol_t symbol;
};

/// The executable's symbols of the kind that ROCr alone never returns.
std::vector<Function> deviceFunctions(hsa_agent_t gpu, hsa_executable_t executable) {
  std::vector<Function> result;
  auto visit = [](hsa_executable_t, hsa_agent_t agent, hsa_executable_symbol_t symbol, void *data) {
    if (symbolInfo<hsa_symbol_kind_t>(symbol, HSA_EXECUTABLE_SYMBOL_INFO_TYPE) != HSA_SYMBOL_KIND_INDIRECT_FUNCTION)
      return HSA_STATUS_SUCCESS;
    if (symbolInfo<hsa_agent_t>(symbol, HSA_EXECUTABLE_SYMBOL_INFO_AGENT).handle != agent.handle)
      return HSA_STATUS_ERROR;
    std::string name(symbolInfo<uint32_t>(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH), 0);
    CHECK(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME, name.data()));
    static_cast<std::vector<Function> *>(data)->push_back(
        {name, symbolInfo<uint64_t>(symbol, HSA_EXECUTABLE_SYMBOL_INFO_INDIRECT_FUNCTION_OBJECT),
         symbolInfo<uint64_t>(symbol, hsa_executable_symbol_info_t(LUTHIER_EXECUTABLE_SYMBOL_INFO_FUNCTION_SIZE)),
         symbol});
    return HSA_STATUS_SUCCESS;
  };
  CHECK(hsa_executable_iterate_agent_symbols(executable, gpu, visit, &result));
  return result;
}

/// Both functions are symbols, by iteration and by name, and the kernel is known to call both.
bool symbolsAreRight(hsa_agent_t gpu, hsa_executable_t executable) {
  const std::vector<Function> functions = deviceFunctions(gpu, executable);
  bool right = functions.size() == 2;
  for (const Function &function : functions) {
    printf("%s: %llu bytes\n", function.name.c_str(), static_cast<unsigned long long>(function.size));
    hsa_executable_symbol_t byName = {};
    CHECK(hsa_executable_get_symbol_by_name(executable, function.name.c_str(), &gpu, &byName));
    right &= byName.handle == function.symbol.handle && function.address != 0 && function.size != 0;
  }
  hsa_executable_symbol_t kernel;
  CHECK(hsa_executable_get_symbol_by_name(executable, "callForeign.kd", &gpu, &kernel));
  const auto count =
      symbolInfo<uint32_t>(kernel, hsa_executable_symbol_info_t(LUTHIER_EXECUTABLE_SYMBOL_INFO_KERNEL_CALLEE_COUNT));
  std::vector<hsa_executable_symbol_t> callees(count);
  CHECK(hsa_executable_symbol_get_info(
      kernel, hsa_executable_symbol_info_t(LUTHIER_EXECUTABLE_SYMBOL_INFO_KERNEL_CALLEES), callees.data()));
  right &= count == 2 && callees[0].handle != callees[1].handle;
  for (const hsa_executable_symbol_t callee : callees)
    right &= callee.handle == functions[0].symbol.handle || callee.handle == functions[1].symbol.handle;
  hsa_executable_symbol_t none;
  right &= hsa_executable_get_symbol_by_name(executable, "noSuchFunction", &gpu, &none) ==
           HSA_STATUS_ERROR_INVALID_SYMBOL_NAME;
  printf("symbols are %s\n", right ? "right" : "WRONG");
  return right;
}

int run(hsa_agent_t gpu, hsa_executable_t executable) {
  hsa_executable_symbol_t kernel;
  CHECK(hsa_executable_get_symbol_by_name(executable, "callForeign.kd", &gpu, &kernel));
  const auto object = symbolInfo<uint64_t>(kernel, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT);
  const auto scratch = symbolInfo<uint32_t>(kernel, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE);
  const auto kernarg = symbolInfo<uint32_t>(kernel, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE);
  printf("scratch %u, kernarg %u\n", scratch, kernarg);

  constexpr uint32_t kItems = 256, kExtra = 12345;
  auto *out = sharedMemory<unsigned>(gpu, kItems);
  auto *arguments = sharedMemory<uint64_t>(gpu, 64);
  arguments[0] = reinterpret_cast<uint64_t>(out);
  arguments[1] = kExtra;

  hsa_queue_t *queue = nullptr;
  CHECK(hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_SINGLE, nullptr, nullptr, UINT32_MAX, UINT32_MAX, &queue));
  hsa_signal_t done;
  CHECK(hsa_signal_create(1, 0, nullptr, &done));
  const uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
  auto *packet = static_cast<hsa_kernel_dispatch_packet_t *>(queue->base_address) + index % queue->size;
  hsa_kernel_dispatch_packet_t dispatch = {};
  dispatch.workgroup_size_x = 64;
  dispatch.workgroup_size_y = dispatch.workgroup_size_z = 1;
  dispatch.grid_size_x = kItems;
  dispatch.grid_size_y = dispatch.grid_size_z = 1;
  // As a program would that knows its kernel only from its own metadata.
  dispatch.private_segment_size = 0;
  dispatch.kernel_object = object;
  dispatch.kernarg_address = arguments;
  dispatch.completion_signal = done;
  memcpy(reinterpret_cast<char *>(packet) + 4, reinterpret_cast<char *>(&dispatch) + 4, sizeof dispatch - 4);
  const uint32_t header = HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE |
                          HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                          HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
  __atomic_store_n(reinterpret_cast<uint32_t *>(packet), header | 1u << 16, __ATOMIC_RELEASE);
  hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
  hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);

  unsigned wrong = 0;
  for (uint32_t n = 0; n < kItems; ++n)
    if (out[n] != mixed(n, helped(kExtra)) + n)
      ++wrong;
  printf("%u of %u wrong\n%s\n", wrong, kItems, wrong ? "FAIL" : "PASS");
  CHECK(hsa_queue_destroy(queue));
  CHECK(hsa_signal_destroy(done));
  return wrong != 0;
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 3)
    return 2;
  const std::string expected = argv[1];
  CHECK(hsa_init());
  const hsa_agent_t gpu = theGpu();
  hsa_executable_t executable;
  CHECK(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr, &executable));
  for (int n = 2; n < argc; ++n) {
    const int file = open(argv[n], O_RDONLY);
    if (file < 0) {
      perror(argv[n]);
      return 1;
    }
    hsa_code_object_reader_t reader;
    CHECK(hsa_code_object_reader_create_from_file(file, &reader));
    close(file);
    CHECK(hsa_executable_load_agent_code_object(executable, gpu, reader, nullptr, nullptr));
    CHECK(hsa_code_object_reader_destroy(reader));
  }
  const hsa_status_t frozen = hsa_executable_freeze(executable, nullptr);
  int status = 1;
  if (expected == "links") {
    check(frozen, "hsa_executable_freeze");
    status = run(gpu, executable) || !symbolsAreRight(gpu, executable);
  } else {
    status = frozen !=
             (expected == "twice" ? HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED : HSA_STATUS_ERROR_VARIABLE_UNDEFINED);
    printf("freeze: %#x\n%s\n", static_cast<unsigned>(frozen), status ? "FAIL" : "PASS");
  }
  CHECK(hsa_executable_destroy(executable));
  CHECK(hsa_shut_down());
  return status;
}
