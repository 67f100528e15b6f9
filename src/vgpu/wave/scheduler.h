// Runs dispatches on worker threads.
//
// Each worker keeps a few workgroups of every active dispatch resident and runs their waves in turn, a quantum each,
// so that a kernel which never ends cannot keep another one from running. Workgroups start in grid order. When a whole
// round passes in which no resident workgroup of a dispatch finished, the worker makes one more resident, up to what
// the modelled hardware could hold: kernels that wait for other workgroups (decoupled look-back, grid barriers) then
// find them running, and ordinary kernels stay small in the host's cache.
#pragma once

#include "vgpu/wave/dispatch.h"

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

private:
  class Worker;
  void finish(const std::shared_ptr<Dispatch> &dispatch);

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::shared_ptr<Dispatch>> active_;
  std::atomic<uint64_t> version_{0}; ///< grows when `active_` changes
  bool stop_ = false;
  std::vector<std::thread> workers_;
};

} // namespace luthier::vgpu
