// What is done for every launch: points its packet at the instrumented kernel, and hands the results over when it has
// completed.
//
// A kernel is instrumented when it is launched first. Its packet, and every later one, is then pointed at the rewritten
// kernel, which is loaded beside the original; only kernel object, scratch size and, where hooks have arguments of
// their own, the arguments' address change. The application's threads take the lock of tools only for launches of
// kernels that a tool is interested in.
#pragma once

#include "hsa/events.h"
#include "runtime/hook_calls.h"
#include "runtime/kernel_instrumenter.h"
#include "runtime/kernel_registry.h"
#include "runtime/run_details.h"

#include <atomic>
#include <memory>

namespace luthier::runtime {

/// Thread-safe.
class Launcher {
public:
  Launcher(LoadedTools &tools, RunAccount &account, KernelInstrumenter &instrumenter, KernelRegistry &kernels,
           ToolMemory &memory, HookCalls &calls, RunDetails &details)
      : tools_(tools), account_(account), instrumenter_(instrumenter), kernels_(kernels), memory_(memory),
        calls_(calls), details_(details) {}

  struct Options {
    uint64_t firstIteration = 1, lastIteration = UINT64_MAX; ///< launches of each kernel that are instrumented
  };
  /// Before the first launch.
  void configure(Options options) { options_ = options; }

  void onPackets(hsa::PacketBatch &batch);
  /// The hardware has got the packets as the application wrote them: a tool waits for the GPU.
  void onReleased(const hsa::PacketBatch &batch);
  /// Launches that ran unmodified for that reason.
  uint64_t released() const { return released_; }
  /// Launches that came when the report had been written.
  uint64_t late() const { return late_; }
  /// Instrumented launches that have not completed.
  uint64_t inFlight() const { return inFlight_; }
  /// Launches of all kernels.
  uint64_t seen() const { return seen_; }

private:
  /// What is called when a launch has completed.
  struct Completed {
    Launcher *launcher;
    std::shared_ptr<Launch::Impl> launch;
    hsa::CompletionCallback before;
    void operator()(const hsa::KernelCompletion &completion) const;
  };

  /// The same for launches that run unmodified, where the report shows them.
  struct Observed {
    Launcher *launcher;
    std::shared_ptr<InstrumentedKernel> kernel;
    report::LaunchRecord record;
    hsa::CompletionCallback before;
    void operator()(const hsa::KernelCompletion &completion);
  };

  void onDispatch(hsa::PacketBatch &batch, hsa::PacketBatch::Entry &entry);
  /// Has a launch that runs unmodified recorded.
  void observe(const hsa::PacketBatch &batch, hsa::PacketBatch::Entry &entry,
               const std::shared_ptr<InstrumentedKernel> &kernel, uint64_t numberOfKernel);
  /// Points the launch's packet at the instrumented kernel. False: it runs unmodified.
  bool instrument(hsa::PacketBatch &batch, hsa::PacketBatch::Entry &entry,
                  const std::shared_ptr<InstrumentedKernel> &kernel, uint64_t numberOfKernel);
  /// Null when tools cannot be asked: at the very end, or because the batch is released.
  std::shared_ptr<InstrumentedKernel> kernelOf(uint64_t kernelObject, const hsa::PacketBatch &batch);
  /// The kernel in the variant that the tools choose for a launch of it. Null when tools cannot be asked.
  std::shared_ptr<InstrumentedKernel> chosen(const std::shared_ptr<InstrumentedKernel> &kernel, uint64_t kernelObject,
                                             const std::shared_ptr<Launch::Impl> &launch,
                                             const hsa::PacketBatch &batch);
  /// Hooks take registers, so that a workgroup may not fit any more; the user is told once for a kernel.
  bool hasRoomFor(const Launch::Impl &launch);
  /// So it is with LDS.
  bool hasLdsFor(const Launch::Impl &launch, uint32_t ldsBytes);
  /// A grid that is on the GPU as a whole may rely on it: its workgroups may wait for each other, in a cooperative
  /// launch or not. With hooks it must be so too; the user is told once for a kernel.
  bool staysResident(const Launch::Impl &launch, uint32_t ldsBytes);
  Decision decisionOfTools(Launch::Impl &launch, const hsa::PacketBatch &batch);
  /// What the entry of the instrumented kernel reads in place of the arguments.
  Result<void> makeSegment(Launch::Impl &launch, const void *arguments, const hsa::QueueInfo &queue);
  void onCompleted(const std::shared_ptr<Launch::Impl> &launch, const hsa::KernelCompletion &completion);
  /// Memory and the like; the launch has completed, or will not be.
  void giveBack(Launch::Impl &launch);

  LoadedTools &tools_;
  RunAccount &account_;
  KernelInstrumenter &instrumenter_;
  KernelRegistry &kernels_;
  ToolMemory &memory_;
  HookCalls &calls_;
  RunDetails &details_;
  Options options_;
  std::atomic<uint64_t> seen_ = 0, launches_ = 0, inFlight_ = 0, released_ = 0, late_ = 0;
};

} // namespace luthier::runtime
