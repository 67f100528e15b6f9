// One kernel launch on its way through the virtual GPU: what it was asked to run, and how it ended.
#pragma once

#include "vgpu/memory/address_space.h"
#include "vgpu/wave/wave_start.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace luthier::vgpu {

class CodeChunk;
class CodeSnapshot;
class Decoder;
class Device;
class DispatchCounters;
struct InitCheck;
struct Inst;
struct Observation;
struct Poison;
struct StrictResources;
class Trace;
class Translation;
class Workgroup;
struct WaitCheck;
struct Wave;

/// Scratch memory of one queue, cut into equal slots, one per wave that runs at the same time.
class ScratchRing {
public:
  /// `base` is what kernels see as flat_scratch_init; `resource` as the private segment buffer.
  void reset(uint64_t base, uint64_t bytesPerWave, uint32_t slots, std::array<uint32_t, 4> resource);
  uint64_t base() const { return base_; }
  uint64_t bytesPerWave() const { return bytesPerWave_; }
  const std::array<uint32_t, 4> &resource() const { return resource_; }
  uint32_t slots() const { return slots_; }

  /// Takes `count` slots, or none when fewer are free.
  bool acquire(uint32_t count, std::vector<uint32_t> &slots);
  void release(const std::vector<uint32_t> &slots);

private:
  std::mutex mutex_;
  std::vector<uint32_t> free_;
  uint64_t base_ = 0;
  uint64_t bytesPerWave_ = 0;
  uint32_t slots_ = 0;
  std::array<uint32_t, 4> resource_{};
};

/// A kernel dispatch packet, reduced to what the wave engine needs. Addresses are guest addresses.
struct Launch {
  uint64_t kernelObject = 0; ///< address of the kernel descriptor
  std::array<uint32_t, 3> grid{1, 1, 1};
  std::array<uint16_t, 3> workgroup{1, 1, 1};
  uint32_t privateSegmentSize = 0; ///< bytes per lane
  uint32_t groupSegmentSize = 0;   ///< bytes of LDS per workgroup
  uint64_t kernarg = 0;
  uint64_t packet = 0; ///< dispatch_ptr
  uint64_t queue = 0;  ///< queue_ptr: the amd_queue_t
  uint64_t dispatchId = 0;
  std::shared_ptr<ScratchRing> scratch;                   ///< may be null when privateSegmentSize is 0
  std::shared_ptr<Trace> trace;                           ///< instead of the device's
  std::shared_ptr<const Poison> poison;                   ///< instead of the device's
  std::shared_ptr<const StrictResources> strictResources; ///< instead of the device's
  bool strictWaits = false;                               ///< check waits even when the device does not (waits.h)
  std::shared_ptr<const WaitCheck> waitCheck;             ///< instead of the device's
  std::shared_ptr<InitCheck> initCheck;                   ///< instead of the device's
  bool count = false;                                     ///< count even when the device has no Stats
  /// Called on the worker thread when a wave has reached s_endpgm or faulted, with its last state. Mostly empty.
  std::function<void(const Workgroup &, const Wave &)> onWaveEnd;
};

/// Why a dispatch ended before its last wave did.
struct Fault {
  enum class Kind { None, Memory, IllegalInstruction, Trap, BadLaunch, Aborted, EarlyAccess, MissingRegister };
  Kind kind = Kind::None;
  uint64_t address = 0; ///< of the access for Memory, of the instruction otherwise
  bool write = false;
  std::string text; ///< one or more lines for the user: kernel, PC, instruction, bytes
};

class Dispatch {
public:
  using OnDone = std::function<void(const Dispatch &)>;

  /// Made by Device::prepare, which checks the launch.
  Dispatch(Device &device, const Launch &launch, OnDone onDone);
  ~Dispatch();

  Device &device() const { return device_; }
  const Launch &launch() const { return launch_; }
  /// Valid once `onDone` runs. The first fault of any wave wins.
  const Fault &fault() const { return fault_; }
  /// Complete once `onDone` runs; null when nobody counts.
  const DispatchCounters *counters() const { return counters_.get(); }
  /// Waves that have run to their end in translated code; complete once `onDone` runs.
  uint64_t translatedWaves() const { return translatedWaves_.load(std::memory_order_relaxed); }
  /// In the clock of `Device::clock()`.
  uint64_t startTime() const { return startTime_; }
  uint64_t endTime() const { return endTime_; }

  /// Ends the dispatch as soon as its waves come up for air; does nothing if they have all ended. Safe from any thread.
  void abort(Fault fault);
  bool aborted() const { return aborted_.load(std::memory_order_acquire); }

  std::string kernelName() const;

  /// Whether anybody looks at its waves while they run, or at what they leave.
  bool watched() const { return counters_ || observation_ || launch_.onWaveEnd; }

  /// Workgroups of the grid in each dimension.
  const std::array<uint32_t, 3> &groups() const { return groups_; }

  uint64_t groupCount() const { return groupCount_; }

  /// What its waves begin with.
  const WaveStart &start() const { return start_; }

  /// Where its waves begin: in which chunk of which code.
  const Inst *entry() const { return entry_; }
  const CodeChunk *entryChunk() const { return entryChunk_; }
  CodeSnapshot *code() const { return code_.get(); }

  /// Lanes of its waves, as the kernel's descriptor says.
  uint32_t lanes() const { return lanes_; }
  /// Of the records that its waves execute.
  Decoder &decoder() const;

private:
  /// The kernel's translation, begun if it is hot: by its waves, or as the caller says.
  Translation *findTranslation(uint64_t waves, bool hot) const;

  /// Sets what depends on it: the code, and how many workgroups fit the GPU.
  void setWaveSize(uint32_t lanes);

  /// Strict resources: no more workgroups at once than compute units hold, `perUnit` each.
  void limitResidency(uint32_t perUnit);

  /// All waves have ended: `fault` stays what it is.
  void settle();

  friend class Device;
  friend class Scheduler;
  friend class Workgroup;
  Device &device_;
  Launch launch_;
  OnDone onDone_;
  uint32_t lanes_ = 0;
  std::shared_ptr<CodeSnapshot> code_;
  const Inst *entry_ = nullptr; ///< found once, by Device::prepare
  const CodeChunk *entryChunk_ = nullptr;
  WaveStart start_;
  Translation *translation_ = nullptr; ///< of `code_`; null when it must be interpreted
  const char *interpreted_ = nullptr;  ///< why `translation_` is null
  uint64_t waves_ = 0;                 ///< of the whole grid
  std::unique_ptr<DispatchCounters> counters_;
  std::unique_ptr<Observation> observation_; ///< mostly null
  uint64_t startTime_ = 0;
  uint64_t endTime_ = 0;
  std::array<uint32_t, 3> groups_{};
  uint64_t groupCount_ = 0;
  uint32_t maxResident_ = 0;
  bool exactResidency_ = false; ///< not one more
  // What workers write while they run is kept off the cache lines that they read for every workgroup.
  alignas(64) std::atomic<uint64_t> nextGroup_{0};
  alignas(64) std::atomic<uint64_t> finishedGroups_{0}; ///< of the workers that have left
  std::atomic<uint64_t> translatedWaves_{0};            ///< of the same
  std::atomic<uint32_t> participants_{0};               ///< workers that have not left yet
  std::atomic<bool> done_{false};
  alignas(64) std::atomic<bool> started_{false};
  std::atomic<bool> aborted_{false};
  std::mutex faultMutex_;
  bool settled_ = false;
  Fault fault_;
};

} // namespace luthier::vgpu
