// Many host threads, each with several streams, launch five kernels whose instruction counts do not depend on data.
// Usage: concurrent THREADS STREAMS LAUNCHES (per stream). Every result is checked. First, two kernels on two streams
// wait for each other: they end only if they run at the same time.
#include "sample.h"

#include <atomic>
#include <cstring>
#include <thread>

namespace {

constexpr int kItems = 128;

__global__ void step(uint32_t *data, uint32_t n) { data[threadIdx.x] = data[threadIdx.x] * 3 + n; }

__global__ void loop(uint32_t *data, uint32_t n) {
  uint32_t value = data[threadIdx.x];
#pragma unroll 1
  for (int i = 0; i < 10; ++i)
    value = value * 5 + (value >> 3) + n;
  data[threadIdx.x] = value;
}

__global__ void rotate(uint32_t *data, uint32_t n) {
  __shared__ uint32_t copy[kItems];
  copy[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = copy[(threadIdx.x + 1) % kItems] + n;
}

__global__ void diverge(uint32_t *data, uint32_t n) {
  if (threadIdx.x & 1) {
#pragma unroll 1
    for (uint32_t i = 0; i < (threadIdx.x & 7); ++i)
      data[threadIdx.x] += i * n;
  } else if (threadIdx.x < 64)
    data[threadIdx.x] ^= n;
}

__device__ __attribute__((noinline)) uint32_t mix(uint32_t value, uint32_t n) { return (value ^ n) * 0x9e3779b9u; }
__global__ void call(uint32_t *data, uint32_t n) { data[threadIdx.x] = mix(data[threadIdx.x], n); }

void onHost(uint32_t *data, uint32_t n) {
  uint32_t copy[kItems];
  std::memcpy(copy, data, sizeof copy);
  for (uint32_t i = 0; i < kItems; ++i) {
    uint32_t &value = data[i];
    switch (n % 5) {
    case 0:
      value = value * 3 + n;
      break;
    case 1:
      for (int k = 0; k < 10; ++k)
        value = value * 5 + (value >> 3) + n;
      break;
    case 2:
      value = copy[(i + 1) % kItems] + n;
      break;
    case 3:
      if (i & 1)
        for (uint32_t k = 0; k < (i & 7); ++k)
          value += k * n;
      else if (i < 64)
        value ^= n;
      break;
    default:
      value = (value ^ n) * 0x9e3779b9u;
    }
  }
}

__global__ void meet(volatile int *mine, volatile int *other) {
  *mine = 1;
  __threadfence_system();
  while (*other == 0) {
  }
}

void launch(uint32_t *data, uint32_t n, hipStream_t stream) {
  void (*const kernels[])(uint32_t *, uint32_t) = {step, loop, rotate, diverge, call};
  kernels[n % 5]<<<1, kItems, 0, stream>>>(data, n);
}

std::atomic<int> wrong{0};

void work(int streams, int launches) {
  struct Chain {
    hipStream_t stream;
    uint32_t *device;
    uint32_t expected[kItems];
  };
  std::vector<Chain> chains(streams);
  for (Chain &chain : chains) {
    HIP_CHECK(hipStreamCreateWithFlags(&chain.stream, hipStreamNonBlocking));
    HIP_CHECK(hipMalloc(&chain.device, sizeof chain.expected));
    HIP_CHECK(hipMemset(chain.device, 0, sizeof chain.expected));
    std::memset(chain.expected, 0, sizeof chain.expected);
  }
  HIP_CHECK(hipDeviceSynchronize());
  for (int n = 0; n < launches; ++n)
    for (Chain &chain : chains) {
      launch(chain.device, n, chain.stream);
      onHost(chain.expected, n);
    }
  for (Chain &chain : chains) {
    HIP_CHECK(hipStreamSynchronize(chain.stream));
    uint32_t values[kItems];
    HIP_CHECK(hipMemcpy(values, chain.device, sizeof values, hipMemcpyDeviceToHost));
    wrong += std::memcmp(values, chain.expected, sizeof values) != 0;
    HIP_CHECK(hipStreamDestroy(chain.stream));
    HIP_CHECK(hipFree(chain.device));
  }
}

} // namespace

int main(int argc, char **argv) {
  auto argument = [&](int n) { return argc > n ? std::atoi(argv[n]) : 1; };
  const int threads = argument(1), streams = argument(2), launches = argument(3);

  int *flags;
  hipStream_t two[2];
  HIP_CHECK(hipHostMalloc(&flags, 2 * sizeof(int), hipHostMallocCoherent));
  flags[0] = flags[1] = 0;
  for (int n : {0, 1})
    HIP_CHECK(hipStreamCreateWithFlags(&two[n], hipStreamNonBlocking));
  for (int n : {0, 1})
    meet<<<1, 64, 0, two[n]>>>(flags + n, flags + 1 - n);
  HIP_CHECK(hipDeviceSynchronize());
  std::printf("two kernels met\n");

  std::vector<std::thread> pool;
  for (int n = 0; n < threads; ++n)
    pool.emplace_back(work, streams, launches);
  for (std::thread &thread : pool)
    thread.join();
  if (wrong)
    sample::fail("%d results are wrong", wrong.load());
  std::printf("%d launches\n", threads * streams * launches);
  return sample::pass();
}
