// Code whose object has one of everything that the readers must tell apart. Compiled for each version of code objects.
#define __device__ __attribute__((device))
#define __constant__ __attribute__((constant))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))

// What the host half of a kernel calls to launch it.
struct dim3 {
  unsigned x, y, z;
};
extern "C" int hipLaunchKernel(const void *kernel, dim3 grid, dim3 group, void **arguments, unsigned long lds,
                               struct ihipStream_t *stream);

struct Point {
  float x, y, z;
};

__device__ int counter = 7;
__constant__ float table[16] = {1, 2, 3};

__device__ __attribute__((noinline)) int triple(int x) { return 3 * x + counter; }
extern "C" __device__ __attribute__((noinline)) int twice(int x) { return 2 * x; }
// Addresses of functions: relocations.
__device__ int (*functions[2])(int) = {triple, twice};

__device__ inline float inlined(float x) {
  return x * x; // in scale
}

__global__ void scale(float *data, float factor, int n) {
  const int i =
      __builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() + __builtin_amdgcn_workitem_id_x();
  if (i < n)
    data[i] = inlined(data[i]) * factor * table[i & 15];
}

__global__ __attribute__((amdgpu_flat_work_group_size(1, 64))) void calls(int *data, const Point point, int which) {
  __shared__ int tile[64];
  const int i = __builtin_amdgcn_workitem_id_x();
  tile[i] = data[i];
  __builtin_amdgcn_s_barrier();
  data[i] = triple(tile[63 - i]) + functions[which & 1](i) + static_cast<int>(point.y);
}

extern "C" __global__ void scratch(int *data, int n) {
  volatile int local[64];
  for (int i = 0; i < 64; ++i)
    local[i] = data[i];
  data[0] = local[n & 63];
}

extern "C" __global__ void empty() {}
