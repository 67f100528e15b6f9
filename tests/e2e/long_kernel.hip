// One launch that takes long, and how long it took by HIP's events.
#include "sample.h"

__global__ void chain(unsigned *values, unsigned steps) {
  unsigned value = threadIdx.x;
  for (unsigned n = 0; n < steps; ++n)
    value = value * 1664525u + (n ^ value >> 7);
  values[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

int main() {
  constexpr unsigned kBlocks = 64, kThreads = 64, kSteps = 300'000;
  unsigned *values;
  HIP_CHECK(hipMalloc(&values, kBlocks * kThreads * sizeof *values));
  hipEvent_t begin, end;
  HIP_CHECK(hipEventCreate(&begin));
  HIP_CHECK(hipEventCreate(&end));
  chain<<<1, kThreads>>>(values, 1); // whatever is done once is not measured
  HIP_CHECK(hipDeviceSynchronize());
  HIP_CHECK(hipEventRecord(begin));
  chain<<<kBlocks, kThreads>>>(values, kSteps);
  HIP_CHECK(hipEventRecord(end));
  HIP_CHECK(hipEventSynchronize(end));
  float milliseconds = 0;
  HIP_CHECK(hipEventElapsedTime(&milliseconds, begin, end));
  printf("by events: %.1f us\n", static_cast<double>(milliseconds) * 1e3);
  return sample::pass();
}
