// Kernels whose code has wait states: cross-lane moves, divisions, matrix instructions and what uses their results, in
// loops and branches. Compiled without any HIP header.

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))

using u32 = unsigned;
using float4v = float __attribute__((ext_vector_type(4)));
using float16v = float __attribute__((ext_vector_type(16)));
using half4v = _Float16 __attribute__((ext_vector_type(4)));
using double4v = double __attribute__((ext_vector_type(4)));

__device__ static u32 lane() { return __builtin_amdgcn_workitem_id_x() & 63; }

template <int control> __device__ static float moved(float value) {
  return __builtin_bit_cast(float,
                            __builtin_amdgcn_update_dpp(0, __builtin_bit_cast(int, value), control, 15, 15, true));
}

__device__ static float rowSum(float value) {
  value += moved<0x111>(value);
  value += moved<0x112>(value);
  value += moved<0x114>(value);
  return value + moved<0x118>(value);
}

extern "C" __global__ void crossLane(float *out, const float *in, u32 count) {
  float sum = 0;
  for (u32 n = lane(); n < count; n += 64) {
    sum += rowSum(in[n]);
    const u32 chosen = __builtin_amdgcn_readfirstlane(__builtin_bit_cast(u32, sum)) & 63;
    sum += __builtin_bit_cast(float, __builtin_amdgcn_readlane(__builtin_bit_cast(int, sum), chosen));
    if (sum > 7)
      sum /= in[n ^ 1];
  }
  out[lane()] = sum;
}

extern "C" __global__ void divisions(double *out, const double *in, u32 count) {
  double value = in[lane()];
  for (u32 n = 0; n < count; ++n) {
    value = in[n] / value;
    if (value < in[n + 1])
      value = __builtin_sqrt(value);
  }
  out[lane()] = value;
}

#if defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx942__)
extern "C" __global__ void matrices(float *out, const half4v *in, u32 count) {
  float16v big = {};
  float4v small = {};
  for (u32 n = 0; n < count; ++n) {
    const half4v a = in[n * 64 + lane()], b = in[n * 64 + (lane() ^ 1)];
    big = __builtin_amdgcn_mfma_f32_32x32x8f16(a, b, big, 0, 0, 0);
    small = __builtin_amdgcn_mfma_f32_4x4x4f16(a, b, small, 0, 0, 0);
    if (big[0] > small[1])
      small = __builtin_amdgcn_mfma_f32_16x16x4f32(big[3], small[2], small, 0, 0, 0);
    small[3] += big[15];
  }
  for (u32 n = 0; n < 16; ++n)
    out[n * 64 + lane()] = big[n];
  for (u32 n = 0; n < 4; ++n)
    out[(n + 16) * 64 + lane()] = small[n] + rowSum(small[n]);
}
#endif

#if defined(__gfx90a__) || defined(__gfx942__)
extern "C" __global__ void doubles(double *out, const double *in, u32 count) {
  double4v sum = {};
  for (u32 n = 0; n < count; ++n) {
    sum = __builtin_amdgcn_mfma_f64_16x16x4f64(in[n], in[n + lane()], sum, 0, 0, 0);
    sum[1] = __builtin_fma(sum[0], in[n], sum[1]);
    sum[2] = __builtin_amdgcn_mfma_f64_4x4x4f64(sum[1], in[n], sum[2], 0, 0, 0);
    if (sum[2] > 3)
      out[n] = sum[3];
  }
  for (u32 n = 0; n < 4; ++n)
    out[n * 64 + lane()] = sum[n];
}
#endif
