// Scratch on demand: the protocol between the packet processor and ROCr's dynamic scratch handler.
//
// A queue starts without scratch. When a packet needs more per lane than the queue has, the processor stops, stores a
// request in queue_inactive_signal and waits for 0; ROCr meanwhile finds the packet at the read index, allocates, and
// describes the memory in amd_queue_t. Allocations above ROCr's limit are lent for one dispatch only
// (USE_SCRATCH_ONCE) and asked back with another code.
#include "vgpu/queue/aql.h"

#include "vgpu/wave/device.h"

#include <algorithm>
#include <fmt/core.h>
#include <iterator>

namespace luthier::vgpu {

bool AqlQueue::provideScratch(uint32_t bytesPerLane, uint32_t lanes) {
  // What the queue says is for each of 64 lanes, whatever size the waves have that it was made for.
  if (uint64_t{shared(queue_->scratch_wave64_lane_byte_size).load(std::memory_order_acquire)} * 64 >=
      uint64_t{bytesPerLane} * lanes)
    return true;
  // ROCr looks for the packet at the read index, and takes the old scratch away.
  if (!waitForEarlier())
    return false;
  const hsa_signal_t signal = queue_->queue_inactive_signal;
  if (signal.handle == 0) {
    fail(queue_code::kBadPacket, "a kernel needs scratch memory and the queue has no signal to ask for it");
    return false;
  }
  storeSignal(host(), signal, lanes == 32 ? queue_code::kNeedScratchWave32 : queue_code::kNeedScratchWave64);
  // Suspended: ROCr could not provide it and has told the application.
  if (!waitUntil([&] { return loadSignal(signal) == 0 || suspended(); }))
    return false;
  if (suspended()) {
    host().reportFault("there is not enough scratch memory for a kernel; its queue is stopped");
    failed_.store(true, std::memory_order_release);
    awaitReaction(true);
    return false;
  }
  return true;
}

bool AqlQueue::reclaimScratch() {
  const hsa_signal_t signal = queue_->queue_inactive_signal;
  scratch_.reset();
  scratchTmpring_ = 0;
  storeSignal(host(), signal, queue_code::kScratchReclaim);
  return waitUntil([&] {
    return loadSignal(signal) == 0 &&
           !(shared(queue_->queue_properties).load(std::memory_order_acquire) & AMD_QUEUE_PROPERTIES_USE_SCRATCH_ONCE);
  });
}

std::shared_ptr<ScratchRing> AqlQueue::scratchRing() {
  // COMPUTE_TMPRING_SIZE: WAVES in bits 11:0, WAVESIZE above.
  constexpr unsigned kWavesBits = 12;
  const isa::Target &target = device().target();
  const uint32_t tmpring = queue_->compute_tmpring_size;
  const uint64_t base = queue_->scratch_backing_memory_location;
  if (const unsigned end = kWavesBits + target.scratchSizeBits; tmpring >> end) {
    fail(queue_code::kBadPacket, fmt::format("compute_tmpring_size of the queue is {:#x}; expected bits 31 to {} to be "
                                             "0",
                                             tmpring, end));
    return nullptr;
  }
  if (!scratch_ || tmpring != scratchTmpring_ || base != scratchBase_) {
    scratchTmpring_ = tmpring;
    scratchBase_ = base;
    std::array<uint32_t, 4> resource;
    std::copy(std::begin(queue_->scratch_resource_descriptor), std::end(queue_->scratch_resource_descriptor),
              resource.begin());
    scratch_ = std::make_shared<ScratchRing>();
    const uint32_t waves = tmpring & ((1u << kWavesBits) - 1);
    scratch_->reset(base, uint64_t{tmpring >> kWavesBits} * target.scratchSizeUnit,
                    waves * (target.scratchWavesPerArray ? device().config().shaderArrays : 1), resource);
  }
  return scratch_;
}

} // namespace luthier::vgpu
