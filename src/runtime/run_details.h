// Launches, copies and code of a run, for formats of the report that show them (report/details.h).
//
// Nothing is collected unless such a format is wanted. What grows with the run is bounded, and what is beyond that is
// counted. Knows no HSA and no tools.
#pragma once

#include "report/details.h"

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>

namespace luthier::runtime {

/// Thread-safe.
class RunDetails {
public:
  static constexpr size_t kMostLaunches = 1 << 20, kMostCopies = 1 << 20;

  explicit RunDetails(size_t mostLaunches = kMostLaunches, size_t mostCopies = kMostCopies)
      : mostLaunches_(mostLaunches), mostCopies_(mostCopies) {}

  /// Before the first launch.
  void collect() { wanted_ = true; }
  bool wanted() const { return wanted_; }

  void add(const report::LaunchRecord &launch);
  void add(report::CopyRecord copy);
  /// The code of a kernel, which `list` makes if it is not known yet.
  void addCode(uint64_t kernel, const std::function<report::KernelCode()> &list);

  /// All of it so far; without launches, copies and code when they are not wanted.
  report::Details now() const;

private:
  const size_t mostLaunches_, mostCopies_;
  std::atomic<bool> wanted_ = false;
  mutable std::mutex mutex_; ///< guards what follows
  report::Details details_;
};

} // namespace luthier::runtime
