#include "fixture.h"

#include <hsa/amd_hsa_signal.h>

#include <cstdlib>
#include <fstream>
#include <thread>

namespace luthier::hsa::test {

namespace {
HsaApiTable *table = nullptr;
unsigned handoverCount = 0;
} // namespace

HsaApiTable *receivedTable() { return table; }
unsigned handovers() { return handoverCount; }

extern "C" {

[[gnu::visibility("default")]] void luthierTestOnLoad(void *given) {
  table = static_cast<HsaApiTable *>(given);
  ++handoverCount;
  succeed(Interceptor::instance().install(table));
}

[[gnu::visibility("default")]] void luthierTestOnUnload() {
  Interceptor::instance().uninstall();
  lifetime::noteAllDestroyed();
  table = nullptr;
}

} // extern "C"

void startHsa(const std::vector<std::string> &tools, const std::string &gpus) {
  std::string names;
  for (const std::string &tool : tools)
    names += (names.empty() ? "" : " ") + (tool == "luthier" ? std::string(HANDOVER_LIBRARY) : tool);
  setenv("HSA_TOOLS_LIB", names.c_str(), 1);
  setenv("HSA_TOOLS_REPORT_LOAD_FAILURE", "1", 1);
  setenv("LUTHIER_VGPU_GPUS", gpus.c_str(), 1);
  const hsa_status_t status = hsa_init();
  if (status != HSA_STATUS_SUCCESS) {
    ADD_FAILURE() << "hsa_init: " << std::hex << status;
    std::abort();
  }
}

void stopHsa() { EXPECT_EQ(hsa_shut_down(), HSA_STATUS_SUCCESS); }

bool canStartAgain() {
  unsetenv("HSA_TOOLS_LIB");
  if (hsa_init() != HSA_STATUS_SUCCESS)
    return false;
  hsa_shut_down();
  return true;
}

std::vector<std::byte> readFile(const std::string &path) {
  std::ifstream stream(path, std::ios::binary | std::ios::ate);
  EXPECT_TRUE(stream) << path;
  std::vector<std::byte> bytes(static_cast<size_t>(stream.tellg()));
  stream.seekg(0);
  stream.read(reinterpret_cast<char *>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

Kernels::Kernels(Agent agent) : Kernels(agent, readFile(KERNELS)) {}

Kernels::Kernels(Agent agent, std::vector<std::byte> elf) : agent_(agent), elf_(std::move(elf)) {
  reader_ = value(CodeObjectReader::fromMemory(elf_));
  executable_ = value(Executable::create());
  value(executable_->load(agent, *reader_));
  succeed(executable_->freeze());
  pool_ = value(value(Agent::cpus()).at(0).globalPool(HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED));
}

void *Kernels::allocate(size_t bytes) {
  PoolMemory memory = value(pool_.allocate(bytes));
  succeed(memory.allowAccess({&agent_, 1}));
  memset(memory.data(), 0, bytes);
  std::lock_guard lock(mutex_);
  memory_.push_back(std::move(memory));
  return memory_.back().data();
}

AqlPacket Kernels::packet(const std::string &kernel, hsa_signal_t completion, uint16_t lanes, void *arguments) const {
  const ExecutableSymbol found = symbol(kernel + ".kd");
  hsa_kernel_dispatch_packet_t packet = {};
  packet.header = HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE |
                  HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                  HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
  packet.setup = 1 << HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS;
  packet.workgroup_size_x = lanes;
  packet.workgroup_size_y = packet.workgroup_size_z = 1;
  packet.grid_size_x = lanes;
  packet.grid_size_y = packet.grid_size_z = 1;
  packet.private_segment_size = value(found.privateSegmentSize());
  packet.group_segment_size = value(found.groupSegmentSize());
  packet.kernel_object = value(found.kernelObject());
  packet.kernarg_address = arguments;
  packet.completion_signal = completion;
  return AqlPacket::from(packet);
}

AqlPacket barrier(std::vector<hsa_signal_t> dependencies, hsa_signal_t completion, bool barrierBit) {
  hsa_barrier_and_packet_t packet = {};
  packet.header = static_cast<uint16_t>(HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE |
                                        (barrierBit ? 1 : 0) << HSA_PACKET_HEADER_BARRIER |
                                        HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                                        HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE);
  for (size_t n = 0; n < dependencies.size(); ++n)
    packet.dep_signal[n] = dependencies[n];
  packet.completion_signal = completion;
  return AqlPacket::from(packet);
}

AppQueue::AppQueue(Agent agent, uint32_t size) {
  EXPECT_EQ(
      hsa_queue_create(agent.raw(), size, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, UINT32_MAX, UINT32_MAX, &queue_),
      HSA_STATUS_SUCCESS);
}

void AppQueue::destroy() {
  if (queue_)
    EXPECT_EQ(hsa_queue_destroy(std::exchange(queue_, nullptr)), HSA_STATUS_SUCCESS);
}

void AppQueue::write(uint64_t index, const AqlPacket &packet) {
  while (index - hsa_queue_load_read_index_scacquire(queue_) >= queue_->size)
    std::this_thread::yield();
  packet.writeTo(static_cast<AqlPacket *>(queue_->base_address) + (index & (queue_->size - 1)));
}

uint64_t AppQueue::submit(const AqlPacket &packet) {
  const uint64_t index = reserve();
  write(index, packet);
  ring(index);
  return index;
}

AppExecutable::AppExecutable(Agent gpu) {
  std::vector<std::byte> elf = readFile(KERNELS);
  hsa_code_object_reader_t reader = {};
  EXPECT_EQ(hsa_code_object_reader_create_from_memory(elf.data(), elf.size(), &reader), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr, &handle_),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_executable_load_agent_code_object(handle_, gpu.raw(), reader, nullptr, nullptr), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_executable_freeze(handle_, nullptr), HSA_STATUS_SUCCESS);
  hsa_executable_symbol_t symbol = {};
  const hsa_agent_t agent = gpu.raw();
  EXPECT_EQ(hsa_executable_get_symbol_by_name(handle_, "count.kd", &agent, &symbol), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &kernelObject_),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_code_object_reader_destroy(reader), HSA_STATUS_SUCCESS);
  std::ranges::fill(elf, std::byte{0xff});
}

void AppExecutable::destroy() {
  if (handle_.handle)
    EXPECT_EQ(hsa_executable_destroy(std::exchange(handle_, {})), HSA_STATUS_SUCCESS);
}

namespace {

/// A load where ThreadSanitizer sees it: ROCr, which has waited, is not built for it, and the kernel's results are read
/// next.
hsa_signal_value_t acquire(hsa_signal_t signal) {
  return __atomic_load_n(&reinterpret_cast<amd_signal_t *>(signal.handle)->value, __ATOMIC_ACQUIRE);
}

} // namespace

bool finished(const Signal &signal) {
  return signal.wait(HSA_SIGNAL_CONDITION_EQ, 0, kPatience) == 0 && acquire(signal.raw()) == 0;
}

AppSignal::AppSignal(hsa_signal_value_t value) {
  EXPECT_EQ(hsa_signal_create(value, 0, nullptr, &signal_), HSA_STATUS_SUCCESS);
}

bool AppSignal::waitFor(hsa_signal_value_t value) const {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (hsa_signal_wait_scacquire(signal_, HSA_SIGNAL_CONDITION_LT, value + 1, 100'000'000, HSA_WAIT_STATE_BLOCKED) >
         value)
    if (std::chrono::steady_clock::now() > end)
      return false;
  return acquire(signal_) <= value;
}

} // namespace luthier::hsa::test
