// A scratch pad per wave, in LDS: a wave takes the next one when it starts.
#include <luthier/hook.h>

constexpr uint32_t kWaves = 32, kLanes = 64; // of the largest workgroup
LUTHIER_LDS uint32_t pads[kWaves * kLanes], taken;
LUTHIER_PER_WAVE uint32_t pad;
LUTHIER_PER_LAUNCH uint64_t lanes;

LUTHIER_HOOK(wave) void take() { pad = luthier::atomicAdd(taken, kLanes); }
LUTHIER_HOOK(lane) void count(uint32_t instructions) {
  luthier::atomicAdd(pads[pad + luthier::laneId()], instructions);
}
LUTHIER_HOOK(wave) void give() {
  uint64_t sum = 0;
  for (uint32_t lane = 0; lane < luthier::waveSize(); ++lane)
    sum += luthier::atomicLoad(pads[pad + lane]);
  luthier::atomicAdd(lanes, sum);
}
