// A kernel that does not go on until the host lets it, on SIGUSR1: of each of its two workgroups of four waves, one
// wave turns in a loop and three are at a barrier. Prints `running` once they are.
#include "sample.h"

#include <csignal>

#include <unistd.h>

__global__ void waitForHost(unsigned *started, const unsigned *go, unsigned *passed) {
  if (threadIdx.x < warpSize) {
    if (threadIdx.x == 0)
      __hip_atomic_fetch_add(started, 1u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
    while (!__hip_atomic_load(go, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM))
      ;
  }
  __syncthreads();
  atomicAdd(passed, 1);
}

static volatile sig_atomic_t letGo = 0;

int main() {
  constexpr unsigned kGroups = 2, kItems = 256;
  std::signal(SIGUSR1, [](int) { letGo = 1; });
  unsigned *shared = nullptr;
  HIP_CHECK(hipHostMalloc(&shared, 3 * sizeof *shared, hipHostMallocCoherent));
  shared[0] = shared[1] = shared[2] = 0;
  waitForHost<<<kGroups, kItems>>>(shared, shared + 1, shared + 2);
  HIP_CHECK(hipGetLastError());
  while (__atomic_load_n(shared, __ATOMIC_ACQUIRE) < kGroups)
    ;
  std::printf("running\n");
  std::fflush(stdout);
  while (!letGo)
    usleep(1000);
  __atomic_store_n(shared + 1, 1u, __ATOMIC_RELEASE);
  HIP_CHECK(hipDeviceSynchronize());
  if (shared[2] != kGroups * kItems)
    sample::fail("not all work-items came through");
  return sample::pass();
}
