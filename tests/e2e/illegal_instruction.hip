// Executes what the virtual GPU has no implementation for: `graphics` (a valid instruction outside of compute) or
// `garbage` (bytes that are no instruction). The process must end with a message that names it.
#include "sample.h"

#include <cstring>

__global__ void runGraphics() {
  asm volatile("s_nop 1\n image_load v[0:3], v[0:1], s[0:7] dmask:0xf unorm\n s_nop 2" ::: "v0", "v1", "v2", "v3");
}
__global__ void runGarbage() { asm volatile(".long 0xbfff1234"); }

int main(int argc, char **argv) {
  if (argc > 1 && std::strcmp(argv[1], "garbage") == 0)
    runGarbage<<<1, 64>>>();
  else
    runGraphics<<<1, 64>>>();
  HIP_CHECK(hipGetLastError());
  hipError_t status = hipDeviceSynchronize();
  sample::fail("the instruction went unnoticed: %s", hipGetErrorName(status));
}
