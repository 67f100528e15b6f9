// What tools about performance and origins of values are judged by: kernels that do a little of everything that the
// tool looks at, small enough for the virtual GPU to write every instruction down, for waves of 32 and of 64 lanes.
//
//   patterns accesses|banks|branches|stack|flops|origins
#include "sample.h"

#include <cstring>

using Four = float __attribute__((ext_vector_type(4), aligned(4)));
using Two = double __attribute__((aligned(4)));

// Global memory: each class of strides, lanes that are off, accesses that cross lines.
__global__ void accesses(const float *in, float *out, int n) {
  const int i = threadIdx.x;
  float sum = in[n + static_cast<int>(in[i])] + in[i] + in[i * 5] + in[i * i * 7 % 251] + in[255 - i];
  if (i % 3)
    sum += in[i + 1];
  const Four wide = *reinterpret_cast<const Four *>(in + i * 4 + 3);
  sum += wide.x + wide.y + wide.z + wide.w;
  sum += static_cast<float>(*reinterpret_cast<const Two *>(in + i * 3 + 1));
  if (i == 7)
    sum += in[i * 2];
  out[i] = sum;
  atomicAdd(reinterpret_cast<int *>(out) + 512 + i % 4, 1);
}

// LDS: words of one bank and of different ones, of all widths, and words that several lanes want.
__global__ void banks(const uint32_t *in, uint32_t *out) {
  __shared__ uint32_t words[2048];
  __shared__ double pairs[256];
  __shared__ float4 fours[128];
  const uint32_t i = threadIdx.x;
  for (uint32_t k = i; k < 2048; k += blockDim.x)
    words[k] = in[k & 255];
  pairs[in[i] & 255] = i;
  fours[i & 127] = make_float4(i, 1, 2, 3);
  __syncthreads();
  uint32_t sum = words[i] + words[i * 2] + words[i * 32 % 2048] + words[in[0] & 7] + words[in[i] & 2047];
  sum += words[i * 3 + (in[i] & 1)];
  sum += static_cast<uint32_t>(pairs[i * 2 & 255]) + static_cast<uint32_t>(pairs[in[i] & 255]);
  const float4 wide = fours[in[i] & 127], other = fours[i * 4 & 127];
  sum += static_cast<uint32_t>(wide.x + wide.w + other.y + other.z);
  if (in[i] & 4)
    sum += reinterpret_cast<uint8_t *>(words)[i * 8];
  atomicAdd(&words[in[i] & 31], sum);
  __syncthreads();
  out[i] = words[i];
}

// Branches that all lanes take, none, or some; loops that lanes leave one by one.
__global__ void branches(const int *in, int *out, int n) {
  const int i = threadIdx.x;
  int sum = 0;
  if (i < n) // all
    for (int k = 0; k < (i & 7); ++k)
      sum += in[(i + k * 9) & 255] > 300 ? atomicAdd(out + 600, 1) : 1;
  if (n == 3)
    sum += atomicAdd(out + 601, 2); // never
  if (i & 16)
    atomicAdd(out + 602, in[i]);
  else
    atomicAdd(out + 603, sum);
#pragma nounroll
  for (int k = 0; k < n / 50; ++k)               // all, as often
    sum = sum * 3 + atomicAdd(out + 605 + i, 1); // runs 8|16
  out[i] = sum;                                  // runs 2|4
}

// A stack, and AccVGPRs where there are some.
__global__ void stack(const uint32_t *in, uint32_t *out, uint32_t n) {
  const uint32_t i = threadIdx.x;
  uint32_t values[64];
#pragma nounroll
  for (uint32_t k = 0; k < 64; ++k)
    values[(k * 5 + n) & 63] = in[(i + k) & 255];
  uint32_t sum = 0;
  for (uint32_t k = 0; k < 4; ++k)
    sum += values[in[i + k] & 63];
#if defined(__gfx908__) || defined(__gfx90a__)
  if (i & 1)
    asm volatile("v_accvgpr_write_b32 a0, %1\n\ts_nop 4\n\tv_accvgpr_read_b32 %0, a0\n\ts_nop 4"
                 : "=v"(sum)
                 : "v"(sum)
                 : "a0");
#endif
  out[i] = sum;
}

