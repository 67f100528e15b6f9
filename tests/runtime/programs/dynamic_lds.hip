// A kernel with LDS that the launch adds, launched with little and with nearly all that a workgroup can have.
#include "sample.h"

__global__ void reverse(uint32_t *data, uint32_t words) {
  extern __shared__ uint32_t copy[];
  for (uint32_t n = threadIdx.x; n < words; n += blockDim.x)
    copy[n] = data[blockIdx.x * words + n];
  __syncthreads();
  for (uint32_t n = threadIdx.x; n < words; n += blockDim.x)
    data[blockIdx.x * words + n] = copy[words - 1 - n];
}

int main() {
  constexpr uint32_t kGroups = 3;
  for (const uint32_t words : {256u, 15000u}) {
    sample::DeviceArray<uint32_t> data(kGroups * words);
    std::vector<uint32_t> host(kGroups * words);
    for (uint32_t n = 0; n < host.size(); ++n)
      host[n] = n;
    HIP_CHECK(hipMemcpy(data.data(), host.data(), host.size() * sizeof(uint32_t), hipMemcpyHostToDevice));
    reverse<<<kGroups, 256, words * sizeof(uint32_t)>>>(data.data(), words);
    HIP_CHECK(hipGetLastError());
    const auto result = data.toHost();
    for (uint32_t n = 0; n < host.size(); ++n)
      if (result[n] != n / words * words + words - 1 - n % words)
        sample::fail("word %u is %u", n, result[n]);
  }
  return sample::pass();
}
