// A structure by value, a table of constants, and a local array that is indexed by variables: in the hook's own memory.
#include "mix.h"

#include <luthier/hook.h>

LUTHIER_PER_LAUNCH uint64_t executed[kKinds];
__constant__ const uint32_t kStep[4] = {1, 5, 7, 11};

LUTHIER_HOOK(wave) void count(Mix mix, uint32_t site) {
  uint32_t shuffled[kKinds];
  const uint32_t step = kStep[site & 3];
  for (uint32_t n = 0; n < kKinds; ++n)
    shuffled[(n * step + site) % kKinds] = mix.of[n];
  for (uint32_t n = 0; n < kKinds; ++n)
    luthier::atomicAdd(executed[n], shuffled[(n * step + site) % kKinds]);
}
