// Looking over a wave's shoulder: the loop that calls an observer around every instruction.
//
// Several things watch waves: the trace (trace.h), the checks (waits.h, init_check.h), the strict machine
// (strict_resources.h) and what overwrites dead registers (poison.h). A wave that nobody watches has no observer and
// runs in the ordinary loops of wave.cc, which know nothing of this. So do waves of which only some instructions are
// watched: these have handlers that call (checked_code.h).
//
// Checks are used on large programs, and most instructions do not concern them: they say which registers they wait for
// something to happen to, and an instruction that names none of these, nor memory, is let pass after a look into a
// table.
#pragma once

#include "vgpu/state/wave.h"
#include "vgpu/wave/access_sums.h"
#include "vgpu/wave/init_check.h"
#include "vgpu/wave/operands.h"
#include "vgpu/wave/poison.h"

#include <memory>

namespace luthier::vgpu {

class Dispatch;
class GroupChecks;
class RaceCheck;
class StrictCaches;
class Trace;
class WaitChecker;
struct WaitCheck;
class WaveAccessSums;
class WaveCaches;
class WaveChecks;
class WaveResources;
class WaveTracer;
struct StrictMachine;
struct StrictResources;

/// What the waves of one dispatch share while they are watched.
struct Observation {
  std::shared_ptr<Trace> trace; ///< null: no trace
  bool strictWaits = false;
  std::shared_ptr<const WaitCheck> waitCheck; ///< null: waits are not checked, or strict
  std::shared_ptr<InitCheck> initCheck;       ///< null: none
  std::shared_ptr<const Poison> poison;       ///< null: none
  std::shared_ptr<const StrictResources> strictResources;
  std::unique_ptr<StrictMachine> machine; ///< null: resources are not strict
  std::unique_ptr<StrictCaches> caches;   ///< where they are
  uint64_t number = 0;                    ///< of the dispatch in the trace
  std::string kernel;
  uint64_t entry = 0; ///< address of its first instruction
  OperandCache operands;
  PoisonPlans poisonPlans;
  AccessSums accessSums;                 ///< where the trace is to have these
  std::shared_ptr<const RaceCheck> race; ///< null: not looked for
  uint32_t raceFirstWave = 0, raceDispatch = 0;

  ~Observation();
  /// All its waves have ended.
  void endRaces() const;
  /// Null when neither the launch nor its device asks for one.
  static std::unique_ptr<Observation> of(const Dispatch &dispatch);
};

class WaveObserver {
public:
  /// `waveNumber` counts the dispatch's waves in grid order. `group`: checks of its workgroup, or null. `undefinedLds`:
  /// what is undefined of the workgroup's LDS; null where that is not checked.
  WaveObserver(Observation &observation, uint64_t waveNumber, GroupChecks *group, UndefinedBytes *undefinedLds);
  ~WaveObserver();
  /// False when nobody watches this wave.
  bool active() const { return stepping() || checks_; }
  /// Whether every instruction is watched.
  bool stepping() const { return tracer_ || sums_ || waits_ || init_ || poisoner_ || resources_; }
  /// Who looks at some instructions (checked_code.h); null: nobody.
  WaveChecks *checks() const { return checks_.get(); }

  /// Before the wave's first instruction.
  void start(Wave &w);
  /// False when the wave was stopped with a fault instead.
  bool before(Wave &w, const Inst *inst);
  void after(Wave &w, const Inst *inst);

private:
  bool passes(const Wave &w, const Inst *inst);
  bool refuses(Wave &w, const Inst *inst) const;

  Observation &observation_;
  bool checksAlone_ = false;         ///< nobody else wants to see every instruction
  const CodeChunk *chunk_ = nullptr; ///< that `table_` is of
  OperandCache::Table *table_ = nullptr;
  const OperandCache::Known *operands_ = nullptr; ///< of the instruction being executed, unless it is `unseen_`
  bool unseen_ = false;                           ///< nobody needs to know more of it
  std::unique_ptr<WaveTracer> tracer_;
  std::unique_ptr<WaveAccessSums> sums_;
  std::unique_ptr<WaitChecker> waits_;
  std::unique_ptr<WaveInit> init_;
  std::unique_ptr<WavePoisoner> poisoner_;
  std::unique_ptr<WaveResources> resources_;
  std::unique_ptr<WaveCaches> caches_; ///< where there are `resources_`
  std::unique_ptr<WaveChecks> checks_;
};

/// The interpreter for waves with an observer, in every mode.
void runObserved(Wave &w, uint64_t &budget);

} // namespace luthier::vgpu
