// A kernel that never ends, to try how a run is interrupted (Ctrl-C). Prints `running` once the GPU is inside the loop.
// This sample has no PASS line.
#include "sample.h"

__global__ void loopForever(unsigned *started) {
  __hip_atomic_store(started, 1u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
  while (true)
    __builtin_amdgcn_s_sleep(1);
}

int main() {
  unsigned *started = nullptr;
  HIP_CHECK(hipHostMalloc(&started, sizeof *started, hipHostMallocCoherent));
  *started = 0;
  loopForever<<<1, 64>>>(started);
  HIP_CHECK(hipGetLastError());
  while (!__atomic_load_n(started, __ATOMIC_ACQUIRE))
    ;
  std::printf("running\n");
  std::fflush(stdout);
  HIP_CHECK(hipDeviceSynchronize());
  sample::fail("the endless kernel ended");
}