// As many operations as the program says.
__global__ void flops(const float *in, float *out, double *doubles, uint32_t n) {
  const uint32_t i = threadIdx.x;
  float a = in[i], b = in[i + 1];
  for (uint32_t k = 0; k < n; ++k)
    asm volatile("v_fma_f32 %0, %0, %1, %1\n\tv_add_f32 %0, %0, %1\n\tv_rcp_f32 %0, %0" : "+v"(a) : "v"(b)); // 4
  double c = a, d = b;
  if (i & 1)
    for (uint32_t k = 0; k < n; ++k)
      asm volatile("v_fma_f64 %0, %0, %1, %1\n\tv_mul_f64 %0, %0, %1" : "+v"(c) : "v"(d)); // 3
  uint32_t h = i;
  asm volatile("v_pk_fma_f16 %0, %0, %0, %0\n\tv_add_f16 %0, %0, %0" : "+v"(h)); // 5
#if defined(__gfx90a__)
  asm volatile("v_pk_mul_f32 %0, %0, %1" : "+v"(c) : "v"(d)); // 2 of f32
  asm volatile(
      "v_mfma_f32_16x16x16f16 a[0:3], %0, %1, a[0:3]\n\tv_mfma_f64_16x16x4f64 a[0:7], %0, %1, a[0:7]\n\ts_nop 15" ::"v"(
          c),
      "v"(d)
      : "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7");
#endif
  out[i] = a + __builtin_bit_cast(float, h); // 1
  doubles[i] = c;
}

// A value that is finite until one thread makes it infinite, and one that gets an infinity handed in.
__global__ void origins(const float *in, float *out) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = in[i] * 2;
  x = x * in[256]; // ORIGIN float
  out[i] = x;
}
__global__ void originsOfDoubles(const double *in, double *out) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  double x = in[i] + 1;
  out[i] = x * x - in[256] * 1e300; // ORIGIN double
}
__global__ void handedIn(const float *in, float *out) { out[threadIdx.x] = in[threadIdx.x] + 1; }

template <class T> T *filled(size_t count, T (*value)(size_t)) {
  std::vector<T> host(count);
  for (size_t n = 0; n < count; ++n)
    host[n] = value(n);
  T *device = nullptr;
  HIP_CHECK(hipMalloc(&device, count * sizeof(T)));
  HIP_CHECK(hipMemcpy(device, host.data(), count * sizeof(T), hipMemcpyHostToDevice));
  return device;
}

int main(int argc, char **argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  auto *numbers = filled<uint32_t>(4096, [](size_t n) { return static_cast<uint32_t>(n * 2654435761u >> 16); });
  auto *floats = filled<float>(4096, [](size_t n) { return 1.0f + static_cast<float>(n % 97) / 128; });
  auto *doubles = filled<double>(4096, [](size_t n) { return 1.0 + static_cast<double>(n % 97) / 128; });
  if (what == "accesses") {
    accesses<<<1, 128>>>(floats, floats + 2048, 9);
  } else if (what == "banks") {
    banks<<<1, 128>>>(numbers, numbers + 2048);
  } else if (what == "branches") {
    branches<<<1, 100>>>(reinterpret_cast<int *>(numbers), reinterpret_cast<int *>(numbers) + 2048, 200);
  } else if (what == "stack") {
    stack<<<1, 100>>>(numbers, numbers + 2048, 3);
  } else if (what == "flops") {
    constexpr unsigned kThreads = 128, kRounds = 5;
    flops<<<1, kThreads>>>(floats, floats + 2048, doubles, kRounds);
    std::printf("flops %u %u\n", kThreads, kRounds);
  } else if (what == "origins") {
    // Thread 37 of group 2 has a large number: twice that is finite, times another one it is not.
    const float large = 1.6e38f;
    HIP_CHECK(hipMemcpy(floats + 2 * 64 + 37, &large, 4, hipMemcpyHostToDevice));
    origins<<<4, 64>>>(floats, floats + 2048);
    const double wide = 1e200;
    HIP_CHECK(hipMemcpy(doubles + 64 + 5, &wide, 8, hipMemcpyHostToDevice));
    originsOfDoubles<<<4, 64>>>(doubles, doubles + 2048);
    const float infinite = 1.0f / 0.0f;
    HIP_CHECK(hipMemcpy(floats, &infinite, 4, hipMemcpyHostToDevice));
    handedIn<<<1, 64>>>(floats, floats + 2048);
  } else {
    sample::fail("unknown: %s", what.c_str());
  }
  HIP_CHECK(hipDeviceSynchronize());
  return sample::pass();
}
