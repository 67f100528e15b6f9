// What the virtual GPU counts by itself: the independent truth that tools are tested against.
#pragma once

#include "vgpu/state/opcode_count.h"
#include "vgpu/wave/stats_file.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace luthier::vgpu {

class Decoder;
class Dispatch;

/// The counts of one dispatch; workers add theirs when they leave it.
class DispatchCounters {
public:
  void merge(const std::vector<OpcodeCount> &counts, uint64_t waves);
  const std::vector<OpcodeCount> &opcodes() const { return opcodes_; }
  uint64_t waves() const { return waves_; }

private:
  std::mutex mutex_;
  std::vector<OpcodeCount> opcodes_;
  uint64_t waves_ = 0;
};

/// Collects all dispatches of the process and writes them as JSON (format: docs/virtual-gpu.md).
class Stats {
public:
  explicit Stats(std::string path);
  /// Null unless LUTHIER_VGPU_STATS names a file.
  static std::unique_ptr<Stats> fromEnvironment();

  void add(const Dispatch &dispatch, const DispatchCounters &counters, const std::string &kernelName,
           const Decoder &decoder);
  /// The file has all that was added at any time; this is for the end of the process (StatsFile::publish).
  void publish();

private:
  std::mutex mutex_;
  StatsFile file_;
};

} // namespace luthier::vgpu
