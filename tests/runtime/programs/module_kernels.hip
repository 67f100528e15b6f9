// The code objects that modules.hip loads: a kernel of one name, built with several values of TIMES.
#include <hip/hip_runtime.h>

extern "C" __global__ void fill(int *out) {
  int value = static_cast<int>(threadIdx.x);
#pragma unroll
  for (int n = 0; n < TIMES; ++n)
    value = value * 3 + out[(threadIdx.x + n) % 64];
  out[threadIdx.x] = value;
}
