// More than ten thousand instructions in a row, with some registers in use all the time.
#define __global__ __attribute__((global))

constexpr unsigned kValues = 16, kRounds = 640;

extern "C" __global__ void straight(float *out, const float *in, float a) {
  const unsigned item = __builtin_amdgcn_workitem_id_x();
  float x[kValues];
#pragma unroll
  for (unsigned k = 0; k < kValues; ++k)
    x[k] = in[item + k];
#pragma clang loop unroll(full)
  for (unsigned n = 0; n < kRounds; ++n)
#pragma unroll
    for (unsigned k = 0; k < kValues; ++k)
      x[k] = __builtin_fmaf(x[k], a, x[(k + n % 7 + 1) % kValues]);
  float sum = 0;
#pragma unroll
  for (unsigned k = 0; k < kValues; ++k)
    sum += x[k];
  out[item] = sum;
}
