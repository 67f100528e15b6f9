// Checks of races and barriers around the instructions that they look at (checked_code.h): what a workgroup and its
// waves remember, and who is asked when.
//
// A workgroup is executed by one host thread at a time, so nothing here is shared between threads.
#pragma once

#include "vgpu/wave/barrier_check.h"
#include "vgpu/wave/in_flight.h"
#include "vgpu/wave/race_lds.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace luthier::vgpu {

class Device;
class WaveChecks;

/// Of one workgroup.
class GroupChecks {
public:
  /// Null when the device checks neither.
  static std::unique_ptr<GroupChecks> of(const Device &device, uint32_t ldsBytes, uint32_t waves);

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
  GroupChecks() = default;
  void report(const Wave &w, const Inst *i);

  std::shared_ptr<const RaceCheck> race_; ///< null: not looked for
  std::optional<LdsRaces> lds_;
  std::optional<GroupBarriers> barriers_;
  Addresses addresses_; ///< of the instruction that is being executed
  Races races_;
};

/// Of one wave.
class WaveChecks {
public:
  explicit WaveChecks(GroupChecks &group) : group_(group) {}

  void start(const Wave &w);
  void before(Wave &w, const Inst *i, const CheckedInst &inst);
  void after(Wave &w, const Inst *i, const CheckedInst &inst);

private:
  void access(const Wave &w, const Inst *i, const CheckedInst &inst);

  GroupChecks &group_;
  InFlight inFlight_;
  uint32_t issued_ = 0; ///< operations so far
};

} // namespace luthier::vgpu
