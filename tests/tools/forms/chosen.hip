// Some visits, some waves, some lanes.
#include <luthier/hook.h>

LUTHIER_PER_WAVE uint32_t visits, odd;
LUTHIER_PER_LAUNCH uint64_t all, sampled, expected, ofOdd, ofEven, lowLanes, highLanes, starts;

LUTHIER_HOOK(wave) void choose() { odd = luthier::atomicAdd(starts, 1) & 1; }
LUTHIER_HOOK(wave) void visit() {
  ++visits;
  luthier::atomicAdd(odd ? ofOdd : ofEven, 1);
}
LUTHIER_HOOK(wave) void sample() { luthier::atomicAdd(sampled, 1); }
LUTHIER_HOOK(wave) void whenOdd() { luthier::atomicAdd(ofEven, 1); } // as many as in visit(), if that is right
LUTHIER_HOOK(lane) bool isLow() { return luthier::laneId() < 20; }
LUTHIER_HOOK(lane) bool isHigh() { return luthier::laneId() >= 20; }
LUTHIER_HOOK(lane) void low() { luthier::atomicAdd(lowLanes, 1); }
LUTHIER_HOOK(lane) void high() { luthier::atomicAdd(highLanes, 1); }
LUTHIER_HOOK(wave) void finish(uint32_t every) {
  luthier::atomicAdd(all, visits);
  luthier::atomicAdd(expected, (visits + every - 1) / every);
}
