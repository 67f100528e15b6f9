// Hooks for strict_test.cc.
#include <luthier/hook.h>

LUTHIER_DEVICE uint64_t total;
LUTHIER_DEVICE float quotients[4];
LUTHIER_PER_LAUNCH uint64_t launchTotal;

LUTHIER_HOOK(lane) uint32_t addSeven(uint32_t x) { return x + 7; }
/// Reads its argument by DPP, which must not be too close behind whatever wrote it.
LUTHIER_HOOK(lane) uint32_t fromNeighbour(uint32_t x) {
  return __builtin_amdgcn_update_dpp(0, x, 0x111, 0xf, 0xf, true);
}
LUTHIER_HOOK(wave) uint64_t nothing(uint64_t) { return 0; }
LUTHIER_HOOK(wave) uint32_t half(uint32_t x) { return x & 0xff; }
LUTHIER_HOOK(wave) void count() { luthier::atomicAdd(total, 1); }
LUTHIER_HOOK(lane) void countLane() { luthier::atomicAdd(total, 1); }
/// A third depends on rounding.
LUTHIER_HOOK(wave) void divide(uint32_t to) {
  float one = 1, three = 3, smallest = 1.5e-38f;
  asm volatile("" : "+v"(one), "+v"(three), "+v"(smallest));
  quotients[to & 1] = one / three;
  quotients[(to & 1) + 2] = smallest / three;
}
/// An invalid operation.
LUTHIER_HOOK(wave) void invalid() {
  float infinity = __builtin_inff();
  asm volatile("" : "+v"(infinity));
  quotients[0] = infinity - infinity;
}
/// Registers of its own, VCC, M0, and no floating point.
LUTHIER_HOOK(lane) void clobber(uint32_t x) {
  asm volatile("" : : "{m0}"(luthier::readFirstLane(x)));
  if (x > luthier::laneId() * 3)
    luthier::atomicAdd(total, x);
}
/// Ends in a store.
LUTHIER_DEVICE uint32_t perLane[64];
LUTHIER_HOOK(lane) void store(uint32_t x) { perLane[luthier::laneId()] = x; }
/// VCC and vector registers, and nothing else.
LUTHIER_HOOK(lane) uint32_t larger(uint32_t x, uint32_t y) { return x > y * 5 ? x : y; }
/// More vector registers than there are.
LUTHIER_HOOK(lane) uint32_t wide(uint32_t x) {
  uint32_t vector[40];
#pragma unroll
  for (uint32_t n = 0; n < 40; ++n) {
    vector[n] = x ^ n * 0x9e3779b9u;
    asm volatile("" : "+v"(vector[n]));
  }
#pragma unroll
  for (uint32_t n = 0; n < 40; ++n)
    x = vector[n] > x ? vector[n] - x : 3;
  return x;
}
