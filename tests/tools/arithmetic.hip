// Additions and the like of known numbers, which are printed with their results: for the test of the tool replace.
#include "sample.h"

// One instruction each, and nothing to round in between.
__global__ void arithmetic(const float *in, float *out) {
  const uint32_t i = threadIdx.x;
  const float a = in[i], b = in[i + 64], c = in[i + 128];
  float sum, difference, product, fused = c;
  asm volatile("v_add_f32 %0, %4, %5\n\tv_sub_f32 %1, %4, %5\n\tv_mul_f32 %2, %4, %5\n\tv_fma_f32 %3, %4, %5, %3"
               : "=&v"(sum), "=&v"(difference), "=&v"(product), "+v"(fused)
               : "v"(a), "v"(b));
  out[i] = sum;
  out[i + 64] = difference;
  out[i + 128] = product;
  out[i + 192] = fused;
}

int main() {
  float *floats = nullptr;
  HIP_CHECK(hipMalloc(&floats, 448 * sizeof(float)));
  std::vector<float> values(192), results(256);
  for (size_t n = 0; n < values.size(); ++n)
    values[n] = static_cast<float>((n + 1) * 2654435761u >> 7) / static_cast<float>(n * 977 + 3);
  HIP_CHECK(hipMemcpy(floats, values.data(), values.size() * 4, hipMemcpyHostToDevice));
  arithmetic<<<1, 64>>>(floats, floats + 192);
  HIP_CHECK(hipMemcpy(results.data(), floats + 192, results.size() * 4, hipMemcpyDeviceToHost));
  for (const float value : values)
    std::printf("in %08x\n", __builtin_bit_cast(uint32_t, value));
  for (const float value : results)
    std::printf("out %08x\n", __builtin_bit_cast(uint32_t, value));
  return sample::pass();
}
