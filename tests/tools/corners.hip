// Control flow and memory that tools must get right: divergent loops, stretches without active lanes, early ends,
// calls, and accesses of all kinds and widths. Few waves: the virtual GPU writes down every access for
// tests/tools/accesses.py.
#include "sample.h"

struct Wide {
  float a, b, c, d;
};

// Lanes leave the loop one by one, odd ones never enter; the last wave ends early.
__global__ void divergent(const int *in, int *out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int sum = 0;
  if (i & 1)
    for (int k = 0; k < (i & 15); ++k) {
      sum += in[(i * 7 + k) % n];
      if (sum > 1000)
        break;
    }
  out[i] = sum;
}

// No lane is active between the moves of EXEC, and nothing branches around it; the scalar load happens all the same.
__global__ void emptyExec(const uint32_t *in, uint32_t *out) {
  uint32_t value = 1, loaded = 0;
  uint64_t saved;
  asm volatile("s_mov_b64 %2, exec\n\ts_mov_b64 exec, 0\n\tv_mov_b32 %0, 7\n\tglobal_load_dword %0, %4, "
               "off\n\ts_load_dword %1, %3, 0x4\n\t"
               "s_waitcnt vmcnt(0) lgkmcnt(0)\n\ts_mov_b64 exec, %2"
               : "+v"(value), "=&s"(loaded), "=&s"(saved)
               : "s"(in), "v"(in));
  out[threadIdx.x] = value + loaded;
}

__device__ __attribute__((noinline)) float halve(const float *from, int depth) {
  if (depth == 0)
    return *from / 2;
  return halve(from + 1, depth - 1) + 1;
}
__global__ void calls(const float *in, float *out) { out[threadIdx.x] = halve(in + threadIdx.x, threadIdx.x % 3); }

// LDS, two accesses at once, bytes, wide ones, atomics, a stack.
__global__ void kinds(const Wide *wide, const uint8_t *bytes, Wide *out, uint32_t *counters, int n) {
  __shared__ float tile[128];
  __shared__ uint32_t local[4];
  const int i = threadIdx.x;
  float stack[8];
  for (int k = 0; k < 8; ++k)
    stack[(k * 3 + n) & 7] = static_cast<float>(k);
  if (i < 4)
    local[i] = 0;
  tile[i] = bytes[i * 3];
  __syncthreads();
  atomicAdd(&local[bytes[i] & 3], 1u);
  __syncthreads();
  Wide value = wide[i];
  value.a += tile[i] + tile[(i + 64) & 127];
  value.b += stack[i & 7];
  out[i] = value;
  if (i % 3 == 0)
    atomicAdd(counters, 1u);
  if (i < 4)
    atomicMax(counters + 1, local[i]);
}

int main() {
  constexpr int n = 200;
  std::vector<int> in(256);
  for (int i = 0; i < 256; ++i)
    in[i] = i * 5;
  void *a, *b, *c;
  HIP_CHECK(hipMalloc(&a, 4096));
  HIP_CHECK(hipMalloc(&b, 4096));
  HIP_CHECK(hipMalloc(&c, 4096));
  HIP_CHECK(hipMemset(a, 0, 4096));
  HIP_CHECK(hipMemset(c, 0, 4096));
  HIP_CHECK(hipMemcpy(a, in.data(), 1024, hipMemcpyHostToDevice));
  divergent<<<1, 256>>>(static_cast<int *>(a), static_cast<int *>(b), n);
  divergent<<<2, 128>>>(static_cast<int *>(a), static_cast<int *>(b), 130);
  emptyExec<<<1, 64>>>(static_cast<uint32_t *>(a), static_cast<uint32_t *>(c));
  uint32_t first = 0;
  HIP_CHECK(hipMemcpy(&first, c, 4, hipMemcpyDeviceToHost));
  if (first != 6)
    sample::fail("a load without lanes changed something: %u", first);
  calls<<<1, 70>>>(static_cast<float *>(a), static_cast<float *>(c));
  kinds<<<1, 128>>>(static_cast<Wide *>(a), static_cast<uint8_t *>(a), static_cast<Wide *>(b),
                    static_cast<uint32_t *>(c), n);
  HIP_CHECK(hipDeviceSynchronize());
  return sample::pass();
}
