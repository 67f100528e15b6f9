// The code object that module_load loads: built with hipcc --genco, never linked into a program.
#include <hip/hip_runtime.h>

extern "C" {
__device__ int offset = -1;
__device__ int launches = 1000;

// Also counts its workgroups in `launches`.
__global__ void fill(int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = 3 * i + offset;
  if (threadIdx.x == 0)
    atomicAdd(&launches, 1);
}
}
