// Block counters, two ways: in memory, and in registers of the wave.
#include <luthier/hook.h>

LUTHIER_DEVICE uint64_t blocks[65536];
LUTHIER_DEVICE uint64_t total;
LUTHIER_PER_WAVE uint64_t seen;

LUTHIER_HOOK(wave) void countInMemory(uint64_t *counter) { luthier::atomicAdd(*counter, 1); }
LUTHIER_HOOK(wave) void countInVariable() { luthier::atomicAdd(total, 1); }
LUTHIER_HOOK(wave) void countInWave(uint32_t n) { seen += n; }
LUTHIER_HOOK(wave) void flush() { luthier::atomicAdd(total, seen); }
