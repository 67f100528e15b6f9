// Calls as the compiler makes them: direct, through pointers, virtual, recursive.

#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define noinline __attribute__((noinline))

extern "C" {

noinline __device__ float helper(float x) { return x * x + 1.0f; }

noinline __device__ int factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }

noinline __device__ int twice(int x) { return x + x; }
noinline __device__ int thrice(int x) { return x * 3; }

__device__ int (*volatile choices[2])(int) = {twice, thrice};

__global__ void calls_helper(float *data, int n) {
  for (int i = 0; i < n; ++i)
    data[i] = helper(data[i]) + helper(data[i + 1]);
}

__global__ void calls_factorial(int *data) { data[0] = factorial(data[1]); }

__global__ void calls_pointer(int *data, int which) { data[0] = choices[which](data[1]); }

__global__ void no_calls(int *data) { data[0] = 1; }
}
