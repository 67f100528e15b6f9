// What tests of RDNA's ALUs share: every generation, in waves of both sizes.
#pragma once

#include "harness.h"

#include <string>

namespace luthier::vgpu::test {

inline constexpr uint32_t kQuietNan = 0x7fc00001, kSignallingNan = 0x7f800001;

struct WaveKind {
  const char *target;
  unsigned lanes;
};
inline std::string nameOf(const testing::TestParamInfo<WaveKind> &info) {
  return std::string(info.param.target) + "_" + std::to_string(info.param.lanes);
}

/// On targets of all generations, in waves of both sizes.
class Rdna : public testing::TestWithParam<WaveKind> {
protected:
  bool wave32() const { return t.lanes() == 32; }
  bool isAtLeast(const char *name) const { return t.target().gfxVersion() >= isa::findTarget(name)->gfxVersion(); }
  /// A lane mask as an operand.
  std::string mask(unsigned reg) const {
    return wave32() ? "s" + std::to_string(reg) : "s[" + std::to_string(reg) + ":" + std::to_string(reg + 1) + "]";
  }
  std::string vcc() const { return wave32() ? "vcc_lo" : "vcc"; }
  std::string exec() const { return wave32() ? "exec_lo" : "exec"; }
  uint64_t allLanes() const { return wave32() ? 0xffffffffull : ~0ull; }
  uint64_t maskAt(unsigned reg) { return wave32() ? t.s(reg) : t.s64(reg); }
  void setLaneNumbers(unsigned reg) {
    for (unsigned lane = 0; lane < kMaxLanes; ++lane)
      t.v(reg, lane) = lane;
  }

  ExecTest t{GetParam().target, GetParam().lanes};
};

/// All of them.
inline const auto kAllWaves =
    testing::Values(WaveKind{"gfx1010", 32}, WaveKind{"gfx1030", 32}, WaveKind{"gfx1030", 64}, WaveKind{"gfx1100", 32},
                    WaveKind{"gfx1100", 64}, WaveKind{"gfx1151", 32}, WaveKind{"gfx1201", 32}, WaveKind{"gfx1201", 64});
/// gfx11 and later.
inline const auto kRdna3Waves =
    testing::Values(WaveKind{"gfx1100", 32}, WaveKind{"gfx1100", 64}, WaveKind{"gfx1201", 32}, WaveKind{"gfx1201", 64});
/// gfx12.
inline const auto kRdna4Waves = testing::Values(WaveKind{"gfx1201", 32}, WaveKind{"gfx1201", 64});

} // namespace luthier::vgpu::test
