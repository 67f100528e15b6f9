// Executions of all instructions (luthier/run_counts_hooks.h). Of buffer instructions, which may go anywhere, those
// that went to scratch are counted by themselves.
#include <luthier/run_counts_hooks.h>

LUTHIER_PER_SITE uint64_t scratchLanes;

/// `word3` is the last of the resource. Only that of scratch memory adds the lane's number to addresses.
LUTHIER_HOOK(wave) void buffer(uint32_t word3) {
  constexpr uint32_t kAddTidEnable = 1 << 23;
  if (word3 & kAddTidEnable)
    luthier::atomicAdd(scratchLanes, luthier::popcount(luthier::exec()));
}
