#include <hip/hip_runtime.h>

__global__ void doubleThem(int *values, int count) {
  const int n = blockIdx.x * blockDim.x + threadIdx.x;
  if (n < count)
    values[n] *= 2;
}

void doubleAll(int *values, int count) { doubleThem<<<(count + 127) / 128, 128>>>(values, count); }
