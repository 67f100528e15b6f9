#include <luthier/hook.h>

LUTHIER_HOOK(wave) void count(uint32_t) {}
LUTHIER_HOOK(wave) void count(uint64_t) {}
