// What Luthier's parts tell of an application's queues, packets and code.
#pragma once

#include "hsa/api.h"
#include "hsa/event.h"
#include "hsa/packet.h"

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

namespace luthier::hsa {

class CapturedCode;
using SharedCode = std::shared_ptr<const CapturedCode>;

/// A queue of the application.
struct QueueInfo {
  hsa_queue_t *queue = nullptr; ///< what the application has
  hsa_queue_t *real = nullptr;  ///< what the hardware reads; the same unless packets are intercepted
  hsa_agent_t agent = {};
  uint64_t id = 0; ///< unlike an address, never given to another queue
};

/// A kernel dispatch that the hardware has completed.
struct KernelCompletion {
  const QueueInfo &queue;
  AqlPacket packet;    ///< as it was submitted, with the application's own completion signal
  uint64_t begin, end; ///< nanoseconds of HSA's system clock; 0 where the hardware left no times
};
using CompletionCallback = std::function<void(const KernelCompletion &)>;

/// Packets that the application has submitted and the hardware has not seen. A callback may change, insert and remove
/// them. Order and barrier bits are the application's.
struct PacketBatch {
  struct Entry {
    AqlPacket packet;
    /// Called when a kernel dispatch has completed, on a thread of ours, before the application is told (unless a
    /// callback waits for the GPU); null where nobody wants to know.
    CompletionCallback completed = {};
  };

  const QueueInfo &queue;
  uint64_t firstIndex; ///< of the first packet in the application's queue, before any callback changed the batch
  std::vector<Entry> entries;
  /// The hardware has the packets, as the application wrote them: a thread waits for the GPU inside a callback, and may
  /// wait for these packets (hsa/held_work.h). Changes of `entries` are ignored. May become true at any moment while
  /// callbacks run; PacketCallbacks::released() follows then.
  std::atomic<bool> released = false;
};

/// A copy or fill that ROCr has accepted (hsa/blit.h).
struct CopyRecord {
  ApiId call;
  uint64_t bytes;
};

/// Callbacks come on the thread that caused the event, several at a time, and may call HSA.
struct Events {
  Event<const SharedCode &> codeLoaded; ///< its executable is not frozen yet
  Event<hsa_executable_t> executableFrozen;
  Event<hsa_executable_t> executableDestroyed; ///< before it happens
  Event<const QueueInfo &> queueCreated;
  Event<const QueueInfo &> queueDestroyed; ///< before it happens
  /// What packets need to run at all, which they get before and without callbacks; must not wait.
  Event<AqlPacket &> packetNeeds;
  Event<const CopyRecord &> copied;
  /// Every kernel dispatch of intercepted queues. PacketBatch::Entry::completed asks for a single one.
  Event<const KernelCompletion &> kernelCompleted;
};

} // namespace luthier::hsa
