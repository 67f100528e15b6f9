// What assembly has counted in a scalar register goes to memory.
#include <luthier/hook.h>

LUTHIER_PER_LAUNCH uint64_t executed;
LUTHIER_HOOK(wave) void flush(uint32_t counted) { luthier::atomicAdd(executed, counted); }
