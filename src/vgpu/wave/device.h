// One virtual GPU: what kind it is, what it may access, and the code it has decoded.
//
// Everything that differs between GPUs of one target (size, clocks, apertures) is in DeviceConfig; everything that the
// target fixes (wave size, register files) is in isa::Target.
#pragma once

#include "isa/target.h"
#include "vgpu/memory/address_space.h"
#include "vgpu/state/global_wave_sync.h"
#include "vgpu/wave/dispatch.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace luthier::memcheck {
struct BadAccess;
}

namespace luthier::vgpu {

using memcheck::BadAccess;
class BarrierCheck;
class CheckedCode;
class CodeCache;
class MemoryCheck;
class RaceCheck;
struct InitCheck;
struct Poison;
struct StrictResources;
class Scheduler;
class Stats;
class Trace;
struct WaitCheck;

struct DeviceConfig {
  const isa::Target *target = nullptr;
  uint32_t computeUnits = 104;
  uint32_t shaderArrays = 8;
  uint32_t dies = 1; ///< XCCs, which workgroups go to in turn
  uint32_t simdsPerComputeUnit = 4;
  uint32_t wavesPerSimd = 8;
  uint32_t ldsBytesPerComputeUnit = 64 * 1024;
  uint64_t localMemoryBytes = 16ull << 30;
  uint64_t sharedApertureBase = 1ull << 48;
  uint64_t privateApertureBase = 2ull << 48;
};

class Device {
public:
  Device(uint32_t index, const DeviceConfig &config, AddressSpace &memory, Scheduler &scheduler, Stats *stats);
  ~Device();

  uint32_t index() const { return index_; }
  DeviceMask mask() const { return static_cast<DeviceMask>(1u << index_); }
  const DeviceConfig &config() const { return config_; }
  const isa::Target &target() const { return *config_.target; }
  AddressSpace &memory() const { return memory_; }
  /// Decoded code, for waves of `lanes` lanes; 0 is what the target has unless a kernel says otherwise.
  CodeCache &code(uint32_t lanes = 0);
  Stats *stats() const { return stats_; }
  GlobalWaveSync &gws() { return gws_; }

  /// Starts a kernel; returns at once. `onDone` is called from a worker thread, exactly once.
  std::shared_ptr<Dispatch> launch(const Launch &launch, Dispatch::OnDone onDone);

  /// The first half of `launch`: a checked dispatch that no worker knows of, for callers that run its workgroups
  /// themselves. It is already aborted when the launch is impossible.
  std::shared_ptr<Dispatch> prepare(const Launch &launch, Dispatch::OnDone onDone);

  /// Instruction memory may have changed: what is decoded later is decoded anew.
  void invalidateCode();
  /// The same for memory that is no longer what it was. True if there was code in it.
  bool invalidateCode(uint64_t begin, uint64_t size);

  /// How messages and statistics name a kernel; set once by whoever loads code objects.
  std::function<std::string(uint64_t kernelObject)> kernelName;

  /// What watches every dispatch; set once by whoever makes the device.
  std::shared_ptr<Trace> trace;
  bool strictWaits = false;
  std::shared_ptr<const Poison> poison;
  std::shared_ptr<const StrictResources> strictResources;
  std::shared_ptr<MemoryCheck> memoryCheck;
  std::shared_ptr<const WaitCheck> waitCheck;
  std::shared_ptr<InitCheck> initCheck;
  std::shared_ptr<const RaceCheck> raceCheck;
  std::shared_ptr<const BarrierCheck> barrierCheck;
  /// Instructions that these two look at, of all devices that share the checks.
  std::shared_ptr<CheckedCode> checkedCode;
  /// Called for every launch that can run, before its waves are made.
  std::function<void(const Launch &launch)> onLaunch;

  /// How a memory fault is described; set once by whoever knows code and allocations.
  std::function<std::string(const Wave &wave, const Inst *inst, const BadAccess &access)> explain;

  /// Whether accesses of the kernel's code may be repeated (xnack): the hardware then writes XNACK_MASK. Set once by
  /// whoever loads code objects; without, those of all code may be.
  std::function<bool(uint64_t kernelObject)> xnack;

  /// Called for s_sendmsg MSG_INTERRUPT with M0's value; set once by the driver.
  std::function<void(uint32_t m0)> onInterrupt;

  /// The GPU's counter behind s_memrealtime and dispatch timestamps: 100 MHz.
  static uint64_t clock();
  static constexpr uint64_t kClockHz = 100'000'000;

private:
  uint32_t index_;
  DeviceConfig config_;
  AddressSpace &memory_;
  Scheduler &scheduler_;
  Stats *stats_;
  GlobalWaveSync gws_;
  std::unique_ptr<CodeCache> code_[2]; ///< for 32 lanes and for 64
};

} // namespace luthier::vgpu
