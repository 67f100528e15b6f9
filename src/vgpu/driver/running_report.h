// What is running, for people who wonder why it does not end: each kernel with the places where its waves are, how many
// of them, and what they wait for.
#pragma once

#include "vgpu/driver/explain.h"
#include "vgpu/wave/running.h"

#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string>

namespace luthier::vgpu {

class RunningReport {
public:
  RunningReport(const Explainer &explainer, LoadedCode &code) : explainer_(explainer), code_(code) {}

  /// `now` is what runs, `before` what ran `between` earlier: what has moved in between is told from what has not.
  /// Only dispatches that `wanted` says yes to; empty when there are none.
  std::string text(const Running &before, const Running &now, std::chrono::milliseconds between,
                   const std::function<bool(const Dispatch &)> &wanted) const;

private:
  /// Addresses of the first and the last instruction of a loop.
  struct LoopBounds {
    uint64_t first = 0, last = 0;
    bool contains(uint64_t pc) const { return pc >= first && pc <= last; }
  };
  /// The innermost loop of its function that an instruction is in.
  std::optional<LoopBounds> loopAround(uint64_t pc) const;
  std::string describe(const RunningDispatch &running, const RunningDispatch *before,
                       std::chrono::milliseconds between) const;
  std::string waiting(const RunningDispatch &running, std::span<const WavePlace> waves, const RunningDispatch *before,
                      std::chrono::milliseconds between, uint64_t begin) const;

  const Explainer &explainer_;
  LoadedCode &code_;
};

} // namespace luthier::vgpu
