// Writes far outside of any allocation. This sample has no PASS line: ROCr is expected to print
//   Memory access fault by GPU node-1 (Agent handle: 0x...) on address 0x.... Reason: ...
// and to abort the process, as on hardware. HIP 7 reports an error instead, which is printed. If neither happens, the
// program prints FAIL.
#include "sample.h"

__global__ void writeTo(int *address) { *address = 1; }

int main() {
  // A valid user-space address (the last page below 2^46) that neither host nor GPU has mapped.
  int *unmapped = reinterpret_cast<int *>(0x3ffffffff000);
  std::printf("writing to %p, which is not mapped\n", static_cast<void *>(unmapped));
  std::fflush(stdout);
  writeTo<<<1, 64>>>(unmapped);
  HIP_CHECK(hipGetLastError());
  const hipError_t status = hipDeviceSynchronize();
  if (status == hipSuccess)
    sample::fail("the write went unnoticed");
  std::printf("HIP reports %s\n", hipGetErrorName(status));
  return 1;
}
