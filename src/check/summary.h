// The end of a checked run: what is reported, what was looked at, what was not, and the exit status that follows.
#pragma once

#include "check/records.h"
#include "check/suppressions.h"

#include <string>
#include <vector>

namespace luthier::check {

struct Summary {
  std::vector<std::string> checks; ///< their names
  bool instrumented = false;       ///< by hooks, perhaps on a real GPU
  std::vector<Finding> findings;   ///< without those that are suppressed
  uint64_t suppressed = 0;         ///< places
  uint64_t kernels = 0, launches = 0;
  std::vector<std::string> notChecked;
  int applicationStatus = 0; ///< of the application, as a shell sees it
  int exitStatus = 0;        ///< of `luthier check`

  static Summary of(Records records, const Suppressions &suppressions);
  /// Whether the run must not be taken for a clean one.
  bool incomplete() const { return launches == 0 || !notChecked.empty(); }
};

/// "no kernel was launched": what a run must say in which there was nothing to check.
std::string nothingLaunched(const Summary &summary);

/// All findings, and the line that says how many there are.
std::string toText(const Summary &summary);

} // namespace luthier::check
