// The MODE register's rounding and denormal fields, carried by the host's MXCSR while a wave runs.
//
// The host rounds f32 and f64 alike, the GPU may round them differently. Waves nearly always ask for one mode for
// both; then the whole quantum runs under it. Otherwise f32's fields win for the quantum and FpModeFor switches around
// single instructions.
#pragma once

#include "vgpu/wave/wave.h"

#include <xmmintrin.h>

namespace luthier::vgpu {

/// MXCSR for a rounding field (0 nearest even, 1 up, 2 down, 3 zero) and a denormal field (bit 0 keep inputs, bit 1
/// keep outputs), all exceptions masked.
constexpr uint32_t mxcsrFor(uint32_t round, uint32_t denorm) {
  constexpr uint32_t kRound[] = {0x0000, 0x4000, 0x2000, 0x6000};
  constexpr uint32_t kExceptionsMasked = 0x1f80, kFlushOutputs = 0x8000, kDenormalsAreZero = 0x0040;
  return kExceptionsMasked | kRound[round & 3] | (denorm & 1 ? 0 : kDenormalsAreZero) |
         (denorm & 2 ? 0 : kFlushOutputs);
}

constexpr uint32_t mxcsrForF32(uint32_t modeRegister) { return mxcsrFor(modeRegister & 3, modeRegister >> 4 & 3); }
constexpr uint32_t mxcsrForF64(uint32_t modeRegister) { return mxcsrFor(modeRegister >> 2 & 3, modeRegister >> 6 & 3); }

/// Sets the host's mode for a wave, and restores the thread's own at the end.
class FpModeScope {
public:
  explicit FpModeScope(uint32_t modeRegister) : saved_(_mm_getcsr()) { _mm_setcsr(mxcsrForF32(modeRegister)); }
  ~FpModeScope() { _mm_setcsr(saved_); }
  FpModeScope(const FpModeScope &) = delete;
  FpModeScope &operator=(const FpModeScope &) = delete;

private:
  uint32_t saved_;
};

} // namespace luthier::vgpu
