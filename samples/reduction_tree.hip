// Sum of an array: a tree in LDS per workgroup, then one more launch over the partial sums. LDS is sized at launch.
#include "sample.h"

constexpr int GroupSize = 256;

__global__ void reduce(const uint64_t *in, uint64_t *out, int n) {
  extern __shared__ uint64_t partial[];
  uint64_t sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    sum += in[i];
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half)
      partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    out[blockIdx.x] = partial[0];
}

int main(int argc, char **argv) {
  int n = sample::sizeArgument(argc, argv, 300'001);
  sample::Random random;
  std::vector<uint64_t> in(n);
  uint64_t expected = 0;
  for (uint64_t &value : in)
    expected += value = random.bits();

  const int groups = 60;
  sample::DeviceArray<uint64_t> deviceIn(in), partials(groups), total(1);
  reduce<<<groups, GroupSize, GroupSize * sizeof(uint64_t)>>>(deviceIn.data(), partials.data(), n);
  reduce<<<1, GroupSize, GroupSize * sizeof(uint64_t)>>>(partials.data(), total.data(), groups);
  HIP_CHECK(hipGetLastError());

  uint64_t sum = total.toHost()[0];
  if (sum != expected)
    sample::fail("the sum is %#lx, expected %#lx", sum, expected);
  std::printf("%d numbers add up to %#lx (modulo 2^64)\n", n, sum);
  return sample::pass();
}
