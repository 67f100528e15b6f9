// Ends while its kernel still runs: nobody waits for it but those who were promised to be told.
#include "sample.h"

__global__ void busy(int *out, int rounds) {
  int value = threadIdx.x;
  for (int n = 0; n < rounds; ++n)
    value = value * 1103515245 + 12345;
  out[threadIdx.x] = value;
}

int main() {
  int *out;
  HIP_CHECK(hipMalloc(&out, 64 * sizeof(int)));
  busy<<<1, 64>>>(out, 2000000);
  return 0;
}
