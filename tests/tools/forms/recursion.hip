// Helpers that call themselves, chosen by a function pointer.
#include <luthier/hook.h>

LUTHIER_PER_LAUNCH uint64_t lanes;

LUTHIER_RECURSION(6) __device__ uint32_t byHalves(uint64_t mask, uint32_t bits) {
  if (bits == 2)
    return (mask & 1) + (mask >> 1 & 1);
  bits /= 2;
  return byHalves(mask & ((1ull << bits) - 1), bits) + byHalves(mask >> bits, bits);
}
LUTHIER_RECURSION(65) __device__ uint32_t oneByOne(uint64_t mask, uint32_t bits) {
  return mask ? 1 + oneByOne(mask & (mask - 1), bits) : 0;
}
__device__ uint32_t (*const ways[])(uint64_t, uint32_t) = { byHalves, oneByOne };

LUTHIER_HOOK(wave) void count(uint32_t site) { luthier::atomicAdd(lanes, ways[site & 1](luthier::exec(), 64)); }
