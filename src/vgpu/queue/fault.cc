// What happens when a packet or a kernel is bad.
//
// As on hardware: a memory fault goes to the memory exception event (ROCr prints it and aborts), everything else to the
// queue's inactive signal (ROCr suspends the queue and calls the queue's error callback, where HIP aborts). Unlike on
// hardware, nothing is left hanging: when nobody reacts, the process ends here.
#include "vgpu/queue/aql.h"

#include "vgpu/wave/device.h"

#include <fmt/core.h>

namespace luthier::vgpu {

namespace {

constexpr std::chrono::milliseconds kNoticeLimit(1000);
constexpr std::chrono::milliseconds kFaultReactionLimit(5000);

int64_t codeOf(Fault::Kind kind) {
  switch (kind) {
  case Fault::Kind::IllegalInstruction:
    return queue_code::kIllegalInstruction;
  case Fault::Kind::Trap:
    return queue_code::kTrap;
  default:
    return queue_code::kBadCode;
  }
}

/// Whether the fault's address is that of an instruction.
bool isAboutCode(Fault::Kind kind) {
  return kind == Fault::Kind::IllegalInstruction || kind == Fault::Kind::Trap || kind == Fault::Kind::EarlyAccess ||
         kind == Fault::Kind::MissingRegister;
}

} // namespace

void AqlQueue::handleKernelFault() {
  abortRunning();
  Fault fault;
  {
    std::unique_lock lock(mutex_);
    finished_.wait(lock, [&] { return running_ == 0; });
    fault = fault_;
  }
  if (fault.kind == Fault::Kind::Memory)
    failMemory(fault);
  else
    fail(codeOf(fault.kind), isAboutCode(fault.kind) ? fault.text + host().describeCode(fault.address) : fault.text);
}

void AqlQueue::fail(int64_t code, std::string_view text) {
  failed_.store(true, std::memory_order_release);
  host().reportFault(text);
  const hsa_signal_t signal = queue_->queue_inactive_signal;
  if (signal.handle == 0) {
    host().die("the queue has no error handler");
    return;
  }
  storeSignal(host(), signal, code);
  awaitReaction(waitUntil([&] { return suspended(); }, kNoticeLimit));
}

void AqlQueue::failMemory(const Fault &fault) {
  failed_.store(true, std::memory_order_release);
  if (!fault.text.empty())
    host().reportFault(fault.text);
  awaitReaction(host().raiseMemoryFault(device(), fault));
}

void AqlQueue::awaitReaction(bool noticed) {
  if (noticed)
    waitUntil([] { return false; }, kFaultReactionLimit);
  if (!stopping())
    host().die(noticed ? "the application keeps a queue that has failed" : "nobody handled the failure of a queue");
}

} // namespace luthier::vgpu
