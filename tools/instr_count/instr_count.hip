// A wave counts in registers and adds to memory once, when it ends; blocks and single instructions have counters in
// memory.
#include <luthier/hook.h>

LUTHIER_PER_LAUNCH uint64_t instructions, lanes;
LUTHIER_PER_WAVE uint64_t waveInstructions, waveLanes;
LUTHIER_DEVICE uint64_t counters[1 << 20][2];

LUTHIER_HOOK(wave) void count(uint32_t n) {
  waveInstructions += n;
  waveLanes += n * luthier::popcount(luthier::exec());
}
LUTHIER_HOOK(wave) void flush() {
  luthier::atomicAdd(instructions, waveInstructions);
  luthier::atomicAdd(lanes, waveLanes);
}
LUTHIER_HOOK(wave) void countAt(uint32_t place, uint32_t n) {
  luthier::atomicAdd(counters[place][0], n);
  luthier::atomicAdd(counters[place][1], n * luthier::popcount(luthier::exec()));
}
