// Per conditional branch: executions, times taken, and times that some lanes went on where others did not. Per block,
// run by run: executed instructions and lanes (luthier/run_counts_hooks.h).
#include <luthier/run_counts_hooks.h>

LUTHIER_PER_WAVE uint64_t before; // EXEC ahead of the last instruction that wrote it since the last branch
LUTHIER_PER_SITE uint64_t executed, divergent, taken;

LUTHIER_HOOK(wave) void writesExec() { before = luthier::exec(); }

/// Of a branch that tests EXEC: the lanes that were active before have parted if some, but not all, still are. Other
/// branches send the whole wave one way.
LUTHIER_HOOK(wave) void branch(bool testsExec) {
  const uint64_t now = luthier::exec();
  luthier::atomicAdd(executed, 1);
  luthier::atomicAdd(divergent, testsExec && now && (now & before) == now && now != before);
  before = 0;
}

LUTHIER_HOOK(wave) void take() { luthier::atomicAdd(taken, 1); }
