// Barriers that not all of a workgroup reaches.
//
// The hardware counts waves: a barrier is over when every wave that has not ended is at some barrier, whichever it is
// and whatever lanes are active. A wave that ends counts no more. Programs mean more than that: every work-item that
// has not returned comes to the same barrier. What is reported is what follows from the difference:
//
//   lanes    a barrier passed while lanes were off that go on behind it: work-items that went around it. Those that
//            never come back have returned, which is fine
//   waves    the same for a whole wave: it ended without coming to a barrier that others were at, but not before it
//            did something that the others do behind that barrier
//   mixed    waves that met at different barriers
//   split    signals and waits of split barriers that do not belong together
//   stuck    no wave can go on: those that are left wait for each other
#pragma once

#include "vgpu/wave/checked_code.h"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace luthier::vgpu {

/// Something wrong with the barriers of a workgroup.
struct BarrierProblem {
  enum class Kind : uint8_t { Lanes, Waves, Mixed, SignalledTwice, WaitsUnsignalled, EndsSignalled, Stuck };
  Kind kind = Kind::Lanes;
  const CheckedInst *barrier = nullptr; ///< the one that is reported
  uint64_t lanes = 0;                   ///< Kind::Lanes: that went around it
  const CheckedInst *other = nullptr;   ///< where those that went around it go on; Mixed: the other barrier
  /// The workgroup's waves: at which barrier each is, or was last, and how many it has come to.
  struct WaveAt {
    const CheckedInst *barrier = nullptr;
    uint32_t barriers = 0;
    bool ended = false;
  };
  std::vector<WaveAt> waves;
};

class BarrierCheck {
public:
  /// Called on the thread that runs the waves. Set once, before anything runs.
  std::function<void(const Wave &wave, const BarrierProblem &problem)> onProblem;
};

/// The barriers of one workgroup.
class GroupBarriers {
public:
  GroupBarriers(const BarrierCheck &check, uint32_t waves) : check_(check), waves_(waves) {}

  void start(const Wave &w);
  void access(const Wave &w, const CheckedInst &inst, uint64_t lanes);
  /// The wave has come to a barrier, or signals a split one.
  void come(const Wave &w, const CheckedInst &inst);
  /// All waves have come and go on.
  void release(const Wave &any);
  void signal(const Wave &w, const CheckedInst &inst);
  void wait(const Wave &w, const CheckedInst &inst);
  void ended(const Wave &w);
  /// All waves have ended. `waves` are theirs, by number.
  void finish(std::span<Wave *const> waves);
  void stuck(const Wave &w);

private:
  struct WaveState {
    const CheckedInst *barrier = nullptr;
    const CheckedInst *lastAccess = nullptr; ///< since the barrier
    const CheckedInst *partial = nullptr;    ///< the barrier that `off` were off at
    uint64_t items = 0, off = 0;
    uint32_t barriers = 0;
    bool signalled = false, ended = false;
  };
  BarrierProblem describe(BarrierProblem::Kind kind, const CheckedInst *barrier) const;
  void comeBack(WaveState &wave, const Wave &w, const CheckedInst &inst, uint64_t lanes);
  void count(WaveState &wave, const Wave &w, const CheckedInst &inst);

  const BarrierCheck &check_;
  std::vector<WaveState> waves_;
  std::vector<const CheckedInst *> sequence_; ///< barriers in the order in which waves come to them
  std::vector<uint32_t> executedAt_; ///< by number of an instruction: most barriers that a wave was behind at it
};

} // namespace luthier::vgpu
