// Bitonic sort: long strides one launch each through global memory, short strides within LDS.
#include "sample.h"

#include <algorithm>

constexpr int GroupSize = 256;
constexpr int Block = 2 * GroupSize; // elements one workgroup sorts in LDS

__device__ void compareExchange(int &a, int &b, bool ascending) {
  if ((a > b) == ascending) {
    int t = a;
    a = b;
    b = t;
  }
}

// Strides of Block and more of the merge into runs of `run` elements.
__global__ void exchangeFar(int *data, int run, int stride) {
  int thread = blockIdx.x * blockDim.x + threadIdx.x;
  int i = 2 * stride * (thread / stride) + thread % stride;
  compareExchange(data[i], data[i + stride], (i & run) == 0);
}

// All strides below Block, for every run from firstRun to lastRun.
__global__ void sortNear(int *data, int firstRun, int lastRun) {
  __shared__ int local[Block];
  int base = blockIdx.x * Block;
  local[threadIdx.x] = data[base + threadIdx.x];
  local[threadIdx.x + GroupSize] = data[base + threadIdx.x + GroupSize];
  for (int run = firstRun; run <= lastRun; run *= 2)
    for (int stride = min(run, Block) / 2; stride > 0; stride /= 2) {
      __syncthreads();
      int i = 2 * stride * (threadIdx.x / stride) + threadIdx.x % stride;
      compareExchange(local[i], local[i + stride], ((base + i) & run) == 0);
    }
  __syncthreads();
  data[base + threadIdx.x] = local[threadIdx.x];
  data[base + threadIdx.x + GroupSize] = local[threadIdx.x + GroupSize];
}

int main(int argc, char **argv) {
  int wanted = sample::sizeArgument(argc, argv, 8192);
  int n = Block;
  while (n < wanted)
    n *= 2;
  sample::Random random;
  std::vector<int> values(n);
  for (int &value : values)
    value = int(random.bits());

  sample::DeviceArray<int> data(values);
  sortNear<<<n / Block, GroupSize>>>(data.data(), 2, Block);
  for (int run = 2 * Block; run <= n; run *= 2) {
    for (int stride = run / 2; stride >= Block; stride /= 2)
      exchangeFar<<<n / Block, GroupSize>>>(data.data(), run, stride);
    sortNear<<<n / Block, GroupSize>>>(data.data(), run, run);
  }
  HIP_CHECK(hipGetLastError());

  std::vector<int> result = data.toHost();
  std::sort(values.begin(), values.end());
  for (int i = 0; i < n; ++i)
    if (result[i] != values[i])
      sample::fail("element %d is %d, expected %d", i, result[i], values[i]);
  std::printf("sorted %d integers from %d to %d\n", n, result.front(), result.back());
  return sample::pass();
}
