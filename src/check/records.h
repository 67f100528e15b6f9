// How findings get from the processes of a run to `luthier check`, which prints them when the run is over.
//
// A folder that belongs to the run. Each process appends its findings to one file, a line of JSON each, and counts in a
// small file of its own that it has mapped: whatever ends a process, nothing that it has found is lost, and counting
// the same place again costs one addition.
#pragma once

#include "check/finding.h"
#include "support/result.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace luthier::check {

struct Records;

/// One process's way in.
class RecordWriter {
public:
  /// For the process that calls it; the folder must exist.
  static Result<std::unique_ptr<RecordWriter>> open(const std::filesystem::path &folder);
  ~RecordWriter();
  RecordWriter(const RecordWriter &) = delete;
  RecordWriter &operator=(const RecordWriter &) = delete;

  /// A number for `again`. Any thread may call these.
  size_t add(const Finding &finding);
  void again(size_t finding);
  void countLaunch(bool firstOfKernel);
  /// One that was counted has turned out not to be checked.
  void uncountLaunch();
  /// Something that is not checked, in a few words; several times the same is fine.
  void notChecked(const std::string &what);

private:
  friend struct Records;
  struct Counts;
  RecordWriter(int file, Counts *counts) : file_(file), counts_(counts) {}
  void append(const std::string &line) const;

  const int file_;
  Counts *const counts_;
  std::atomic<size_t> findings_{0};
};

/// All that the processes of a run have recorded.
struct Records {
  std::vector<Finding> findings; ///< the same place once, in the order of first sight
  uint64_t processes = 0;        ///< that had a GPU
  uint64_t kernels = 0, launches = 0;
  std::vector<std::string> notChecked; ///< each once

  static Result<Records> read(const std::filesystem::path &folder);
};

} // namespace luthier::check
