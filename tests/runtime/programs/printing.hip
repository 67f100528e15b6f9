// Two workgroups of a full wave and a half, whose items write what they compute.
#include "sample.h"

__global__ void fill(uint32_t *data) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  data[i] = i * 3 + 1;
}

int main() {
  constexpr uint32_t kItems = 2 * 96;
  sample::DeviceArray<uint32_t> data(std::vector<uint32_t>(kItems, 0));
  fill<<<2, 96>>>(data.data());
  HIP_CHECK(hipGetLastError());
  HIP_CHECK(hipDeviceSynchronize());
  uint32_t values[kItems];
  HIP_CHECK(hipMemcpy(values, data.data(), sizeof values, hipMemcpyDeviceToHost));
  for (uint32_t i = 0; i < kItems; ++i)
    if (values[i] != i * 3 + 1)
      sample::fail("item %u is %u", i, values[i]);
  return sample::pass();
}
