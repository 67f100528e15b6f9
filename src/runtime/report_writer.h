// Writes the report, in all formats that the user wants: snapshots while the application runs, and the last word at its
// end.
//
// Knows no HSA and no tools.
#pragma once

#include "report/report.h"
#include "runtime/tool_settings.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace luthier::runtime {

using report::Results;

/// Thread-safe: one file is written at a time.
class ReportWriter {
public:
  /// What goes to stderr gets no snapshots. `makeFolders`: those of the files, where they are missing.
  void configure(std::vector<Output> outputs, bool makeFolders = false);
  bool writesSnapshots() const;
  /// Whether any format shows launches and code.
  bool wantsDetails() const;

  /// Results so far. Does nothing once the final report has been written.
  Result<void> snapshot(const Results &results);
  /// Before something that may not come back: a snapshot, or, where there are none, what `fallback` is then.
  void prepare(const Results &results);
  /// For a signal handler that ends the process: what was prepared and is in no file. Empty when the report is written.
  std::string_view fallback() const;

  /// False when it cannot be written where the user wants it; it is on stderr then.
  bool finish(const Results &results);

private:
  /// To its file; a failure says which.
  Result<void> write(const Output &output, const Results &results) const;
  /// Everything that has a file; the first failure.
  Result<void> writeFiles(const Results &results) const;

  std::vector<Output> outputs_;
  bool makeFolders_ = false;
  std::mutex mutex_;                                         ///< guards what follows and the file
  bool finished_ = false;                                    ///< a late snapshot must not replace the final report
  std::vector<std::unique_ptr<const std::string>> prepared_; ///< all of them: a handler may be reading one
  std::atomic<const std::string *> fallback_ = nullptr;      ///< the last of these, until the report is written
};

} // namespace luthier::runtime
