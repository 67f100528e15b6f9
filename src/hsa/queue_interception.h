// Shows the packets of the application's queues to Luthier before the hardware sees them (docs/packets.md).
//
// An application that creates a queue gets a soft queue instead: a ring in host memory with a doorbell signal of ours.
// The real queue is created behind it. When the application rings the doorbell, the packets that are complete are
// taken out as a batch, shown to the callbacks, and written to the real queue. The application's indices, ring and
// fences work as ever, because a soft queue is an ordinary queue to ROCr.
//
// ROCr has interception of its own (hsa_amd_queue_intercept_create). It is used for queues that another tool makes
// that way, but not for the application's: in 5.2.3 it hands out packets one at a time, and when the real queue is full
// it lets later packets overtake earlier ones, or fails an assertion.
#pragma once

#include "hsa/completion.h"
#include "hsa/events.h"
#include "hsa/packet_callbacks.h"

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>

namespace luthier::hsa {

class QueueInterception;

/// A queue with a front for the application.
class ShadowQueue : public std::enable_shared_from_this<ShadowQueue> {
public:
  explicit ShadowQueue(QueueInterception &owner) : owner_(owner) {}

  struct Request {
    hsa_agent_t agent;
    uint32_t size;
    hsa_queue_type32_t type;
    void (*callback)(hsa_status_t, hsa_queue_t *, void *);
    void *data;
    uint32_t privateSegmentSize, groupSegmentSize;
  };
  /// The status is that of ROCr for the real queue; nothing is left behind when it is no success.
  hsa_status_t create(const Request &request);
  /// Gives the application the same queue once more, and takes that back; ROCr has one cooperative queue per GPU, for
  /// everybody who creates one. Under the lock of the owner.
  void share() { ++shares_; }
  bool unshare() {
    if (shares_ == 0)
      return false;
    --shares_;
    return true;
  }

  /// In the hands of the thread that calls `pass` again.
  std::atomic<bool> waiting = false;

  const QueueInfo &info() const { return info_; }
  hsa_signal_t doorbell() const { return doorbell_; }

  /// The doorbell was rung with this value: packets up to it are the hardware's.
  void noteRing(hsa_signal_value_t value);
  /// A doorbell for those who ring by storing into memory, as into the hardware's. Somebody has to look at it from now
  /// on.
  uint64_t lendDoorbell();
  bool lent() const { return lent_; }
  /// Whether that one was rung since this was last asked.
  bool takeLentRing();
  /// Passes on what the application has submitted, unless another thread does: that one looks again before it stops.
  /// False when there is more to do later: the real queue is full, or a packet below the doorbell's value is not
  /// written yet, where hardware would look again until it is, or other threads keep on submitting.
  bool pass();

  hsa_status_t destroy();
  /// Gives the application the real queue; only before it has got the other one.
  void dropFront();
  /// Leaves the queues to ROCr.
  void abandon();

private:
  class Held;
  using Lock = std::unique_lock<std::mutex>;
  enum class Taken {
    Nothing,
    Batch,
    Released, ///< while callbacks ran: passing on is no longer this thread's
  };
  bool submitPending();
  /// Callbacks are called without the lock.
  Taken takeBatch(Lock &lock);

  QueueInterception &owner_;
  QueueInfo info_; ///< `real` is null once the queue has gone
  Request request_ = {};
  unsigned shares_ = 0;
  hsa_signal_t doorbell_ = {};
  std::atomic<int64_t> rung_ = -1; ///< highest value of the doorbell
  alignas(64) std::atomic<int64_t> lentDoorbell_ = -1;
  std::atomic<bool> lent_ = false;
  std::mutex mutex_;                        ///< guards what follows; no callback is called under it
  bool passing_ = false;                    ///< some thread is at it
  uint64_t next_ = 0;                       ///< first packet of the application that was not taken yet
  std::vector<PacketBatch::Entry> pending_; ///< taken and shown, not yet in the real queue
  size_t pendingDone_ = 0;
};

class QueueInterception {
public:
  QueueInterception(Events &events, PacketCallbacks &callbacks);
  ~QueueInterception();

  void start();
  void stop();
  PacketCallbacks &callbacks() { return callbacks_; }

  hsa_status_t createQueue(const ShadowQueue::Request &request, hsa_queue_t **queue);
  hsa_status_t destroyQueue(hsa_queue_t *queue);
  /// True when the signal is the doorbell of a shadow queue: the caller's store has been dealt with.
  bool ring(hsa_signal_t doorbell, hsa_signal_value_t value);
  /// The address to store to instead of ringing the doorbell: who asks ROCr for it would ring the hardware's, with
  /// numbers of packets that the hardware does not have. 0 when the queue is not shadowed.
  uint64_t lendDoorbell(hsa_queue_t *queue);
  /// A queue that another tool has created with ROCr's interception.
  void adopt(hsa_queue_t *queue, hsa_agent_t agent);
  /// What packets need, with or without callbacks.
  void prepare(PacketBatch &batch);
  /// Arranges for completions.
  void watch(PacketBatch &batch);
  /// What the hardware reads; `queue` itself when it is not shadowed.
  hsa_queue_t *realOf(hsa_queue_t *queue);
  /// Dispatches whose completion somebody is still to be told of; shutting down waits for them.
  uint64_t awaitedCompletions() const { return completions_.awaited(); }
  /// Waits for them. Kernels of queues that were not destroyed may never end, so there is a limit; false when some have
  /// not been told.
  bool drainCompletions() { return completions_.drain(std::chrono::seconds(2)); }

  /// Has a thread of ours pass on what the queue has; another one than `busy`, which is inside a callback.
  void passLater(ShadowQueue *queue, std::thread::id busy = {});

private:
  /// Doorbells by handle. Every hsa_signal_store of the process looks here, so looking takes no lock.
  class DoorbellTable {
  public:
    ShadowQueue *find(uint64_t handle) const;
    bool insert(uint64_t handle, ShadowQueue *queue); ///< false: full
    void erase(uint64_t handle);

  private:
    static constexpr size_t kSlots = 4096;
    struct Slot {
      std::atomic<uint64_t> handle = 0;
      std::atomic<ShadowQueue *> queue = nullptr;
    };
    static size_t slotOf(uint64_t handle) { return (handle * 0x9e3779b97f4a7c15ull) >> 52; }
    Slot slots_[kSlots];
    std::atomic<unsigned> used_ = 0;
  };

  struct Adopted {
    QueueInterception &owner;
    QueueInfo info;
  };

  void startPump();
  void runPump(uint64_t generation);

  template <ApiId id> void forwardToRealQueue();

  Events &events_;
  PacketCallbacks &callbacks_;
  std::vector<Subscription> replacements_;
  Completions completions_;
  DoorbellTable doorbells_;
  std::mutex mutex_; ///< guards what follows
  std::unordered_map<hsa_queue_t *, std::shared_ptr<ShadowQueue>> shadows_;
  std::unordered_map<hsa_queue_t *, std::unique_ptr<Adopted>> others_;
  // The thread that goes on where an application's thread must not wait: real queues that are full, doorbells rung
  // inside callbacks.
  std::condition_variable wake_;
  std::deque<std::weak_ptr<ShadowQueue>> waiting_, full_;
  std::thread pump_;
  uint64_t pumpGeneration_ = 0; ///< one of before ends as soon as its callback has returned
  pid_t pumpProcess_ = 0;
  bool stopping_ = false;
};

} // namespace luthier::hsa
