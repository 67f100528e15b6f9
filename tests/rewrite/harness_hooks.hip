// Hooks that must not be noticed by the kernels that they are inserted into (swap_object.h picks one by name).
//
// What they compute goes nowhere that a guest looks; the stores to `sink` are there so that nothing is optimised away.
#include <luthier/hook.h>

LUTHIER_DEVICE uint64_t luthierHarnessCount;
LUTHIER_DEVICE uint32_t luthierHarnessSink;

LUTHIER_HOOK(lane) void emptyLane() {}
LUTHIER_HOOK(wave) void emptyWave() {}

LUTHIER_HOOK(lane) void countLane() { luthier::atomicAdd(luthierHarnessCount, 1); }
LUTHIER_HOOK(wave) void countWave(uint64_t exec) {
  luthier::atomicAdd(luthierHarnessCount, luthier::popcount(exec));
}

#define INLINE __attribute__((device, always_inline)) static inline

/// Values that nothing but this text knows, each in a register of its own.
INLINE uint32_t inVgpr(uint32_t from, uint32_t n) {
  uint32_t value;
  asm volatile("v_xor_b32 %0, %2, %1" : "=v"(value) : "v"(from), "s"(n * 0x9e3779b9u));
  return value;
}
INLINE uint32_t inSgpr(uint32_t from, uint32_t n) {
  uint32_t value;
  asm volatile("s_xor_b32 %0, %1, %2" : "=s"(value) : "s"(from), "s"(n * 0x85ebca6bu) : "scc");
  return value;
}
/// Keeps a value where it is, as if it were used and changed here.
INLINE void touch(uint32_t &vector) { asm volatile("v_add_u32_e32 %0, 1, %0" : "+v"(vector)); }
INLINE void touchScalar(uint32_t &scalar) { asm volatile("s_add_u32 %0, %0, 1" : "+s"(scalar) : : "scc"); }

INLINE void clobber(uint32_t value) {
  asm volatile("s_mov_b32 m0, %0\n\t"
               "s_mov_b64 vcc, 0x5\n\t"
               "s_cmp_lg_u32 %0, %0"
               :
               : "s"(value)
               : "m0", "vcc", "scc");
}

/// 40 vector and 40 scalar registers that are all alive across a loop whose lanes part and meet again.
INLINE void hostile(uint32_t site, uint64_t exec, uint32_t lane) {
  constexpr uint32_t kRegisters = 40;
  uint32_t vector[kRegisters], scalar[kRegisters];
  const uint32_t wave = static_cast<uint32_t>(exec) ^ site;
#pragma unroll
  for (uint32_t n = 0; n < kRegisters; ++n) {
    scalar[n] = inSgpr(wave, n);
    vector[n] = inVgpr(lane, n);
  }
  clobber(site);
  uint32_t sum = 0;
#pragma nounroll
  for (uint32_t round = 0; round <= (site & 1); ++round) {
    if ((lane + round) & 1) {
#pragma unroll
      for (uint32_t n = 0; n < kRegisters; ++n)
        touch(vector[n]);
    } else {
      sum += vector[round];
    }
#pragma unroll
    for (uint32_t n = 0; n < kRegisters; ++n)
      touchScalar(scalar[n]);
    clobber(round);
  }
#pragma unroll
  for (uint32_t n = 0; n < kRegisters; ++n)
    sum += vector[n] ^ scalar[n];
  luthier::atomicExchange(luthierHarnessSink, sum);
}

LUTHIER_HOOK(lane) void hostileLane(uint32_t site, uint64_t exec) { hostile(site, exec, luthier::laneId()); }
LUTHIER_HOOK(wave) void hostileWave(uint32_t site, uint64_t exec) { hostile(site, exec, static_cast<uint32_t>(exec)); }
