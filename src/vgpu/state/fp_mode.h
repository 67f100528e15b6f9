// The MODE register's rounding and denormal fields, carried by the host's MXCSR while a wave runs.
//
// The host has one mode for f32 and f64, the GPU one for f32 and one for f64 and f16. Kernels nearly always ask for the
// same in both; then a whole quantum runs under it. Otherwise the interpreter switches between instructions.
#pragma once

#include "vgpu/state/wave.h"

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

/// The host's mode while waves run: restores the thread's own at the end of a scope.
///
/// Reading and writing MXCSR is slow beside starting a wave, so neither is done without need.
class HostFpMode {
public:
  HostFpMode() : own_(_mm_getcsr()), current_(own_) {}
  ~HostFpMode() { _mm_setcsr(own_); }
  HostFpMode(const HostFpMode &) = delete;
  HostFpMode &operator=(const HostFpMode &) = delete;

  void set(uint32_t mxcsr) {
    if (mxcsr == current_)
      return;
    _mm_setcsr(mxcsr);
    current_ = mxcsr;
  }
  /// The thread's own, for calling what is not part of the virtual GPU.
  void setOwn() { set(own_); }
  /// Somebody has changed it directly.
  void forget() { current_ = 0; } // which leaves no exception masked: nobody's mode

private:
  uint32_t own_, current_;
};

} // namespace luthier::vgpu
