// Two consumers in one process: HIP's, which serves HIP's printf, and the one of libamd_hostcall.so, which serves a
// buffer of our own. Kernels use both at once.
#include "luthier/hostcall.h"
#include "sample.h"

#include <amd_hostcall.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>
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

static std::string textOf(const char *path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Takes `part` out of `text` and says whether it was there. HIP writes a message piece by piece, so that a line of
/// ours, which is written as one, may stand in the middle of a line of HIP's.
static bool take(std::string &text, const std::string &part) {
  const size_t at = text.find(part);
  if (at != std::string::npos)
    text.erase(at, part.size());
  return at != std::string::npos;
}

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

  std::string hipText = textOf(path);
  unlink(path);
  std::vector<std::string> hipLines, hipExpected;
  for (int n = 0; n < Launches; ++n) {
    const auto got = answers[n]->toHost();
    for (int i = 0; i < Items; ++i) {
      if (got[i] != static_cast<unsigned long long>(2 * i + n))
        sample::fail("item %d of launch %d has answer %llu", i, n, got[i]);
      const std::string numbers = std::to_string(n) + " " + std::to_string(i) + "\n";
      if (i % 3 == 0)
        hipExpected.push_back("hip " + numbers);
      else if (i % 3 == 1 && !take(hipText, "ours " + numbers))
        sample::fail("no such line, in one piece: ours %s", numbers.c_str());
    }
  }
  if (calls != Launches * Items)
    sample::fail("the service was called %d times", calls.load());
  for (std::istringstream rest(hipText); std::getline(rest, hipText);)
    hipLines.push_back(hipText + "\n");
  std::sort(hipLines.begin(), hipLines.end());
  std::sort(hipExpected.begin(), hipExpected.end());
  if (hipLines != hipExpected)
    sample::fail("HIP printed %zu lines, expected %zu, or they differ", hipLines.size(), hipExpected.size());
  HOSTCALL_CHECK(amd_hostcall_deregister_buffer(consumer, memory[0]));
  HOSTCALL_CHECK(amd_hostcall_destroy_consumer(consumer)); // with a buffer
  for (void *buffer : memory)
    HIP_CHECK(hipHostFree(buffer));
  std::printf("%zu lines of HIP's printf beside ours, %d calls\n", hipLines.size(), calls.load());
  return sample::pass();
}
