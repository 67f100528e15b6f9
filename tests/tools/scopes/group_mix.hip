// The waves of a workgroup add up in LDS, and go to memory once, when they end.
#include <luthier/hook.h>

constexpr uint32_t kKinds = 6;
LUTHIER_LDS uint32_t ofGroup[kKinds];
LUTHIER_PER_LAUNCH uint64_t lanes[kKinds];

LUTHIER_HOOK(lane) void count(uint32_t kind) { luthier::atomicAdd(ofGroup[kind], 1); }
LUTHIER_HOOK(wave) void flush() {
  for (uint32_t kind = 0; kind < kKinds; ++kind)
    luthier::atomicAdd(lanes[kind], luthier::atomicExchange(ofGroup[kind], 0));
}
