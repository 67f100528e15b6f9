// A program with two bundles of GPU code: this file's, and that of second_bundle.hip, which is linked in or in a
// library of its own.
#include "sample.h"

void doubleAll(int *values, int count);

__global__ void addIndex(int *values, int count) {
  const int n = blockIdx.x * blockDim.x + threadIdx.x;
  if (n < count)
    values[n] += n;
}

int main() {
  constexpr int kCount = 1000, kBlock = 128;
  sample::DeviceArray<int> values(std::vector<int>(kCount, 3));
  addIndex<<<(kCount + kBlock - 1) / kBlock, kBlock>>>(values.data(), kCount);
  HIP_CHECK(hipGetLastError());
  doubleAll(values.data(), kCount);
  HIP_CHECK(hipDeviceSynchronize());
  const std::vector<int> result = values.toHost();
  for (int n = 0; n < kCount; ++n)
    if (result[n] != 2 * (3 + n))
      sample::fail("a value is wrong");
  return sample::pass();
}
