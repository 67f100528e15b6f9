// Per call: how often, for how many lanes; and which functions, where a pointer decides.
#include <luthier/hook.h>

#include "callees.h"

LUTHIER_PER_SITE uint64_t direct[2];                          // calls, lanes
LUTHIER_PER_SITE uint64_t indirect[3 * call_graph::kCallees]; // of each callee: its address, calls, lanes
LUTHIER_PER_SITE uint64_t others[2];                          // calls, lanes

LUTHIER_HOOK(wave) void call() {
  luthier::atomicAdd(direct[0], 1);
  luthier::atomicAdd(direct[1], luthier::popcount(luthier::exec()));
}

LUTHIER_HOOK(wave) void callThrough(uint64_t callee) {
  const uint32_t lanes = luthier::popcount(luthier::exec());
  for (uint32_t n = 0; n < call_graph::kCallees; ++n) {
    const uint64_t there = luthier::atomicCompareExchange(indirect[3 * n], 0, callee);
    if (there && there != callee)
      continue;
    luthier::atomicAdd(indirect[3 * n + 1], 1);
    luthier::atomicAdd(indirect[3 * n + 2], lanes);
    return;
  }
  luthier::atomicAdd(others[0], 1);
  luthier::atomicAdd(others[1], lanes);
}
