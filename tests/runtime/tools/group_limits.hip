#include <luthier/hook.h>

LUTHIER_LDS uint32_t table[10000];
LUTHIER_PER_LAUNCH uint64_t lanes;

LUTHIER_HOOK(lane) void count() { luthier::atomicAdd(table[luthier::laneId() * 150], 1); }
LUTHIER_HOOK(wave) void flush() {
  for (uint32_t n = 0; n < 64; ++n)
    luthier::atomicAdd(lanes, luthier::atomicExchange(table[n * 150], 0));
}

LUTHIER_PER_WORKGROUP uint8_t large[1 << 29];
LUTHIER_HOOK(wave) void touch() { large[1000] = 1; }
