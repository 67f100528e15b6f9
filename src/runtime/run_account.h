// What happened in a run, as it goes on: kernels and what became of them, messages, lost records, time.
//
// Knows no HSA and no tools. What was recorded here is what the report says.
#pragma once

#include "report/report.h"
#include "support/log.h"

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace luthier::runtime {

/// Launches are counted without the lock of tools; everything else is written under it.
struct KernelAccount : report::KernelAccount {
  std::atomic<uint64_t> seen = 0, run = 0;      ///< launches of the kernel, and of its rewritten form
  std::atomic<uint64_t> timed = 0, timeSum = 0; ///< launches of its rewritten form with times, and their nanoseconds

  report::KernelAccount now() const {
    report::KernelAccount account = *this;
    account.launches = seen;
    account.launchesInstrumented = run;
    account.launchesTimed = timed;
    account.nanoseconds = timeSum;
    return account;
  }
};

/// Thread-safe, but for the contents of a kernel's account and `now`, which need the lock of tools.
class RunAccount {
public:
  /// `end` is called by every failure from then on, and need not return (--strict).
  void endOnFailure(std::function<void()> end) { end_ = std::move(end); }

  /// The account of a kernel in a variant, which `key` names: a kernel that is loaded again goes on with the one that
  /// it had. Empty: one of its own.
  std::shared_ptr<KernelAccount> kernel(const std::string &key);
  void addSeconds(double seconds);
  void addLost(uint64_t records) { lost_ += records; }

  /// Tells the user now, and again in the report.
  void logAndRecord(log::Level level, const std::string &message);
  /// Something could not be done.
  void fail(const std::string &message);

  /// There is something new for the report.
  void noteChange() { changed_ = true; }
  /// Whether there was anything new since the last call.
  bool takeChange() { return changed_.exchange(false); }

  report::Account now() const;

private:
  std::function<void()> end_;
  std::atomic<uint64_t> lost_ = 0;
  std::atomic<bool> changed_ = false;
  mutable std::mutex mutex_; ///< guards what follows: tools may warn from threads of their own
  std::vector<std::shared_ptr<KernelAccount>> kernels_;
  std::map<std::string, std::shared_ptr<KernelAccount>> byKey_;
  std::vector<std::string> messages_;
  std::set<std::string> shown_; ///< of these, on stderr
  double seconds_ = 0;
};

} // namespace luthier::runtime
