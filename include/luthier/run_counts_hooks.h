// The device side of luthier/run_counts.h, to be included into a tool's hooks. Each place at which `countRun` is called
// has two counters of its own: how often it was executed, and by how many active lanes in all.
#pragma once

#include "luthier/hook.h"

LUTHIER_PER_SITE uint64_t runCounts[2];

LUTHIER_HOOK(wave) void countRun() {
  luthier::atomicAdd(runCounts[0], 1);
  luthier::atomicAdd(runCounts[1], luthier::popcount(luthier::exec()));
}
