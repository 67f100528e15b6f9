// A counter of executions and one of active lanes for each run of instructions during which EXEC stays the same. What
// is in the run is known to the host.
#include <luthier/hook.h>

LUTHIER_PER_SITE uint64_t counters[2];

LUTHIER_HOOK(wave) void count() {
  luthier::atomicAdd(counters[0], 1);
  luthier::atomicAdd(counters[1], luthier::popcount(luthier::exec()));
}
