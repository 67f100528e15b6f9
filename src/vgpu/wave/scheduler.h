// Runs dispatches on worker threads.
//
// Each worker keeps a few workgroups of every active dispatch resident and runs their waves in turn, a quantum each,
// so that a kernel which never ends cannot keep another one from running. Workgroups start in grid order. When a whole
// round passes in which no resident workgroup of a dispatch finished, the worker makes one more resident, up to what
// the modelled hardware could hold: kernels that wait for other workgroups (decoupled look-back, grid barriers) then
// find them running, and ordinary kernels stay small in the host's cache.
#pragma once

#include "vgpu/wave/dispatch.h"
#include "vgpu/wave/running.h"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace luthier::vgpu {

class Scheduler {
public:
  /// `threads` 0: LUTHIER_VGPU_THREADS, or all cores.
  explicit Scheduler(unsigned threads = 0);
  /// Aborts what is running and joins the workers.
  ~Scheduler();
  Scheduler(const Scheduler &) = delete;
  Scheduler &operator=(const Scheduler &) = delete;

  void submit(std::shared_ptr<Dispatch> dispatch);
  unsigned threads() const { return static_cast<unsigned>(workers_.size()); }

  /// What is running now, by the workers' own account. Waits for them, but no longer than `patience`.
  Running look(std::chrono::milliseconds patience);
  /// The dispatches that have not ended, without their waves. Waits for nobody.
  std::vector<RunningDispatch> running();

private:
  class Worker;
  /// What workers answer to.
  struct Look;
  void finish(const std::shared_ptr<Dispatch> &dispatch);

  struct Active {
    std::shared_ptr<Dispatch> dispatch;
    std::chrono::steady_clock::time_point submitted;
  };
  std::vector<RunningDispatch> runningLocked() const;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Active> active_;
  std::shared_ptr<Look> look_;       ///< the last one that was asked for
  std::atomic<uint64_t> version_{0}; ///< grows when `active_` changes
  bool stop_ = false;
  std::vector<std::thread> workers_;
};

} // namespace luthier::vgpu
