// Poison mode: before every instruction, registers that are said to hold no needed value are overwritten.
//
// Whoever claims that a register is dead at some point (liveness analysis) is tested by it: if the claim is right, a
// program computes what it computed before, to the bit. The claims come from outside (Poison::dead); the engine does
// not know where from.
//
// EXEC and MODE are never touched, nor TTMPs and registers that the kernel has not allocated. SCC becomes its opposite.
// All others get garbage that differs from time to time: NaNs that signal, all ones, zeros, huge and random numbers.
// The same seed gives a wave the same garbage.
#pragma once

#include "luthier/vgpu.h"
#include "vgpu/wave/wave.h"

#include <array>
#include <atomic>
#include <memory>
#include <shared_mutex>
#include <unordered_map>
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
    std::atomic<uint64_t> registers = 0;    ///< overwritten
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

  static PoisonPlan of(const DeadRegisters &dead, const Wave &w);
  size_t size() const { return all.size() + active.size() + inactive.size() + scalars.size() + scc; }
};

/// Plans of all instructions that a dispatch has executed, for all its waves.
class PoisonPlans {
public:
  const PoisonPlan &of(const Observation &observation, const Wave &w, const Inst *inst);

private:
  std::shared_mutex mutex_;
  std::unordered_map<const Inst *, std::unique_ptr<PoisonPlan>> known_;
};

/// Overwrites the registers of one wave.
class WavePoisoner {
public:
  WavePoisoner(Observation &observation, uint64_t waveNumber);
  ~WavePoisoner();
  void before(Wave &w, const Inst *inst);

private:
  static constexpr unsigned kRows = 61;
  using Row = std::array<uint32_t, kMaxLanes>;
  static const std::array<Row, kRows> &rows();
  const uint32_t *next();
  void setMask(uint64_t exec);

  Observation &observation_;
  unsigned row_;           ///< of the garbage to use next
  alignas(64) Row mask_{}; ///< EXEC as lanes, 0 or ~0
  uint64_t maskFor_ = 0;
  uint64_t instructions_ = 0, unknown_ = 0, registers_ = 0;
  struct Recent {
    const Inst *inst = nullptr;
    const PoisonPlan *plan = nullptr;
  };
  std::array<Recent, 64> recent_{}; ///< keeps most instructions from the lock
};

} // namespace luthier::vgpu
