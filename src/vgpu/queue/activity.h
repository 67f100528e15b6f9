// Wakes whoever waits for memory that the GPU, or the host through an event, may just have written.
//
// Barrier packets, SDMA polls and the scratch protocol wait for values in plain memory. Polling alone is either slow or
// eats a core; but nearly every such write passes through us (a completion signal, hsaKmtSetEvent), so we announce it
// here and waiters sleep. Writes that do not pass through us (a host store without an event, a kernel's own store) are
// caught by the time limit of each wait.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace luthier::vgpu {

class Activity {
public:
  uint64_t stamp() const { return stamp_.load(); }

  void notify();

  /// Returns once something was announced after `seen` was taken, or after `limit`.
  void wait(uint64_t seen, std::chrono::microseconds limit);

private:
  std::atomic<uint64_t> stamp_{0};
  std::atomic<uint32_t> waiters_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
};

} // namespace luthier::vgpu
