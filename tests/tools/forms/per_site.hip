// A counter per place.
#include <luthier/hook.h>

LUTHIER_PER_SITE uint64_t hits;
LUTHIER_HOOK(wave) void count() { luthier::atomicAdd(hits, 1); }
