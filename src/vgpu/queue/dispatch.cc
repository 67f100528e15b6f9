// Kernel dispatch packets: check, reduce to a Launch, complete.
#include "vgpu/queue/aql.h"

#include "vgpu/wave/device.h"
#include "vgpu/wave/kernel_descriptor.h"

#include <algorithm>
#include <fmt/core.h>

namespace luthier::vgpu {

// What the command processor refuses, it refuses before a wave starts; so do we, with the same codes.
bool AqlQueue::checkDispatch(uint64_t index, const hsa_kernel_dispatch_packet_t &packet, Launch &launch) {
  static_assert(HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS == 0);
  const unsigned dimensions = packet.setup & 3;
  if (!checkReserved(index, "kernel dispatch", "setup's reserved part", packet.setup >> 2) ||
      !checkReserved(index, "kernel dispatch", "reserved0", packet.reserved0))
    return false;
  launch.grid = {packet.grid_size_x, dimensions > 1 ? packet.grid_size_y : 1, dimensions > 2 ? packet.grid_size_z : 1};
  launch.workgroup = {packet.workgroup_size_x, dimensions > 1 ? packet.workgroup_size_y : uint16_t{1},
                      dimensions > 2 ? packet.workgroup_size_z : uint16_t{1}};
  auto kernel = [&] {
    return device().kernelName ? device().kernelName(packet.kernel_object) : fmt::format("{:#x}", packet.kernel_object);
  };
  if (dimensions == 0 || std::ranges::count(launch.grid, 0u) || std::ranges::count(launch.workgroup, 0)) {
    fail(queue_code::kBadDimensions,
         fmt::format("kernel {}: empty grid or workgroup ({} dimensions, grid {}x{}x{}, workgroup {}x{}x{})", kernel(),
                     dimensions, launch.grid[0], launch.grid[1], launch.grid[2], launch.workgroup[0],
                     launch.workgroup[1], launch.workgroup[2]));
    return false;
  }
  // HSA wants 1 there; 0 cannot be misunderstood either.
  if ((dimensions < 2 && std::max<uint32_t>(packet.grid_size_y, packet.workgroup_size_y) > 1) ||
      (dimensions < 3 && std::max<uint32_t>(packet.grid_size_z, packet.workgroup_size_z) > 1)) {
    fail(queue_code::kBadDimensions,
         fmt::format("kernel {}: {} dimensions, but a grid of {}x{}x{} and workgroups of {}x{}x{}", kernel(),
                     dimensions, packet.grid_size_x, packet.grid_size_y, packet.grid_size_z, packet.workgroup_size_x,
                     packet.workgroup_size_y, packet.workgroup_size_z));
    return false;
  }
  const uint64_t lanes = uint64_t{launch.workgroup[0]} * launch.workgroup[1] * launch.workgroup[2];
  const uint64_t maxLanes = uint64_t{device().target().maxWorkgroupWaves} * device().target().waveSize;
  if (lanes > maxLanes) {
    fail(queue_code::kWorkgroupTooLarge,
         fmt::format("kernel {}: a workgroup of {} work-items; at most {} fit", kernel(), lanes, maxLanes));
    return false;
  }
  if (packet.group_segment_size > device().config().ldsBytesPerComputeUnit) {
    fail(queue_code::kBadGroupMemory, fmt::format("kernel {}: {} bytes of group memory; there are {}", kernel(),
                                                  packet.group_segment_size, device().config().ldsBytesPerComputeUnit));
    return false;
  }
  constexpr uint64_t kDescriptorBytes = 64;
  if (packet.kernel_object == 0 || packet.kernel_object % kDescriptorBytes != 0 ||
      !device().memory().mapped(packet.kernel_object, kDescriptorBytes, device().mask())) {
    fail(queue_code::kBadCode, fmt::format("no kernel at {:#x}", packet.kernel_object));
    return false;
  }
  return checkSignal(packet.completion_signal);
}

bool AqlQueue::checkSignal(hsa_signal_t signal) {
  if (signal.handle == 0 || signalMapped(device(), signal))
    return true;
  Fault fault;
  fault.kind = Fault::Kind::Memory;
  fault.address = signal.handle;
  fault.write = true;
  fault.text = fmt::format("a packet names the signal {:#x}, which this GPU cannot access", signal.handle);
  failMemory(fault);
  return false;
}

void AqlQueue::kernelDispatch(uint64_t index) {
  // Checked and used as it is now, whatever the application does to it meanwhile.
  const hsa_kernel_dispatch_packet_t packet = const_cast<Packet &>(slot(index)).dispatch;
  Launch launch;
  if (!checkDispatch(index, packet, launch))
    return;
  launch.kernelObject = packet.kernel_object;
  launch.privateSegmentSize = packet.private_segment_size;
  launch.groupSegmentSize = packet.group_segment_size;
  launch.kernarg = reinterpret_cast<uint64_t>(packet.kernarg_address);
  launch.packet = reinterpret_cast<uint64_t>(&slot(index));
  launch.queue = reinterpret_cast<uint64_t>(queue_);
  launch.dispatchId = index;

  bool scratchOnce = false;
  if (packet.private_segment_size > 0) {
    if (!provideScratch(packet.private_segment_size, descriptorAt(packet.kernel_object).waveSize(device().target())))
      return;
    launch.scratch = scratchRing();
    if (!launch.scratch)
      return;
    scratchOnce =
        shared(queue_->queue_properties).load(std::memory_order_acquire) & AMD_QUEUE_PROPERTIES_USE_SCRATCH_ONCE;
  }

  host().beforeKernel();
  const hsa_signal_t completion = packet.completion_signal;
  {
    std::unique_lock lock(mutex_);
    finished_.wait(lock, [&] { return running_ < kMaxInFlight; });
    if (stopping() || faulted_.load(std::memory_order_acquire))
      return;
    inFlight_.push_back({index, nullptr});
    ++running_;
    next_.store(index + 1, std::memory_order_relaxed);
  }
  std::shared_ptr<Dispatch> dispatch = device().launch(
      launch, [this, index, completion](const Dispatch &done) { dispatchDone(index, completion, done); });
  {
    std::lock_guard lock(mutex_);
    for (InFlight &entry : inFlight_)
      if (entry.index == index)
        entry.dispatch = dispatch;
  }
  if (stopping() || faulted_.load(std::memory_order_acquire))
    abortRunning();
  // Large scratch belongs to this one dispatch; the runtime wants it back before the next packet.
  if (scratchOnce && waitForEarlier())
    reclaimScratch();
}

// Runs on a worker of the wave engine.
void AqlQueue::dispatchDone(uint64_t index, hsa_signal_t completion, const Dispatch &dispatch) {
  const Fault &fault = dispatch.fault();
  const bool clean = fault.kind == Fault::Kind::None;
  if (clean)
    completeSignal(host(), completion, dispatch.startTime(), dispatch.endTime());
  bool first = false;
  std::lock_guard lock(mutex_);
  if (clean) {
    retireLocked(index);
  } else if (fault.kind != Fault::Kind::Aborted && fault_.kind == Fault::Kind::None) {
    fault_ = fault;
    faulted_.store(true, std::memory_order_release);
    first = true;
  }
  if (first)
    wake();
  --running_;
  finished_.notify_all(); // under the lock: the queue may be gone as soon as it is released
}

} // namespace luthier::vgpu
