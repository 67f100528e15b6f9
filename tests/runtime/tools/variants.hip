// Instructions of a launch.
#include <luthier/hook.h>
LUTHIER_PER_LAUNCH uint64_t instructions;
LUTHIER_HOOK(wave) void count(uint32_t n) { luthier::atomicAdd(instructions, static_cast<uint64_t>(n)); }
