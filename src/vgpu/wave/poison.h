// Poison mode: before every instruction, registers that are said to hold no needed value are overwritten.
//
// Whoever claims that a register is dead at some point (liveness analysis) is tested by it: if the claim is right, a
// program computes what it computed before, to the bit. The claims come from outside (Poison::dead); the engine does
// not know where from.
//
// EXEC and MODE are never touched, nor TTMPs and registers that the kernel has not allocated. SCC becomes its opposite
// when it dies.
// All others get garbage that differs from time to time: NaNs that signal, all ones, zeros, huge and random numbers.
// The same seed gives a wave the same garbage.
//
// Most registers are dead most of the time, and what was overwritten before the last instruction still is garbage. So
// a plan is made for each pair of instructions that follow one another: what is dead now, without what was dead then
// and has not been written since. When EXEC has changed, and now and then, everything that is dead gets new garbage.
#pragma once

#include "luthier/vgpu.h"
#include "vgpu/state/wave.h"

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <vector>

namespace luthier::vgpu {

struct Observation;

struct Poison {
  DeadRegistersAt dead;
  uint64_t seed = 1;

  /// What was done, of waves that are gone.
  struct Totals {
    std::atomic<uint64_t> instructions = 0; ///< executed by waves
    std::atomic<uint64_t> unknown = 0;      ///< of these, those for which nothing is known
    std::atomic<uint64_t> dead = 0;         ///< registers that were dead before them, summed up
  };
  mutable Totals totals = {};
};

/// What to overwrite before one instruction, by index into Wave::v and Wave::s.
struct PoisonPlan {
  std::vector<uint16_t> all;      ///< vector registers, in all lanes
  std::vector<uint16_t> active;   ///< in the lanes that EXEC has on
  std::vector<uint16_t> inactive; ///< in the others
  std::vector<uint16_t> scalars;
  bool scc = false;
  bool known = true;
  uint32_t dead = 0; ///< registers that are dead, whether overwritten by this plan or before

  static PoisonPlan of(const DeadRegisters &dead, const Wave &w);
  uint32_t size() const {
    return static_cast<uint32_t>(all.size() + active.size() + inactive.size() + scalars.size() + scc);
  }
};

/// Plans of all instructions that a dispatch has executed, for all its waves.
class PoisonPlans {
public:
  /// Before `inst`, behind `last`; everything that is dead when `last` is null.
  const PoisonPlan &of(Observation &observation, const Wave &w, const Inst *last, const Inst *inst);

private:
  const std::optional<DeadRegisters> &deadBefore(const Observation &observation, const Wave &w, const Inst *inst);

  std::shared_mutex mutex_;
  std::map<const Inst *, std::optional<DeadRegisters>> dead_;
  std::map<std::pair<const Inst *, const Inst *>, PoisonPlan> plans_;
};

/// Overwrites the registers of one wave.
class WavePoisoner {
public:
  WavePoisoner(Observation &observation, uint64_t waveNumber);
  ~WavePoisoner();
  void before(Wave &w, const Inst *inst);

private:
  static constexpr unsigned kRows = 61;
  static constexpr uint64_t kRefresh = 64; ///< instructions after which all garbage is made new
  using Row = std::array<uint32_t, kMaxLanes>;
  static const std::array<Row, kRows> &rows();
  const uint32_t *next();
  void setMask(uint64_t exec);
  void overwrite(Wave &w, const PoisonPlan &plan);

  Observation &observation_;
  unsigned row_; ///< of the garbage to use next
  const Inst *last_ = nullptr;
  uint64_t lastExec_ = 0;
  alignas(64) Row mask_{}; ///< EXEC as lanes, 0 or ~0
  uint64_t maskFor_ = 0;
  uint64_t instructions_ = 0, unknown_ = 0, dead_ = 0;
  struct Recent {
    const Inst *last = nullptr, *inst = nullptr;
    const PoisonPlan *plan = nullptr;
  };
  std::array<Recent, 64> recent_{}; ///< keeps most instructions from the lock
};

} // namespace luthier::vgpu
