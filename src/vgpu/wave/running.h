// A look at what is running: every dispatch that has not ended, and where each of its waves stands.
//
// Workers take it themselves, between two quanta, so that waves are looked at where they have stopped anyway and
// nothing is added to the paths that execute instructions (Scheduler::look).
#pragma once

#include "vgpu/state/wave.h"
#include "vgpu/wave/dispatch.h"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace luthier::vgpu {

/// A wave that has started and not ended.
struct WavePlace {
  uint64_t pc = 0; ///< of the instruction that it waits in, or executes next
  Stop stop = Stop::None;
  uint64_t group = 0; ///< number of its workgroup in the grid
  uint32_t wave = 0;  ///< within the workgroup
  // Waves of its workgroup: those that have arrived at the barrier, those that have ended, all.
  uint32_t atBarrier = 0, ended = 0, waves = 0;
};

struct RunningDispatch {
  std::shared_ptr<const Dispatch> dispatch;
  std::chrono::steady_clock::time_point submitted;
  // As the look has found them; later, the dispatch may have ended and its code may be gone.
  std::string kernel; ///< its name as linked
  uint64_t entry = 0; ///< where its code begins
  uint64_t groupsStarted = 0, groupsEnded = 0;
  std::vector<WavePlace> waves;
};

/// What one look has seen.
struct Running {
  std::vector<RunningDispatch> dispatches; ///< in the order of submission
  unsigned silentWorkers = 0;              ///< that did not answer in time: their waves are not in it
};

} // namespace luthier::vgpu
