// Rounds of loops, in two ways, and where calls through pointers go.
#include <luthier/hook.h>

LUTHIER_PER_LAUNCH uint64_t headers, edges;
LUTHIER_PER_LAUNCH uint64_t calls;
LUTHIER_PER_SITE uint64_t callee;

LUTHIER_HOOK(wave) void header() { luthier::atomicAdd(headers, 1); }
LUTHIER_HOOK(wave) void edge() { luthier::atomicAdd(edges, 1); }
LUTHIER_HOOK(wave) void call() { luthier::atomicAdd(calls, 1); }
LUTHIER_HOOK(wave) void byPointer(uint64_t to) { luthier::atomicStore(callee, to); }
