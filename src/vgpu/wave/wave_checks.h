// Checks of races and barriers around the instructions that they look at (checked_code.h): what a workgroup and its
// waves remember, and who is asked when.
//
// A workgroup is executed by one host thread at a time, so nothing here is shared between threads.
#pragma once

#include "vgpu/wave/barrier_check.h"
#include "vgpu/wave/in_flight.h"
#include "vgpu/wave/race_global.h"
#include "vgpu/wave/race_lds.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace luthier::vgpu {

class Dispatch;
struct Observation;
class WaveChecks;

/// Of one workgroup.
class GroupChecks {
public:
  /// Null when the device checks neither. `firstWave` counts the waves of the dispatch in grid order.
  static std::unique_ptr<GroupChecks> of(const Dispatch &dispatch, const Observation &observation, uint64_t firstWave,
                                         uint32_t waves);

  // What happens to the workgroup.

  /// All waves at s_barrier go on.
  void release(std::span<Wave *const> waves);
  /// A split barrier is complete.
  void complete();
  void ended(const Wave &w);
  void finish(std::span<Wave *const> waves);
  void stuck(const Wave &w);

private:
  friend class WaveChecks;
  /// How far a wave was when it came to a barrier.
  struct Arrival {
    uint32_t issued = 0;
    DoneUpTo done;
  };
  GroupChecks() = default;
  void meet();
  const SyncNode *metNode();
  void report(const Wave &w, const Inst *i);

  std::shared_ptr<const RaceCheck> race_; ///< null: not looked for
  std::optional<LdsRaces> lds_;
  std::optional<GroupBarriers> barriers_;
  Addresses addresses_; ///< of the instruction that is being executed
  Races races_;

  // Memory.
  GlobalRaces *memory_ = nullptr;   ///< null: not looked at
  MemoryAgent start_;               ///< what its waves begin as
  bool oneUnit_ = true;             ///< its waves share a vector cache, through which all they do goes in order
  bool cacheClean_ = false;         ///< nothing has been loaded into that since it was invalidated
  std::vector<WaveChecks *> waves_; ///< by number
  std::vector<Arrival> arrivals_;   ///< at the barrier that is next
  std::vector<DoneUpTo> visible_, done_;
  std::vector<uint32_t> met_;
  uint32_t meetings_ = 0;
  const SyncNode *metNode_ = nullptr; ///< of `done_`; null: nobody has asked
};

/// Of one wave.
class WaveChecks {
public:
  explicit WaveChecks(GroupChecks &group) : group_(group) {}

  void start(const Wave &w);
  void before(Wave &w, const Inst *i, const CheckedInst &inst);
  void after(Wave &w, const Inst *i, const CheckedInst &inst);

private:
  friend class GroupChecks;
  void access(const Wave &w, const Inst *i, const CheckedInst &inst);
  uint64_t accessLds(const Wave &w, const CheckedInst &inst, uint64_t lanes);
  uint64_t sharedLanes(const Wave &w, const CheckedInst &inst, uint64_t lanes) const;
  void accessMemory(const Wave &w, const CheckedInst &inst, uint64_t lanes);
  const SyncNode *tell();
  GroupChecks::Arrival arrival() const;

  GroupChecks &group_;
  InFlight inFlight_;
  uint32_t issued_ = 0; ///< operations so far
  MemoryAgent agent_;
  uint64_t learns_ = 0;   ///< lanes of the instruction being executed that learn what others have published
  uint32_t storedAt_ = 0; ///< the first of its plain stores; 0: none
  bool atGridBarrier_ = false;
  DoneUpTo toldDone_; ///< what was published last
  const SyncNode *toldSeen_ = nullptr, *told_ = nullptr;
  uint32_t toldMeetings_ = 0;
};

} // namespace luthier::vgpu
