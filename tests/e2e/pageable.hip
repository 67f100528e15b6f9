// With XNACK on, kernels access whatever memory the host has, by its address: from malloc, of the stack, in globals,
// and memory that came after the kernel before.
#include "sample.h"

#include <cstdlib>
#include <sys/mman.h>

namespace {

constexpr int kCount = 300000;
constexpr size_t kBytes = kCount * sizeof(int);

__global__ void addOne(int *values, int count) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at < count)
    values[at] += 1;
}

int global[64];

void run(int *values, int count) {
  for (int n = 0; n < count; ++n)
    values[n] = n;
  addOne<<<(count + 255) / 256, 256>>>(values, count);
  HIP_CHECK(hipGetLastError());
  HIP_CHECK(hipDeviceSynchronize());
  for (int n = 0; n < count; ++n)
    if (values[n] != n + 1)
      sample::fail("element %d is %d", n, values[n]);
}

} // namespace

int main(int argc, char **) {
  int pageable = 0;
  HIP_CHECK(hipDeviceGetAttribute(&pageable, hipDeviceAttributePageableMemoryAccess, 0));
  int *values = static_cast<int *>(malloc(kBytes));
  run(values, kCount);
  int local[100];
  run(local, 100);
  run(global, 64);
  free(values);
  for (int round = 0; round < 5; ++round) { // other pages at the same addresses
    void *pages = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    run(static_cast<int *>(pages), kCount);
    munmap(pages, kBytes);
    if (argc > 1 && round == 2) { // gone: a fault, as on hardware
      addOne<<<1, 64>>>(static_cast<int *>(pages), 64);
      HIP_CHECK(hipDeviceSynchronize());
    }
  }
  printf("pageable %d\n", pageable);
  return sample::pass();
}
