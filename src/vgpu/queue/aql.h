// The AQL packet processor: what the command processor's firmware does on hardware (HSA Platform System Architecture,
// "Requirement: User mode queuing"; the AMD parts are amd_queue_t and amd_signal_t in AMD's published headers).
//
// Packets are taken strictly in ring order. A packet whose barrier bit is set waits for all earlier ones; kernels
// without it overlap, up to kMaxInFlight. A slot is given back (header invalid, read index advanced) in ring order and
// only when its packet has finished: kernels read their own packet through dispatch_ptr.
//
//   aql.cc       the loop, slots, completion        dispatch.cc  kernel dispatch
//   barrier.cc   barrier-AND, barrier-OR            scratch.cc   the dynamic scratch protocol
//   vendor.cc    AMD packets: PM4, barrier value    fault.cc     what happens when a packet or a kernel is bad
#pragma once

#include "vgpu/queue/queue.h"
#include "vgpu/queue/signal.h"

#include <hsa/amd_hsa_queue.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

namespace luthier::vgpu {

/// Values of queue_inactive_signal that ROCr 5 understands.
namespace queue_code {
inline constexpr int64_t kNeedScratchWave64 = 1;
inline constexpr int64_t kBadDimensions = 2;
inline constexpr int64_t kBadGroupMemory = 4;
inline constexpr int64_t kBadCode = 8;
inline constexpr int64_t kBadPacket = 32;
inline constexpr int64_t kWorkgroupTooLarge = 64;
inline constexpr int64_t kBadVendorPacket = 256;
inline constexpr int64_t kScratchReclaim = 512;
inline constexpr int64_t kNeedScratchWave32 = 0x400;
inline constexpr int64_t kIllegalInstruction = 0x40000000;
inline constexpr int64_t kTrap = 0x80000000;
} // namespace queue_code

class AqlQueue : public Queue {
public:
  /// The ring and its size come from `queue`, which stays the property of the runtime.
  AqlQueue(uint64_t id, Device &device, QueueHost &host, amd_queue_t *queue);
  ~AqlQueue() override;

  static constexpr size_t kMaxInFlight = 16;

protected:
  bool pending() const override;
  void run() override;
  void abortRunning() override;

private:
  union Packet {
    uint16_t header;
    hsa_kernel_dispatch_packet_t dispatch;
    hsa_barrier_and_packet_t barrierAnd;
    hsa_barrier_or_packet_t barrierOr;
    hsa_amd_barrier_value_packet_t barrierValue;
    struct {
      uint16_t header;
      uint16_t format;
      uint32_t jump[4];
      uint32_t remaining;
      uint32_t reserved[8];
      hsa_signal_t completion;
    } pm4;
  };
  static_assert(sizeof(Packet) == 64);

  struct InFlight {
    uint64_t index;
    std::shared_ptr<Dispatch> dispatch;
    bool done = false;
  };

  /// A packet that could not be run; ends the queue.
  struct PacketError {
    int64_t code;
    std::string text;
  };

  volatile Packet &slot(uint64_t index) const { return ring_[index & (size_ - 1)]; }
  uint16_t header(uint64_t index) const;

  void processNext();
  bool waitForEarlier();
  void begin(uint64_t index);
  void retire(uint64_t index);
  void retireLocked(uint64_t index);
  void finishHere(uint64_t index, hsa_signal_t completion, uint64_t start);

  // Each of these handles one packet type on the queue's thread. They return once the packet is under way or done, or
  // early when the queue is being stopped or has failed.
  void kernelDispatch(uint64_t index);
  void barrierAnd(uint64_t index);
  void barrierOr(uint64_t index);
  void vendor(uint64_t index);
  void barrierValue(uint64_t index);
  void indirectBuffer(uint64_t index);

  bool checkDispatch(uint64_t index, const hsa_kernel_dispatch_packet_t &packet, Launch &launch);
  bool checkSignal(hsa_signal_t signal);
  bool checkHeader(uint64_t index, uint16_t header);
  /// Fails the queue unless `value`, of a field that must be 0, is. (Not for reserved2: ROCm's profilers put a
  /// correlation id there, and hardware does not look.)
  bool checkReserved(uint64_t index, const char *packet, const char *field, uint64_t value);
  void dispatchDone(uint64_t index, hsa_signal_t completion, const Dispatch &dispatch);

  /// For waves of `lanes` lanes.
  bool provideScratch(uint32_t bytesPerLane, uint32_t lanes);
  bool reclaimScratch();
  /// Null after the queue has failed.
  std::shared_ptr<ScratchRing> scratchRing();

  /// Stops the queue for good: reports through queue_inactive_signal, and sees to it that somebody reacts.
  void fail(int64_t code, std::string_view text);
  void failMemory(const Fault &fault);
  void handleKernelFault();
  void awaitReaction(bool noticed);

  amd_queue_t *const queue_;
  volatile Packet *const ring_;
  const uint64_t size_;
  std::atomic<uint64_t> next_;       ///< the packet to look at next
  std::atomic<bool> failed_{false};  ///< nothing more is run
  std::atomic<bool> faulted_{false}; ///< a kernel faulted; `fault_` says how

  std::mutex mutex_;
  std::condition_variable finished_;
  std::deque<InFlight> inFlight_; ///< oldest first
  size_t running_ = 0;            ///< launches whose callback has not returned
  Fault fault_;

  std::shared_ptr<ScratchRing> scratch_;
  uint64_t scratchBase_ = 0;
  uint32_t scratchTmpring_ = 0;
};

} // namespace luthier::vgpu
