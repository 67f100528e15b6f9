// Hooks that call the device library, through HIP's headers.

#include <hip/hip_runtime.h>

#include <luthier/hook.h>

LUTHIER_HOOK(lane) float sine(float x) { return sinf(x); }
LUTHIER_HOOK(lane) float power(float x, float y) { return powf(x, y); }
LUTHIER_HOOK(lane) float exponential(float x) { return expf(x); }
LUTHIER_HOOK(lane) double logarithm(double x) { return log(x); }
LUTHIER_HOOK(lane) float hypotenuse(float x, float y) { return hypotf(x, y); }
LUTHIER_HOOK(lane) uint32_t globalId() { return blockIdx.x * blockDim.x + threadIdx.x; }
LUTHIER_HOOK(lane) uint32_t leadingZeros(uint32_t x) { return __clz(static_cast<int>(x)); }
LUTHIER_HOOK(wave) float root(float x) { return sqrtf(x); }
