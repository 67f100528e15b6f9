// Two consumers in one process: HIP's, which serves HIP's printf, and the one of libamd_hostcall.so, which serves a
// buffer of our own. Kernels use both at once.
#include "luthier/hostcall.h"
#include "sample.h"

#include <amd_hostcall.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <unistd.h>

using namespace luthier;

constexpr int Launches = 2, Groups = 6, GroupSize = 100, Items = Groups * GroupSize;
constexpr unsigned Packets = 256;

__global__ void callAndPrint(void *buffer, int launch, unsigned long long *answers) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  answers[i] = hostcall::callOn(buffer, 42, i, launch).first;
  if (i % 3 == 0)
    printf("hip %d %u\n", launch, i);
  else if (i % 3 == 1)
    hostcall::printfOn(buffer, "ours %d %u\n", launch, i);
}

static std::atomic<int> calls{0};

static int answer(void *, uint32_t, uint64_t *payload) {
  ++calls;
  payload[0] = payload[0] * 2 + payload[1];
  return 0;
}

static void check(amd_hostcall_error_t error, const char *what) {
  if (error != AMD_HOSTCALL_SUCCESS)
    sample::fail("%s: %s", what, amd_hostcall_error_string(error));
}
#define HOSTCALL_CHECK(call) check(call, #call)

int main() {
  HIP_CHECK(hipInit(0));
  HIP_CHECK(hipSetDevice(0));
  void *memory[Launches];
  for (void *&buffer : memory)
    HIP_CHECK(hipHostMalloc(&buffer, amd_hostcall_get_buffer_size(Packets), hipHostMallocCoherent));
  amd_hostcall_consumer_t *consumer = nullptr;
  HOSTCALL_CHECK(amd_hostcall_create_consumer(&consumer));
  HOSTCALL_CHECK(amd_hostcall_register_service(42, answer, nullptr));
  HOSTCALL_CHECK(amd_hostcall_launch_consumer(consumer));
  for (void *buffer : memory) {
    HOSTCALL_CHECK(amd_hostcall_initialize_buffer(buffer, Packets));
    HOSTCALL_CHECK(amd_hostcall_register_buffer(consumer, buffer));
    const auto *header = static_cast<hostcall::wire::Buffer *>(buffer);
    if (reinterpret_cast<hostcall::wire::Signal *>(header->doorbell)->mailbox == 0)
      sample::fail("the doorbell does not interrupt the host");
  }

  char path[] = "/tmp/hostcall.XXXXXX";
  const int file = mkstemp(path);
  std::fflush(stdout);
  const int terminal = dup(STDOUT_FILENO);
  dup2(file, STDOUT_FILENO);
  std::vector<std::unique_ptr<sample::DeviceArray<unsigned long long>>> answers;
  for (int n = 0; n < Launches; ++n)
    answers.push_back(std::make_unique<sample::DeviceArray<unsigned long long>>(Items));
  for (int n = 0; n < Launches; ++n)
    callAndPrint<<<Groups, GroupSize>>>(memory[n], n, answers[n]->data());
  const hipError_t launched = hipGetLastError(), finished = hipDeviceSynchronize();
  std::fflush(stdout);
  dup2(terminal, STDOUT_FILENO);
  HIP_CHECK(launched);
  HIP_CHECK(finished);

  std::vector<std::string> lines, expected;
  FILE *printed = fopen(path, "r");
  for (char line[128]; fgets(line, sizeof line, printed);)
    lines.emplace_back(line);
  unlink(path);
  for (int n = 0; n < Launches; ++n) {
    const auto got = answers[n]->toHost();
    for (int i = 0; i < Items; ++i) {
      if (got[i] != static_cast<unsigned long long>(2 * i + n))
        sample::fail("item %d of launch %d has answer %llu", i, n, got[i]);
      if (i % 3 != 2)
        expected.push_back(std::string(i % 3 ? "ours " : "hip ") + std::to_string(n) + " " + std::to_string(i) + "\n");
    }
  }
  if (calls != Launches * Items)
    sample::fail("the service was called %d times", calls.load());
  std::sort(lines.begin(), lines.end());
  std::sort(expected.begin(), expected.end());
  if (lines != expected)
    sample::fail("%zu lines were printed, expected %zu, or they differ", lines.size(), expected.size());
  HOSTCALL_CHECK(amd_hostcall_deregister_buffer(consumer, memory[0]));
  HOSTCALL_CHECK(amd_hostcall_destroy_consumer(consumer)); // with a buffer
  for (void *buffer : memory)
    HIP_CHECK(hipHostFree(buffer));
  std::printf("%zu lines from two printfs, %d calls\n", lines.size(), calls.load());
  return sample::pass();
}
