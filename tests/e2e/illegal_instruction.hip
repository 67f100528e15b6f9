// Executes what the virtual GPU has no implementation for: `graphics` (a valid instruction outside of compute) or
// `garbage` (bytes that are no instruction); or `early`, which uses a value without waiting for it and is fine unless
// waits are checked. The process must end with a message that names it.
#include "sample.h"

#include <cstring>

__global__ void runGraphics() {
  asm volatile("s_nop 1\n image_load v[0:3], v[0:1], s[0:7] dmask:0xf unorm\n s_nop 2" ::: "v0", "v1", "v2", "v3");
}
__global__ void runGarbage() { asm volatile(".long 0xbfff1234"); }

__global__ void runEarly(int *data) {
  int value;
  asm volatile("global_load_dword %0, %1, off\n v_add_u32 %0, 1, %0" : "=&v"(value) : "v"(data));
  data[0] = value;
}

int main(int argc, char **argv) {
  if (argc > 1 && std::strcmp(argv[1], "early") == 0) {
    sample::DeviceArray<int> data(std::vector<int>{41});
    runEarly<<<1, 1>>>(data.data());
    HIP_CHECK(hipDeviceSynchronize());
    return data.toHost()[0] == 42 ? sample::pass() : 1;
  }
  if (argc > 1 && std::strcmp(argv[1], "garbage") == 0)
    runGarbage<<<1, 64>>>();
  else
    runGraphics<<<1, 64>>>();
  HIP_CHECK(hipGetLastError());
  const hipError_t status = hipDeviceSynchronize();
  if (status == hipSuccess)
    sample::fail("the instruction went unnoticed");
  std::printf("HIP reports %s\n", hipGetErrorName(status));
  return 1;
}
