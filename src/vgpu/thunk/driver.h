// The state behind hsaKmt*: everything that a kernel driver would keep for this process.
//
// There is one, made by the first call that needs it and never destroyed: when the process exits, ROCr's threads are
// still waiting inside the thunk and the GPUs may still be running.
#pragma once

#include "vgpu/device.h"
#include "vgpu/memory/address_space.h"
#include "vgpu/queue/activity.h"
#include "vgpu/queue/host.h"
#include "vgpu/thunk/dead_registers.h"
#include "vgpu/thunk/events.h"
#include "vgpu/thunk/loaded_code.h"
#include "vgpu/thunk/memory.h"
#include "vgpu/thunk/queues.h"
#include "vgpu/thunk/topology.h"
#include "vgpu/wave/scheduler.h"

#include "support/result.h"

#include <memory>
#include <string>
#include <vector>

namespace luthier::vgpu {

/// The GPUs that LUTHIER_VGPU_GPUS asks for: a comma-separated list of targets, one gfx90a when it is not set.
Result<std::vector<DeviceConfig>> configuredGpus();

class Driver final : public QueueHost {
public:
  static Driver &get();

  Driver(HostInfo host, std::vector<DeviceConfig> gpus);
  ~Driver() override;

  bool validNode(uint32_t node) const { return node < topology.nodes(); }
  bool isGpu(uint32_t node) const { return topology.isGpu(node); }
  uint64_t mmioRemap(uint32_t node) const { return isGpu(node) ? mmioRemaps_[node - 1] : 0; }

  /// Leaves statistics and trace complete, if they are on; may be called again.
  void writeStats();
  /// Says what poison mode did, if it is on.
  void reportPoison() const;

  void signalEvent(uint32_t eventId) override { events->signal(eventId); }
  void reportFault(std::string_view text) override;
  bool raiseMemoryFault(Device &device, const Fault &fault) override;
  [[noreturn]] void die(std::string_view why) override;
  Activity &activity() override { return activity_; }

private:
  AddressSpace space_;
  Activity activity_;
  Stats *stats_;
  std::shared_ptr<Trace> trace_;
  std::shared_ptr<const Poison> poison_; ///< null: dead registers are left alone
  std::vector<uint64_t> mmioRemaps_;

public:
  const Topology topology;
  LoadedCode code;
  LoadedLiveness liveness{code};
  MemoryManager memory;
  std::unique_ptr<EventTable> events;

private:
  Scheduler scheduler_;
  std::vector<std::unique_ptr<Device>> devices_;

public:
  std::unique_ptr<QueueTable> queues; ///< last: its threads use all of the above
};

} // namespace luthier::vgpu
