// A wave counts in registers and adds to memory once, when it ends; blocks and single instructions have counters of
// their own, in memory.
#include <luthier/hook.h>

LUTHIER_PER_LAUNCH uint64_t instructions, lanes;
LUTHIER_PER_WAVE uint64_t waveInstructions, waveLanes;
LUTHIER_PER_SITE uint64_t counters[2];

LUTHIER_HOOK(wave) void count(uint32_t n) {
  waveInstructions += n;
  waveLanes += n * luthier::popcount(luthier::exec());
}
LUTHIER_HOOK(wave) void flush() {
  luthier::atomicAdd(instructions, waveInstructions);
  luthier::atomicAdd(lanes, waveLanes);
}
LUTHIER_HOOK(wave) void countHere(uint32_t n) {
  luthier::atomicAdd(counters[0], n);
  luthier::atomicAdd(counters[1], n * luthier::popcount(luthier::exec()));
}
