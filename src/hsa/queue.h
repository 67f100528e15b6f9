// Queues: rings of AQL packets that an agent processes.
//
// A Queue is a handle over what hsa_queue_create gave to somebody. It may be one that Luthier shadows
// (hsa/queue_interception.h): packets that are submitted here then go the way of the application's, and questions to
// the hardware go to the queue behind it.
#pragma once

#include "hsa/packet.h"
#include "hsa/signal.h"

namespace luthier::hsa {

class Queue;
using OwnedQueue = Owned<Queue>;

class Queue : public Handle<Queue, hsa_queue_t *> {
public:
  static constexpr std::string_view kWhat = "queue";
  using Handle::Handle;

  struct Options {
    hsa_queue_type32_t type = HSA_QUEUE_TYPE_MULTI;
    uint32_t privateSegmentSize = UINT32_MAX; ///< UINT32_MAX: as the agent likes
    uint32_t groupSegmentSize = UINT32_MAX;
    /// Called when the queue fails, on a thread of ROCr's.
    void (*onError)(hsa_status_t, hsa_queue_t *, void *) = nullptr;
    void *data = nullptr;
  };
  /// `size`: packets, a power of two. Luthier's own queue: nobody's callbacks see its packets.
  static Result<OwnedQueue> create(Agent agent, uint32_t size, const Options &options);
  static Result<OwnedQueue> create(Agent agent, uint32_t size) { return create(agent, size, Options()); }
  Result<void> destroy() const;

  uint32_t size() const { return usable("asking") ? raw_->size : 0; }
  uint64_t id() const { return usable("asking") ? raw_->id : 0; }
  hsa_queue_type32_t type() const { return usable("asking") ? raw_->type : 0; }
  uint32_t features() const { return usable("asking") ? raw_->features : 0; }
  Signal doorbell() const { return usable("asking") ? Signal(raw_->doorbell_signal) : Signal(); }
  uint64_t readIndex() const;
  /// The slot of a packet.
  AqlPacket *slot(uint64_t index) const;

  /// Writes the packets to consecutive slots and rings the doorbell; waits for room, at most `timeout`. Any number of
  /// threads may do so, the application's among them. Returns the index of the first. Inside a callback for packets of
  /// the same queue nothing makes room, so that submitting to a full queue fails there.
  Result<uint64_t> submit(std::span<const AqlPacket> packets,
                          std::chrono::milliseconds timeout = std::chrono::seconds(10)) const;
  Result<uint64_t> submit(const AqlPacket &packet) const { return submit({&packet, 1}); }
};

} // namespace luthier::hsa
