// Pauses between looks at something that may happen at once or much later.
//
// The longer nothing has happened, the longer the next look may come too late: by an eighth of the time, and never by
// more than a millisecond. For what ROCr has no safe wait for: hsa_amd_signal_wait_any writes behind its memory in
// ROCr 6.4 to 7.2 when any but the first signals is the one, and 7.0 to 7.2 reads far behind it when none is in time.
#pragma once

#include <algorithm>
#include <chrono>

namespace luthier::hsa {

class Backoff {
public:
  using Clock = std::chrono::steady_clock;

  /// Something has happened: look often again.
  void reset() { since_ = Clock::now(); }
  /// 0: only let others run.
  std::chrono::microseconds pause() const { return pauseAfter(Clock::now() - since_); }

  static std::chrono::microseconds pauseAfter(Clock::duration elapsed) {
    using namespace std::chrono_literals;
    if (elapsed < 50us)
      return 0us;
    return std::clamp(std::chrono::duration_cast<std::chrono::microseconds>(elapsed / 8), 20us, 1000us);
  }

private:
  Clock::time_point since_ = Clock::now();
};

} // namespace luthier::hsa
