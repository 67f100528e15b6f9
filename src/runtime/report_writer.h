// Writes the report: snapshots while the application runs, and the last word at its end.
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

struct Results {
  std::vector<report::Table> tables;
  report::Account account;
};

/// Thread-safe: one file is written at a time.
class ReportWriter {
public:
  /// `file` empty: stderr, which gets no snapshots.
  void configure(OutputFormat format, std::string file);
  bool writesSnapshots() const { return !file_.empty(); }

  /// Results so far. Does nothing once the final report has been written.
  Result<void> snapshot(const Results &results);
  /// Before something that may not come back: a snapshot, or, where there are none, what `fallback` is then.
  void prepare(const Results &results);
  /// For a signal handler that ends the process: what was prepared and is in no file. Empty when the report is written.
  std::string_view fallback() const;

  /// False when it cannot be written where the user wants it; it is on stderr then.
  bool finish(const Results &results);

private:
  std::string format(const Results &results) const;
  Result<void> write(const std::string &text) const;

  OutputFormat format_ = OutputFormat::Text;
  std::string file_;
  std::mutex mutex_;                                         ///< guards what follows and the file
  bool finished_ = false;                                    ///< a late snapshot must not replace the final report
  std::vector<std::unique_ptr<const std::string>> prepared_; ///< all of them: a handler may be reading one
  std::atomic<const std::string *> fallback_ = nullptr;      ///< the last of these, until the report is written
};

} // namespace luthier::runtime
