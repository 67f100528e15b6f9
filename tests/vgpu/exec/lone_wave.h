// A wave without a machine around it, of either size and any target: for instructions that need no more.
#pragma once

#include "vgpu/state/wave.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>

namespace luthier::vgpu::test {

/// Registers, all random, and LDS.
struct LoneWave {
  explicit LoneWave(unsigned lanes, uint32_t seed = 1) : wave(static_cast<Wave *>(aligned_alloc(64, sizeof(Wave)))) {
    memset(static_cast<void *>(wave.get()), 0, sizeof(Wave));
    wave->clearCaches();
    std::mt19937 random(seed);
    for (auto &reg : wave->v)
      for (uint32_t &lane : reg)
        lane = random();
    for (unsigned n = 0; n < 106; ++n)
      wave->s[n] = random();
    wave->lanes = lanes;
    wave->vgprCount = 256;
    wave->sgprs = 106;
    wave->mode = 0x3f0;
    wave->lds = lds;
    wave->ldsSize = sizeof lds;
    wave->setExec(lanes == 64 ? ~0ull : 0xffffffffull);
  }
  struct Free {
    void operator()(Wave *w) const { free(w); }
  };
  std::unique_ptr<Wave, Free> wave;
  alignas(64) uint8_t lds[4096] = {};
};

} // namespace luthier::vgpu::test
