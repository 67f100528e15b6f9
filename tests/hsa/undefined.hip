// A code object that needs a variable from elsewhere.

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))

extern "C" __device__ __attribute__((visibility("default"))) unsigned provided;

extern "C" __global__ void read_provided(unsigned *out) { *out = provided; }
