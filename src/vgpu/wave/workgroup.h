// A resident workgroup: its waves, its LDS, and their taking turns.
#pragma once

#include "vgpu/memory/undefined_memory.h"
#include "vgpu/state/wave.h"
#include "vgpu/wave/dispatch.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace luthier::vgpu {

/// Wave records are large, and workgroups are short: each worker keeps the memory of those it has run.
class WavePool {
public:
  ~WavePool();
  Wave *take();
  void give(Wave *wave) { free_.push_back(wave); }

private:
  friend class Workgroup;
  std::vector<Wave *> free_;
  size_t made_ = 0; ///< records
  // Capacity that the last workgroup left to the next.
  std::vector<uint8_t> lds_;
  std::vector<Wave *> waves_;
};

/// Workgroups, by their number in the grid, that a worker has taken for itself and not yet started.
struct GroupRange {
  uint64_t next = 0, end = 0;
  bool empty() const { return next == end; }
};

class GroupChecks;
class TranslatedCode;
struct WavePlace;

class Workgroup {
public:
  enum class Progress {
    Finished, ///< all waves have ended
    Ran,      ///< some wave used its whole quantum
    Waiting,  ///< every wave that is left waits for something outside the workgroup
  };

  /// Starts the dispatch's next workgroup in grid order. Null when none is left, or when the queue's scratch has no
  /// room for its waves now. With `taken`, takes several at once where that is safe and starts the first of them, so
  /// that workers seldom meet at the dispatch's counter.
  static std::unique_ptr<Workgroup> startNext(Dispatch &dispatch, WavePool &pool, OpcodeCount *counts,
                                              GroupRange *taken = nullptr);
  ~Workgroup();

  /// What `runTranslated` has done.
  struct TranslatedRun {
    uint64_t groups = 0;              ///< that have ended
    uint64_t waves = 0;               ///< that have ended in translated code
    uint64_t left = 0;                ///< waves that translated code has left to the interpreter
    std::unique_ptr<Workgroup> group; ///< one that the interpreter has to go on with, or null
  };
  /// Runs the next workgroups of a translated kernel that `runsAlone`, as many as are taken at once, up to the first
  /// that needs the interpreter (translated_groups.cc).
  static bool runsAlone(const Dispatch &dispatch);
  static TranslatedRun runTranslated(Dispatch &dispatch, const TranslatedCode &code, WavePool &pool, GroupRange &taken);

  /// Gives every wave that can run a quantum.
  Progress run();
  /// Waves that have ended without the interpreter.
  uint64_t translatedWaves() const { return translated_; }

  /// Executes one instruction of one wave, for debuggers; `run` and `step` may be mixed. Returns why the wave stands
  /// where it does: None when its next instruction can be executed.
  Stop step(uint32_t wave);

  /// Split barriers. The last wave to signal completes the barrier for all, and so does one that ends.
  bool signalBarrier(Wave &wave);
  uint32_t barrierState() const;

  void fault(Fault fault) { dispatch_.abort(std::move(fault)); }
  std::string kernelName() const;
  /// "(x, y, z)", for messages.
  std::string position() const;
  const std::array<uint32_t, 3> &id() const { return id_; }
  uint64_t waveCount() const { return waves_.size(); }
  /// Appends where its waves are that have not ended. Not while they run.
  void addPlaces(std::vector<WavePlace> &places) const;
  /// For whoever sets up or inspects waves without the scheduler: tests and the direct API.
  std::span<Wave *const> waves() const { return waves_; }
  Dispatch &dispatch() { return dispatch_; }

private:
  Workgroup(Dispatch &dispatch, uint64_t index, WavePool &pool);
  static uint64_t takeIndex(Dispatch &dispatch, GroupRange *taken);
  static std::unique_ptr<Workgroup> make(Dispatch &dispatch, uint64_t index, WavePool &pool, OpcodeCount *counts,
                                         std::vector<uint32_t> slots = {});
  void releaseBarrier();
  bool isStuck() const;
  void reportStuck();
  void completeBarrier();
  void ended(const Wave &wave, HostFpMode &fp);
  void observe(uint32_t wavesPerGroup);
  /// Gives a wave a quantum in translated code, if there is an entry for it. False if the interpreter has to go on.
  bool enterTranslated(Wave &wave, HostFpMode &fp);

  Dispatch &dispatch_;
  WavePool &pool_;
  std::array<uint32_t, 3> id_{};
  std::array<uint32_t, 3> size_{}; ///< clipped at the grid's edge
  std::vector<uint8_t> lds_;
  std::vector<Wave *> waves_;
  std::unique_ptr<GroupChecks> checks_;                  ///< null when none looks at workgroups
  std::vector<std::unique_ptr<WaveObserver>> observers_; ///< empty when nobody watches
  std::unique_ptr<UndefinedBytes> undefinedLds_;         ///< null unless that is checked
  std::vector<uint32_t> scratchSlots_;
  uint32_t running_ = 0;
  uint64_t translated_ = 0;
  std::vector<bool> interpreted_; ///< by wave: has been, at least in part

  /// Stretches of straight code, or branches backwards in translated code, that a wave executes before others get their
  /// turn: long enough that switching costs nothing, short enough that a wave spinning on a lock does not keep its
  /// holder waiting for long.
  static constexpr uint32_t kQuantum = 4096;
};

} // namespace luthier::vgpu
