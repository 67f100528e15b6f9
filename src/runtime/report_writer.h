// Writes the report: snapshots while the application runs, and the last word at its end.
//
// Knows no HSA and no tools.
#pragma once

#include "report/report.h"
#include "runtime/tool_settings.h"

#include <mutex>
#include <string>
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
  void snapshot(const Results &results);
  void finish(const Results &results);

private:
  std::string format(const Results &results) const;

  OutputFormat format_ = OutputFormat::Text;
  std::string file_;
  std::mutex mutex_;      ///< guards what follows and the file
  bool finished_ = false; ///< a late snapshot must not replace the final report
};

} // namespace luthier::runtime
