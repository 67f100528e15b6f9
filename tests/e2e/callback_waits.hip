// Streams of two threads, for a tool whose callbacks call HIP and wait (waiting_tool.cc).
#include "sample.h"

#include <thread>
#include <vector>

__global__ void add(unsigned *values, unsigned value) { values[blockIdx.x * blockDim.x + threadIdx.x] += value; }

int main() {
  constexpr unsigned kCount = 1024, kRounds = 20;
  const auto work = [] {
    hipStream_t stream;
    HIP_CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    unsigned *values;
    HIP_CHECK(hipMalloc(&values, kCount * sizeof *values));
    HIP_CHECK(hipMemsetAsync(values, 0, kCount * sizeof *values, stream));
    for (unsigned n = 1; n <= kRounds; ++n)
      add<<<kCount / 64, 64, 0, stream>>>(values, n);
    std::vector<unsigned> results(kCount);
    HIP_CHECK(hipMemcpyAsync(results.data(), values, kCount * sizeof *values, hipMemcpyDeviceToHost, stream));
    HIP_CHECK(hipStreamSynchronize(stream));
    for (const unsigned result : results)
      if (result != kRounds * (kRounds + 1) / 2)
        sample::fail("%u instead of %u", result, kRounds * (kRounds + 1) / 2);
    HIP_CHECK(hipFree(values));
    HIP_CHECK(hipStreamDestroy(stream));
  };
  std::thread first(work), second(work);
  first.join();
  second.join();
  return sample::pass();
}
