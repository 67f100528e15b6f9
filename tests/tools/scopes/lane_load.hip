// Each lane counts the instructions that it executes, in a register of its own.
#include <luthier/hook.h>

LUTHIER_PER_LANE uint32_t executed;
LUTHIER_PER_LAUNCH uint64_t lanes, sum;
LUTHIER_PER_LAUNCH uint32_t most, least = 0xffffffff;

LUTHIER_HOOK(lane) void count(uint32_t n) { executed += n; }
LUTHIER_HOOK(lane) void flush() {
  luthier::atomicAdd(lanes, 1);
  luthier::atomicAdd(sum, executed);
  luthier::atomicMax(most, executed);
  luthier::atomicMin(least, executed);
}
