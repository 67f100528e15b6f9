// Hooks that must not be noticed by the kernels that they are inserted into (swap_object.h picks one by name).
//
// What they compute goes nowhere that a guest looks; the stores to `sink` are there so that nothing is optimised away.
#include <luthier/hook.h>

LUTHIER_DEVICE uint64_t luthierHarnessCount;
LUTHIER_PER_LAUNCH uint64_t luthierHarnessLaunchCount;
LUTHIER_DEVICE uint32_t luthierHarnessSink;

LUTHIER_HOOK(lane) void emptyLane() {}
LUTHIER_HOOK(wave) void emptyWave() {}

// Both count the lanes that are active. swap_tool.cc reads the sums.
LUTHIER_HOOK(lane) void countLane() { luthier::atomicAdd(luthierHarnessCount, 1); }
LUTHIER_HOOK(wave) void countWave(uint64_t exec) {
  luthier::atomicAdd(luthierHarnessLaunchCount, luthier::popcount(exec));
}

#define INLINE __attribute__((device, always_inline)) static inline

// Inline assembly without text: hooks can have no other, but it pins values to registers all the same.

/// Keeps a value in a register of that kind, as if it were used and changed here.
INLINE void touch(uint32_t &vector) { asm volatile("" : "+v"(vector)); }
INLINE void touchScalar(uint32_t &scalar) { asm volatile("" : "+s"(scalar)); }

/// SCC and VCC are clobbered by the comparisons below.
INLINE void clobberM0(uint32_t value) { asm volatile("" : : "{m0}"(value)); }

/// 40 vector and 40 scalar registers that are all alive across a loop whose lanes part and meet again. Beyond that as
/// short as can be: it runs at every instruction of every kernel.
INLINE void hostile(uint32_t site, uint64_t exec, uint32_t lane) {
  constexpr uint32_t kRegisters = 40;
  uint32_t vector[kRegisters], scalar[kRegisters];
  site = luthier::readFirstLane(site);
  const uint32_t wave = luthier::readFirstLane(static_cast<uint32_t>(exec)) ^ site;
  touch(lane); // from here on different in each lane, for all that the compiler knows
#pragma unroll
  for (uint32_t n = 0; n < kRegisters; ++n) {
    scalar[n] = wave + n;
    touchScalar(scalar[n]);
    vector[n] = lane ^ n;
    touch(vector[n]);
  }
  clobberM0(site);
  uint32_t sum = 0;
#pragma nounroll
  for (uint32_t round = 0; round <= (site & 1); ++round) {
    if ((lane + round) & 1) {
      vector[0] += scalar[kRegisters - 1];
      touch(vector[0]);
    } else {
      sum += vector[kRegisters - 1] * round;
    }
    scalar[0] += round;
    touchScalar(scalar[0]);
    clobberM0(round);
  }
#pragma unroll
  for (uint32_t n = 0; n < kRegisters; ++n)
    sum = (vector[n] ^ scalar[n]) + sum;
  luthier::atomicExchange(luthierHarnessSink, sum);
}

LUTHIER_HOOK(lane) void hostileLane(uint32_t site, uint64_t exec) { hostile(site, exec, luthier::laneId()); }
LUTHIER_HOOK(wave) void hostileWave(uint32_t site, uint64_t exec) { hostile(site, exec, static_cast<uint32_t>(exec)); }

// The same, with state of its own: registers that live as long as the wave, and LDS.
LUTHIER_PER_LANE uint32_t luthierHarnessLane[3];
LUTHIER_PER_WAVE uint32_t luthierHarnessWave[3];
LUTHIER_LDS uint32_t luthierHarnessLds[128];

INLINE uint32_t update(uint32_t (&state)[3], uint32_t site, uint32_t lane) {
  luthier::atomicAdd(luthierHarnessLds[(site + lane) & 127], state[0]);
  state[0] += luthierHarnessLds[lane & 127] + site;
  luthierHarnessLds[(lane ^ site) & 127] = state[1];
  state[1] ^= state[2] + lane;
  state[2] = state[0] * 5 + 1;
  return state[1];
}
LUTHIER_HOOK(lane) void statefulLane(uint32_t site, uint64_t exec) {
  hostile(site, exec, update(luthierHarnessLane, site, luthier::laneId()));
}
LUTHIER_HOOK(wave) void statefulWave(uint32_t site, uint64_t exec) {
  hostile(site, exec, update(luthierHarnessWave, site, static_cast<uint32_t>(exec)));
}

// Every second wave, for hooks that run in some visits only.
LUTHIER_DEVICE uint32_t luthierHarnessWaves;
LUTHIER_PER_WAVE uint32_t luthierHarnessChosen;
LUTHIER_HOOK(wave) void chooseWave() { luthierHarnessChosen = luthier::atomicAdd(luthierHarnessWaves, 1) % 2; }

// Memory of the hook's own, all of it garbage, with calls through a pointer and a function that calls itself.

__device__ uint32_t first(uint32_t *garbage, uint32_t n) { return garbage[n & 31] + n; }
__device__ uint32_t second(uint32_t *garbage, uint32_t n) { return garbage[n * 5 & 31]-- ^ n; }
LUTHIER_DEVICE uint32_t (*luthierHarnessCalls[2])(uint32_t *, uint32_t) = {first, second};
LUTHIER_RECURSION(3) __device__ uint32_t walk(uint32_t *garbage, uint32_t n) {
  return n ? walk(garbage, n - 1) + garbage[n] : luthierHarnessCalls[garbage[0] & 1](garbage, n);
}
INLINE void frame(uint32_t site, uint32_t lane) {
  uint32_t garbage[32];
  touch(lane);
#pragma nounroll
  for (uint32_t n = 0; n < 32; ++n)
    garbage[n] = lane * 0x01010101 + n;
  luthier::atomicExchange(luthierHarnessSink, walk(garbage, site & 1) + garbage[lane & 31]);
}
LUTHIER_HOOK(lane) void frameLane(uint32_t site, uint64_t exec) { frame(site, luthier::laneId()); }
LUTHIER_HOOK(wave) void frameWave(uint32_t site, uint64_t exec) { frame(site, static_cast<uint32_t>(exec)); }

// All of it in one.
LUTHIER_HOOK(lane) void everythingLane(uint32_t site, uint64_t exec) {
  const uint32_t state = update(luthierHarnessLane, site, luthier::laneId());
  hostile(site, exec, state);
  frame(site, state);
}
LUTHIER_HOOK(wave) void everythingWave(uint32_t site, uint64_t exec) {
  const uint32_t state = update(luthierHarnessWave, site, static_cast<uint32_t>(exec));
  hostile(site, exec, state);
  frame(site, state);
}
