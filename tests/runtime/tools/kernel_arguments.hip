// The first argument of each kernel, as a hook finds it.
#include <luthier/hook.h>

LUTHIER_PER_LAUNCH uint64_t seen;
LUTHIER_HOOK(wave) void look32(uint32_t value) { luthier::atomicStore(seen, value); }
LUTHIER_HOOK(wave) void look64(uint64_t value) { luthier::atomicStore(seen, value); }
