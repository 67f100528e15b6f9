// What a run with tools is doing, on the terminal, while something takes longer than a second: the kernel that is being
// instrumented, or how many launches there have been.
//
// Only for people: nothing is shown where stderr is no terminal, nor with --quiet, nor when nothing goes on. The line
// is erased before any message of Luthier's and before the report (support/status_line.h).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

namespace luthier::runtime {

class Progress {
public:
  using Clock = std::chrono::steady_clock;

  /// Before, and without it, nothing is shown.
  void start() { wanted_ = true; }

  /// What keeps a thread busy that has the lock of tools, as long as it lives.
  class Task {
  public:
    Task(Progress &progress, std::string what);
    ~Task();
    Task(const Task &) = delete;
    Task &operator=(const Task &) = delete;

  private:
    Progress &progress_;
  };

  void kernelInstrumented() { ++kernels_; }

  /// Called about once a second: what there is to say. `launches`: all so far; `running`: of these, those with hooks
  /// that have not completed.
  void tick(uint64_t launches, uint64_t running);
  /// Nothing is shown any more.
  void stop();

  /// The line; empty when there is nothing to say.
  std::string line(uint64_t launches, uint64_t running, Clock::time_point now);

private:
  std::atomic<bool> wanted_ = false;
  std::atomic<uint64_t> kernels_ = 0;
  std::mutex mutex_; ///< guards what follows, and the line on the terminal
  std::string task_;
  Clock::time_point began_, last_;
  uint64_t lastLaunches_ = 0;
};

} // namespace luthier::runtime
