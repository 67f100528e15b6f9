// Hooks that use HIP's own device functions too.

#ifdef HIP_BEFORE
#include <hip/hip_runtime.h>

#include <luthier/hook.h>
#else
#include <luthier/hook.h>

#include <hip/hip_runtime.h>
#endif
#include <luthier/hostcall.h>

LUTHIER_DEVICE unsigned long long counters[16];
LUTHIER_PER_WAVE uint64_t seen;

LUTHIER_HOOK(wave) void bits(uint32_t x) { seen += __popc(x); }
LUTHIER_HOOK(lane) void count(uint32_t x) { atomicAdd(&counters[x & 15], 1ull); }
LUTHIER_HOOK(lane) void print(uint32_t x) { luthier::printf("%u\n", x); }
LUTHIER_HOOK(lane) void countToo(uint32_t x) { luthier::atomicAdd(counters[x & 15], 1); }
