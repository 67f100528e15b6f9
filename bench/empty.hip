// The least that a HIP program does: initialise, launch an empty kernel, wait. Without a GPU it stops at
// initialisation.
#include <hip/hip_runtime.h>

__global__ void nothing() {}

int main() {
  if (hipInit(0) != hipSuccess)
    return 1;
  nothing<<<1, 64>>>();
  return hipDeviceSynchronize() == hipSuccess ? 0 : 1;
}
