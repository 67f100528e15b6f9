// Instructions of a launch, each counted by itself.
#include <luthier/hook.h>
LUTHIER_PER_LAUNCH uint64_t instructions;
LUTHIER_PER_WAVE uint64_t seen;
LUTHIER_HOOK(wave) void count(uint32_t n) { seen += n; }
LUTHIER_HOOK(wave) void flush() { luthier::atomicAdd(instructions, seen); }
LUTHIER_HOOK(wave) void look(uint32_t value) { seen += value & 0; }
