// The virtual kernel driver: everything that the kernel would keep for this process and its GPUs.
//
// There is one, made by the first call that needs it and never destroyed: when the process exits, ROCr's threads are
// still waiting inside ioctls and the GPUs may still be running. A child of fork starts anew (entry.cc).
#pragma once

#include "vgpu/driver/check_session.h"
#include "vgpu/driver/dead_registers.h"
#include "vgpu/driver/events.h"
#include "vgpu/driver/loaded_code.h"
#include "vgpu/driver/memory.h"
#include "vgpu/driver/queues.h"
#include "vgpu/driver/svm.h"
#include "vgpu/driver/topology.h"
#include "vgpu/memory/address_space.h"
#include "vgpu/queue/activity.h"
#include "vgpu/queue/host.h"
#include "vgpu/wave/device.h"
#include "vgpu/wave/scheduler.h"

#include "support/result.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace luthier::vgpu {

/// The GPUs that LUTHIER_VGPU_GPUS asks for: a comma-separated list of targets, one gfx90a when it is not set.
Result<std::vector<DeviceConfig>> configuredGpus();

class Driver final : public QueueHost {
public:
  explicit Driver(const Topology &topology);
  ~Driver() override;

  /// The index of the GPU that ioctls name so.
  std::optional<uint32_t> gpuIndex(uint32_t gpuId) const;
  uint32_t gpuId(uint32_t index) const { return topology.gpuId(index + 1); }

  /// Leaves statistics and trace complete, if they are on; may be called again.
  void writeStats();
  /// Says what strict resources and poison mode did, as far as they are on.
  void reportChecks() const;

  /// The kernels that have not ended, without their waves.
  std::vector<RunningDispatch> running() { return scheduler_.running(); }
  /// Says where the waves of those are that `wanted` says yes to, and what they wait for. Takes a moment. Without
  /// `wanted`: of all, and if there is none, that.
  void reportRunning(const std::function<bool(const Dispatch &)> &wanted = {});

  void signalEvent(uint32_t eventId) override { events->signal(eventId); }
  void reportFault(std::string_view text) override;
  std::string describeCode(uint64_t pc) override;
  bool raiseMemoryFault(Device &device, const Fault &fault) override;
  [[noreturn]] void die(std::string_view why) override;
  void beforeKernel() override { sharedMemory.forgetPages(); }
  Activity &activity() override { return activity_; }

private:
  AddressSpace space_;
  Activity activity_;
  Stats *stats_;
  std::shared_ptr<Trace> trace_;
  std::shared_ptr<const StrictResources> strictResources_; ///< null: not strict
  std::shared_ptr<const Poison> poison_;                   ///< null: dead registers are left alone

public:
  const Topology &topology;
  LoadedCode code;
  LoadedLiveness liveness{code};
  MemoryManager memory;
  SharedMemory sharedMemory;
  const Explainer explainer{code, memory};
  const std::unique_ptr<CheckSession> check; ///< null: nothing is checked beyond what hardware does
  std::unique_ptr<EventTable> events;
  /// Of the page that the events' mailboxes are in: where the runtime finds ours, and the handle of its own.
  static constexpr uint64_t mailboxOffset = kfd::mmapOffset(kfd::MmapType::Events, 0);
  std::atomic<uint64_t> mailboxHandle = 0;

private:
  Scheduler scheduler_;
  std::vector<std::unique_ptr<Device>> devices_;

public:
  std::unique_ptr<QueueTable> queues; ///< last: its threads use all of the above
};

} // namespace luthier::vgpu
