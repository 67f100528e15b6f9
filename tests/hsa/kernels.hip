// Kernels for the tests of luthier::hsa, compiled without any HIP header: what they need is declared here.

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))

using u32 = unsigned;
using u64 = unsigned long long;

extern "C" __device__ u64 total;
__device__ u64 total = 7;
extern "C" __constant__ u32 table[4];
__constant__ u32 table[4] = {10, 20, 30, 40};

extern "C" __device__ __attribute__((noinline, used)) u32 twice(u32 value) { return 2 * value; }

// One more per work-item.
extern "C" __global__ void count(u64 *counter) {
  __hip_atomic_fetch_add(counter, 1ull, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}

// Writes `value` behind what other dispatches have written.
extern "C" __global__ void append(u32 *length, u32 *values, u32 value) {
  values[__hip_atomic_fetch_add(length, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM)] = value;
}

// Has LDS and scratch.
extern "C" __global__ void resources(u32 *out, u32 index) {
  __shared__ u32 group[64];
  volatile u32 scratch[16];
  for (u32 i = 0; i < 16; ++i)
    scratch[i] = twice(i + index);
  group[__builtin_amdgcn_workitem_id_x() & 63] = scratch[index & 15];
  __builtin_amdgcn_s_barrier();
  out[__builtin_amdgcn_workitem_id_x()] = group[index & 63] + table[index & 3] + static_cast<u32>(total);
}
