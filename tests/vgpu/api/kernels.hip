// Kernels for the tests of the direct API, compiled without any HIP header: what they need is declared here.

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))

using u32 = unsigned;
using u64 = unsigned long long;

__device__ u32 localId() { return __builtin_amdgcn_workitem_id_x(); }
__device__ u32 globalId() {
  return __builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() + __builtin_amdgcn_workitem_id_x();
}

extern "C" __global__ void vector_add(const float *a, const float *b, float *c, u32 count) {
  const u32 i = globalId();
  if (i < count)
    c[i] = a[i] + b[i];
}

extern "C" __device__ u32 counter;
__device__ u32 counter = 5;
extern "C" __constant__ u32 table[4];
__constant__ u32 table[4] = {10, 20, 30, 40};
// Pointers in data: relocations of the loaded image.
__device__ const u32 *pointers[2] = {&table[2], &counter};

extern "C" __global__ void use_variables(u32 *out) {
  out[0] = counter;
  out[1] = table[localId() & 3];
  out[2] = *pointers[0];
  out[3] = *pointers[1];
  counter = 99;
}

// Mixed sizes: the arguments' alignment.
struct Triple {
  char a;
  short b;
  double c;
};
extern "C" __global__ void mixed_arguments(char a, short b, Triple triple, u64 *out, float f, char z) {
  out[0] = (u64)a;
  out[1] = (u64)b;
  out[2] = (u64)triple.a;
  out[3] = (u64)triple.b;
  out[4] = (u64)triple.c;
  out[5] = (u64)f;
  out[6] = (u64)z;
}

extern "C" __global__ void sizes(u32 *out) {
  out[0] = __builtin_amdgcn_workgroup_size_x();
  out[1] = __builtin_amdgcn_workgroup_size_y();
  out[2] = __builtin_amdgcn_workgroup_size_z();
  out[3] = __builtin_amdgcn_grid_size_x();
  out[4] = __builtin_amdgcn_grid_size_y();
  out[5] = __builtin_amdgcn_grid_size_z();
}

extern __shared__ u32 dynamicMemory[];
extern "C" __global__ void reverse(u32 *data) {
  const u32 i = localId(), n = __builtin_amdgcn_workgroup_size_x();
  dynamicMemory[i] = data[globalId()];
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  data[globalId()] = dynamicMemory[n - 1 - i];
}

// An array that the compiler must keep in scratch.
extern "C" __global__ void scratch_array(const u32 *indices, u32 *out) {
  volatile u32 values[32];
  const u32 i = globalId();
  for (u32 n = 0; n < 32; ++n)
    values[n] = i * 100 + n;
  out[i] = values[indices[i] & 31];
}

__attribute__((noinline)) __device__ u32 fibonacci(u32 n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
extern "C" __global__ void recursion(u32 *out) { out[globalId()] = fibonacci(globalId() % 12); }

extern "C" __global__ void out_of_bounds(u32 *data, u64 index) { data[index] = 1; }

extern "C" __global__ void endless(volatile u32 *flag) {
  while (*flag == 0) {
  }
}

// A pointer to LDS or scratch behind a generic pointer: the apertures.
extern "C" __global__ void generic_pointers(u32 *out, u32 which) {
  __shared__ u32 shared[64];
  volatile u32 local[4] = {1, 2, 3, 4};
  volatile u32 *pointer = which == 0   ? (volatile u32 *)&shared[localId()]
                          : which == 1 ? &local[localId() & 3]
                                       : &out[64 + localId()];
  *pointer = 1000 + localId();
  out[localId()] = *pointer;
}
