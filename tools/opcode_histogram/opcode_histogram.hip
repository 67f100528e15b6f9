// A counter of executions and one of active lanes for each run of instructions during which EXEC stays the same. What
// is in the run is known to the host.
#include <luthier/hook.h>

LUTHIER_DEVICE uint64_t counters[1 << 20][2];

LUTHIER_HOOK(wave) void count(uint32_t run) {
  luthier::atomicAdd(counters[run][0], 1);
  luthier::atomicAdd(counters[run][1], luthier::popcount(luthier::exec()));
}
