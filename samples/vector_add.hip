// The smallest useful program: c[i] = a[i] + b[i], with a last workgroup that is only partly used.
#include "sample.h"

__global__ void vectorAdd(const int *a, const int *b, int *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    c[i] = a[i] + b[i];
}

int main(int argc, char **argv) {
  int n = sample::sizeArgument(argc, argv, 500'003);
  sample::Random random;
  std::vector<int> a(n), b(n);
  for (int i = 0; i < n; ++i) {
    a[i] = random.below(1'000'000);
    b[i] = random.below(1'000'000);
  }

  sample::DeviceArray<int> deviceA(a), deviceB(b), deviceC(n);
  vectorAdd<<<(n + 255) / 256, 256>>>(deviceA.data(), deviceB.data(), deviceC.data(), n);
  HIP_CHECK(hipGetLastError());

  std::vector<int> c = deviceC.toHost();
  for (int i = 0; i < n; ++i)
    if (c[i] != a[i] + b[i])
      sample::fail("c[%d] = %d, expected %d", i, c[i], a[i] + b[i]);
  std::printf("added %d pairs; the last sum is %d\n", n, c[n - 1]);
  return sample::pass();
}
