// Comparisons once more, from both operands, and what the GPU says.
#include <luthier/hook.h>

LUTHIER_PER_LAUNCH uint64_t right, wrong;

__device__ bool holds(uint32_t what, uint32_t a, uint32_t b) {
  const bool less = what & 8 ? static_cast<int32_t>(a) < static_cast<int32_t>(b) : a < b;
  return (what & 1 && less) || (what & 2 && a == b) || (what & 4 && !less && a != b);
}
LUTHIER_HOOK(lane) void vector(uint32_t a, uint32_t b, uint64_t result, uint32_t what) {
  luthier::atomicAdd(holds(what, a, b) == (result >> luthier::laneId() & 1) ? right : wrong, 1);
}
LUTHIER_HOOK(wave) void scalar(uint32_t a, uint32_t b, uint32_t result, uint32_t what) {
  luthier::atomicAdd(holds(what, a, b) == result ? right : wrong, 1);
}
