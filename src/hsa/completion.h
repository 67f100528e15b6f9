// Tells when a kernel dispatch has completed, without taking anything from the application.
//
// A dispatch that has a callback gets a completion signal of ours. When that fires, the callbacks run, the times that
// the hardware left in our signal are copied to the application's, and the application's is decremented as the hardware
// would have done. A dispatch without a signal of its own costs nothing else; none ever waits for another.
//
// A thread of ours looks at these signals (backoff.h) and calls the callbacks. ROCr's thread for signal handlers, which
// could do both, is the application's: a handler of its may wait for a watched dispatch there, and a callback may wait
// for what HIP does in its handlers. While a callback waits for the GPU (hsa/held_work.h), a second thread stands in:
// it tells the application of what completes, and the callbacks follow when the first one has returned.
#pragma once

#include "hsa/backoff.h"
#include "hsa/events.h"
#include "hsa/held_work.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

namespace luthier::hsa {

class Completions {
public:
  Completions(Events &events, HeldWorks &works);
  ~Completions();

  /// Arranges for `entry`'s callback and the event of all completions. The packet's signal changes. On failure the
  /// packet stays as it is, and the callback is never called; nor is it destroyed, since the kernel may use what it
  /// holds.
  void watch(const QueueInfo &queue, PacketBatch::Entry &entry);

  /// The hardware has let go of a queue: what it has not completed will never be. Callbacks of such dispatches are not
  /// called, and their signals are left as the hardware left them.
  void abandon(uint64_t queueId);

  /// Dispatches whose end is awaited.
  uint64_t awaited() const;
  /// Waits until all callbacks of watched dispatches have run, at most `timeout`; false when some have not.
  bool drain(std::chrono::milliseconds timeout);
  /// Ends the thread and gives back the signals. What is still in flight is forgotten; its callbacks are kept. A
  /// callback that does not return in time keeps its thread, which then does nothing else.
  void stop(std::chrono::milliseconds timeout = std::chrono::seconds(2));

private:
  struct Watched;
  class Held;
  using Lock = std::unique_lock<std::mutex>;

  Result<void> start(); ///< the thread, unless it runs
  Result<hsa_signal_t> takeSignal();
  void run(uint64_t generation);
  void standIn(uint64_t generation);
  void collect();
  /// Calls the callbacks of the first that is ready, without the lock.
  void deliver(Lock &lock, uint64_t generation);
  void callBack(Watched &watched, uint64_t generation);
  void tellApplication(Watched &watched);
  /// Until something may have completed, was added, or has `ended`.
  void sleep(Lock &lock, Backoff &backoff, const std::function<bool()> &ended);
  void endStandIn(Lock &lock);

  Events &events_;
  HeldWorks &works_;
  std::atomic<pid_t> process_ = 0; ///< that the thread is in: a forked child has none

  mutable std::mutex mutex_; ///< guards what follows
  std::condition_variable idle_;
  std::condition_variable work_; ///< there is something in flight, or to be ended
  std::vector<hsa_signal_t> freeSignals_;
  std::deque<std::unique_ptr<Watched>> inFlight_; ///< in the order of submission
  std::deque<std::unique_ptr<Watched>> ready_;    ///< completed; callbacks are still to be called
  bool running_ = false;                          ///< callbacks of one are being called
  std::vector<CompletionCallback> uncalled_;      ///< never called, never destroyed

  std::thread thread_, standIn_;
  bool threadRuns_ = false, standInWanted_ = false;
  uint64_t generation_ = 0; ///< of the thread: one of before touches nothing any more
};

} // namespace luthier::hsa
