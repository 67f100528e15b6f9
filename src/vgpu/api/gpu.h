// The parts behind include/luthier/vgpu.h.
#pragma once

#include "luthier/vgpu.h"
#include "vgpu/api/memory.h"
#include "vgpu/memory/address_space.h"
#include "vgpu/wave/device.h"
#include "vgpu/wave/dispatch.h"
#include "vgpu/wave/scheduler.h"

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>

namespace luthier::vgpu {

/// The end of a launch, shared by its handles and the worker that finishes it.
struct RunningLaunch::State {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  FaultInfo fault;
  LaunchReport report;
  std::weak_ptr<Dispatch> dispatch;

  void finish(const Dispatch &finished);
  void finish(FaultInfo why);
};

class Gpu final : public VirtualGpu {
public:
  Gpu(const isa::Target &target, const GpuOptions &options);
  ~Gpu() override;
  /// What launches need besides the device.
  Result<void> prepare();

  std::string_view target() const override { return device_->target().name; }
  unsigned threads() const override { return scheduler_->threads(); }
  Result<std::unique_ptr<Module>> load(std::span<const std::byte> elf) override;
  Result<void *> allocateBytes(uint64_t bytes) override;
  Result<void> free(void *memory) override;
  void mapHost(const void *memory, uint64_t bytes) override;
  void unmapHost(const void *memory, uint64_t bytes) override;
  void invalidateCode() override { device_->invalidateCode(); }
  Result<RunningLaunch> launch(const Kernel &kernel, const LaunchOptions &options, const Arguments &arguments) override;
  Result<std::unique_ptr<Stepper>> step(const Kernel &kernel, const LaunchOptions &options,
                                        const Arguments &arguments) override;

private:
  friend class LoadedModule;

  struct LoadedKernel {
    std::string name;
    std::shared_ptr<GpuBlock> image;
    bool xnack; ///< its code does not say xnack-
  };
  /// Memory that must live as long as a launch: its arguments, and the code.
  struct LaunchMemory {
    GpuBlock arguments;
    std::shared_ptr<GpuBlock> image;
  };
  struct Prepared {
    Launch launch;
    std::shared_ptr<LaunchMemory> memory;
  };
  Result<Prepared> prepare(const Kernel &kernel, const LaunchOptions &options, const Arguments &arguments);
  Result<std::shared_ptr<ScratchRing>> scratchFor(uint32_t bytesPerLane, uint32_t lanes);
  std::string nameOf(uint64_t descriptor);

  // In this order: workers end before what they use does.
  AddressSpace space_;
  std::unique_ptr<GpuMemory> memory_;
  std::mutex mutex_;                         ///< guards what follows, up to the scheduler
  std::map<uint64_t, LoadedKernel> kernels_; ///< by descriptor
  std::set<std::shared_ptr<RunningLaunch::State>> running_;
  std::shared_ptr<ScratchRing> scratch_;
  uint64_t queue_ = 0; ///< stands in for an amd_queue_t
  uint64_t dispatches_ = 0;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Scheduler> scheduler_;
};

/// Executes `launch` on the caller's thread.
std::unique_ptr<Stepper> makeStepper(Device &device, const Launch &launch, std::shared_ptr<void> keepAlive);

FaultInfo faultInfo(const Fault &fault);

} // namespace luthier::vgpu
