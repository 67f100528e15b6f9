// Kernels of which a test knows how often each place is visited: a loop, and calls through a pointer.
#include "sample.h"

constexpr uint32_t kGroups = 6, kSize = 64; // a wave each

__global__ void trips(uint32_t *data, uint32_t rounds) {
  uint32_t x = threadIdx.x;
#pragma nounroll
  for (uint32_t n = 0; n < rounds; ++n) {
    x = x * 5 + n;
    asm volatile("" : "+v"(x));
  }
  data[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

__device__ __noinline__ uint32_t addSeven(uint32_t x) { return x + 7; }
__device__ __noinline__ uint32_t threeTimes(uint32_t x) { return x * 3; }
__device__ uint32_t (*functions[])(uint32_t) = {addSeven, threeTimes};

__global__ void calls(uint32_t *data, uint32_t which) {
  data[blockIdx.x * blockDim.x + threadIdx.x] = functions[which & 1](threadIdx.x);
}

int main() {
  sample::DeviceArray<uint32_t> data(kGroups * kSize);
  for (const uint32_t rounds : {1u, 4u, 10u}) {
    trips<<<kGroups, kSize>>>(data.data(), rounds);
    HIP_CHECK(hipGetLastError());
    const auto values = data.toHost();
    printf("trips %u: %u %u\n", rounds, values[0], values[3]);
  }
  for (const uint32_t which : {0u, 1u, 1u}) {
    calls<<<kGroups, kSize>>>(data.data(), which);
    HIP_CHECK(hipGetLastError());
    const auto values = data.toHost();
    printf("calls %u: %u %u\n", which, values[0], values[3]);
  }
  return sample::pass();
}
