// What queues.hip launches.
#include <hip/hip_runtime.h>

extern "C" __global__ void count(unsigned long long *counter) { atomicAdd_system(counter, 1ull); }
