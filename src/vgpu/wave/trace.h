// A trace of executed instructions that the virtual GPU writes itself (format: docs/virtual-gpu.md, "Trace").
//
// One JSON object per line and executed instruction. Waves write whole lines into a shared buffer; the lines of one
// wave are in order, those of different waves are mixed. Or only sums of what accessed memory (access_sums.h).
#pragma once

#include "support/result.h"
#include "vgpu/wave/operands.h"

#include <regex.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <string>

namespace luthier::vgpu {

struct Observation;

/// Which waves of a dispatch to trace, counted in grid order.
struct WaveRange {
  uint64_t first = 0;
  uint64_t last = std::numeric_limits<uint64_t>::max();
};
/// "N" or "A-B".
Result<WaveRange> parseWaveRange(std::string_view text);

enum class TraceContent : uint8_t {
  Instructions, ///< each that is executed
  AccessSums,   ///< for each dispatch and instruction that accesses memory, how often and where, added up
};

class Trace {
public:
  /// Appends to `path`. `kernels` is a regular expression (POSIX, extended) that a kernel's name must contain a match
  /// of; empty: all kernels.
  static Result<std::shared_ptr<Trace>> open(const std::string &path, const std::string &kernels, WaveRange waves,
                                             TraceContent content = TraceContent::Instructions);
  /// By LUTHIER_VGPU_TRACE, LUTHIER_VGPU_TRACE_KERNEL, LUTHIER_VGPU_TRACE_WAVE and LUTHIER_VGPU_TRACE_SUMS; null when
  /// the first is unset. What is wrong with them is logged.
  static std::shared_ptr<Trace> fromEnvironment();
  ~Trace();
  Trace(const Trace &) = delete;
  Trace &operator=(const Trace &) = delete;

  bool wantsKernel(const std::string &name) const;
  bool wantsWave(uint64_t number) const { return number >= waves_.first && number <= waves_.last; }
  TraceContent content() const { return content_; }

  /// Adds a line, newline included.
  void write(std::string_view line);
  /// Everything written so far reaches the file. Called at the end of every dispatch, and at exit.
  void flush();

  /// Numbers the dispatches of the process, from 0.
  static uint64_t nextDispatch();

private:
  Trace(std::string path, WaveRange waves, TraceContent content)
      : path_(std::move(path)), waves_(waves), content_(content) {}
  void flushLocked();

  std::string path_;
  int file_ = -1;
  bool filtered_ = false;
  regex_t kernels_{};
  WaveRange waves_;
  TraceContent content_;
  std::mutex mutex_;
  std::string buffer_;
  bool failed_ = false;
};

/// Makes the lines of one wave.
class WaveTracer {
public:
  WaveTracer(const Observation &observation, uint64_t waveNumber)
      : observation_(observation), waveNumber_(waveNumber) {}
  void before(const Wave &w, const Inst *inst, const Operands &operands);
  void after(const Wave &w, const Inst *inst, const Operands &operands);

private:
  const Observation &observation_;
  uint64_t waveNumber_;
  uint64_t step_ = 0;
  std::span<const RegisterUse> uses_; ///< of the instruction being executed, as placed before it
  std::vector<RegisterUse> placed_;
  std::string line_;
};

} // namespace luthier::vgpu
