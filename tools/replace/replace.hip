// What takes the place of additions, multiplications and fused ones: the same, rounded to fewer bits.
#include <luthier/hook.h>

namespace {

/// To the nearest number whose last `dropped` bits are 0, to an even one if two are as near. NaNs stay what they are.
__device__ float rounded(float value, uint32_t dropped) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, value);
  if (dropped == 0 || (bits & 0x7f800000) == 0x7f800000)
    return value;
  const uint32_t half = (1u << (dropped - 1)) - 1, odd = bits >> dropped & 1;
  return __builtin_bit_cast(float, (bits + half + odd) >> dropped << dropped);
}

} // namespace

LUTHIER_HOOK(lane) float add(float a, float b, uint32_t dropped) { return rounded(a + b, dropped); }
LUTHIER_HOOK(lane) float sub(float a, float b, uint32_t dropped) { return rounded(a - b, dropped); }
LUTHIER_HOOK(lane) float mul(float a, float b, uint32_t dropped) { return rounded(a * b, dropped); }
LUTHIER_HOOK(lane) float fma(float a, float b, float c, uint32_t dropped) {
  return rounded(__builtin_fmaf(a, b, c), dropped);
}
