// Data races: two accesses to the same bytes, at least one of them a write, that nothing puts in an order.
//
// Waves are the agents: the lanes of a wave go on together, so that no two instructions of one wave race. An access of
// one wave is before an access of another only if it is complete, by a wait or by the order of the hardware, when its
// wave meets the other at a barrier or publishes a value that the other one reads. Completion decides, not the look of
// the code around an atomic: waits may have been satisfied long before, and one atomic may publish many accesses.
//
// Who keeps what:
//
//   race_lds.h     a workgroup's LDS: who has read and written each dword
//   race_global.h  the same for memory, across workgroups and kernels
//   in_flight.h    a wave's memory operations that no wait covers yet
//   wave_checks.h  brings both together around the instructions of waves
#pragma once

#include "vgpu/wave/checked_code.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace luthier::vgpu {

/// What would have put two accesses in an order.
enum class MissingOrder : uint8_t {
  Barrier,     ///< waves of one workgroup have not met between the two
  BarrierWait, ///< they have, but the first access may still be on its way
  // Of waves of different workgroups.
  Synchronisation, ///< the first has published nothing that the second has read
  ReleaseWait,     ///< it has, but the access may still have been on its way
  Acquire,         ///< the second has not invalidated its cache since it read that
  Scope,           ///< the second has read it in a way that is meant for its own workgroup
  Kernels,         ///< they ran at the same time
};

/// The access that was there first.
struct PastAccess {
  const CheckedInst *inst = nullptr; ///< null: not known
  bool write = false;
  uint64_t kernelObject = 0;
  std::array<uint32_t, 3> workgroup{};
  uint32_t wave = 0;
  uint64_t lanes = 0; ///< that touched the same bytes; 0: not known
};

/// What an instruction of a wave has run into.
struct Race {
  MissingOrder missing = MissingOrder::Barrier;
  bool lds = false;    ///< addresses are offsets into LDS
  bool scalar = false; ///< a scalar load
  bool write = false;
  uint64_t lanes = 0;
  std::array<uint64_t, kMaxLanes> addresses{};
  PastAccess past;

  uint64_t first() const { return addresses[lanes ? static_cast<unsigned>(__builtin_ctzll(lanes)) : 0]; }
};

/// Races of the instruction that is being executed: lanes that ran into the same access are one.
class Races {
public:
  static constexpr unsigned kNoLane = kMaxLanes;
  /// The lane's access at `address` races with that of `pastLane`, which may be kNoLane.
  void add(const Race &like, unsigned lane, uint64_t address, unsigned pastLane);
  bool empty() const { return found_.empty(); }
  const std::vector<Race> &all() const { return found_; }
  void clear() { found_.clear(); }

private:
  std::vector<Race> found_;
};

class GlobalRaces;

/// That devices look for races, and who is told.
class RaceCheck {
public:
  explicit RaceCheck(const CheckedCode &code);
  ~RaceCheck();

  /// Called on the thread that runs the wave. Set once, before anything runs.
  std::function<void(const Wave &wave, const Inst *inst, const Race &race)> onRace;

  /// Something is not looked at: what, in a few words. Set once, before anything runs.
  std::function<void(const std::string &what)> onNotChecked;

  GlobalRaces &memory() const { return *memory_; }

private:
  const std::unique_ptr<GlobalRaces> memory_;
};

} // namespace luthier::vgpu
