// Many host threads, each with several streams, launching small kernels with copies between them; every result is
// checked. Usage: stress [threads] [streams per thread] [launches per thread] [rounds]. Prints PASS or FAIL, and the
// growth of resident memory between the first and the last round.
#include "sample.h"

#include <atomic>
#include <cstring>
#include <string>
#include <thread>

namespace {

constexpr int kItems = 256;

__global__ void step(uint32_t *data, uint32_t factor, uint32_t summand) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  data[i] = data[i] * factor + summand;
}

std::atomic<int> failures{0};

// One stream's chain: host -> device, a kernel, device -> device, another kernel, device -> host; checked when it is
// read.
struct Chain {
  hipStream_t stream;
  uint32_t *a, *b, *host;
  uint32_t expected[kItems];

  void create(uint32_t seed) {
    HIP_CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    HIP_CHECK(hipMalloc(&a, kItems * 4));
    HIP_CHECK(hipMalloc(&b, kItems * 4));
    HIP_CHECK(hipHostMalloc(&host, kItems * 4, 0));
    for (int i = 0; i < kItems; ++i)
      expected[i] = host[i] = seed + i;
    HIP_CHECK(hipMemcpyAsync(a, host, kItems * 4, hipMemcpyHostToDevice, stream));
  }
  void destroy() {
    HIP_CHECK(hipStreamDestroy(stream));
    HIP_CHECK(hipFree(a));
    HIP_CHECK(hipFree(b));
    HIP_CHECK(hipHostFree(host));
  }
  void launch(uint32_t number) {
    step<<<2, kItems / 2, 0, stream>>>(a, 3, number);
    for (uint32_t &x : expected)
      x = x * 3 + number;
    if (number % 4 == 0) {
      HIP_CHECK(hipMemcpyAsync(b, a, kItems * 4, hipMemcpyDeviceToDevice, stream));
      std::swap(a, b);
    }
    if (number % 16 == 0)
      check();
  }
  void check() {
    HIP_CHECK(hipMemcpyAsync(host, a, kItems * 4, hipMemcpyDeviceToHost, stream));
    HIP_CHECK(hipStreamSynchronize(stream));
    if (std::memcmp(host, expected, sizeof expected) != 0)
      ++failures;
  }
};

void worker(uint32_t seed, int streams, int launches) {
  std::vector<Chain> chains(streams);
  for (int s = 0; s < streams; ++s)
    chains[s].create(seed * 1000 + s);
  for (int n = 0; n < launches; ++n)
    for (Chain &chain : chains)
      chain.launch(n);
  for (Chain &chain : chains) {
    chain.check();
    chain.destroy();
  }
}

long residentKib() {
  FILE *file = std::fopen("/proc/self/statm", "r");
  long total = 0, resident = 0;
  if (!file || std::fscanf(file, "%ld %ld", &total, &resident) != 2)
    sample::fail("cannot read /proc/self/statm");
  std::fclose(file);
  return resident * 4;
}

} // namespace

int main(int argc, char **argv) {
  auto argument = [&](int n, int otherwise) { return argc > n ? std::atoi(argv[n]) : otherwise; };
  const int threads = argument(1, 8), streams = argument(2, 4), launches = argument(3, 5000), rounds = argument(4, 2);
  long afterFirst = 0;
  for (int round = 0; round < rounds; ++round) {
    std::vector<std::thread> pool;
    for (int t = 0; t < threads; ++t)
      pool.emplace_back(worker, t, streams, launches);
    for (std::thread &t : pool)
      t.join();
    HIP_CHECK(hipDeviceSynchronize());
    if (round == 0)
      afterFirst = residentKib();
  }
  const long growth = residentKib() - afterFirst;
  std::printf(
      "%d threads x %d streams x %d launches, %d rounds: %d wrong, memory grew by %ld KiB after the first round\n",
      threads, streams, launches, rounds, failures.load(), growth);
  if (failures)
    sample::fail("%d results are wrong", failures.load());
  // What the runtime itself keeps is well below this; a leak of one record per launch is above it.
  if (growth > 64 * 1024)
    sample::fail("memory grew by %ld KiB", growth);
  return sample::pass();
}
