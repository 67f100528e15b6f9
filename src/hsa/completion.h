// Tells when a kernel dispatch has completed, without taking anything from the application.
//
// A dispatch that has a callback gets a completion signal of ours. When that fires, the callbacks run, the times that
// the hardware left in our signal are copied to the application's, and the application's is decremented as the hardware
// would have done. A dispatch without a signal of its own costs nothing else; none ever waits for another.
#pragma once

#include "hsa/interceptor.h"

#include <condition_variable>
#include <mutex>
#include <vector>

namespace luthier::hsa {

class Completions {
public:
  explicit Completions(Interceptor &interceptor) : interceptor_(interceptor) {}

  /// Arranges for `entry`'s callback and the interceptor's event. The packet's signal changes. On failure the packet
  /// stays as it is, and the callback is never called; nor is it destroyed, since the kernel may use what it holds.
  void watch(const QueueInfo &queue, PacketBatch::Entry &entry);

  /// The hardware has let go of a queue: what it has not completed will never be. Callbacks of such dispatches are not
  /// called, and their signals are left as the hardware left them.
  void abandon(uint64_t queueId);

  /// Dispatches whose end is awaited.
  uint64_t awaited() const;
  /// Waits until all callbacks of watched dispatches have run, at most `timeout`; false when some have not.
  bool drain(std::chrono::milliseconds timeout);
  /// Gives back the signals. Nothing may be in flight.
  void releaseSignals();

private:
  struct Watched;
  static bool handle(hsa_signal_value_t value, void *data);
  void finish(std::unique_ptr<Watched> watched);
  void tell(const Watched &watched);
  Result<hsa_signal_t> takeSignal();
  void link(Watched *watched);
  void unlink(Watched *watched);

  Interceptor &interceptor_;
  mutable std::mutex mutex_; ///< guards what follows
  std::condition_variable idle_;
  std::vector<hsa_signal_t> freeSignals_;
  Watched *inFlight_ = nullptr; ///< all of them, linked in any order: each dispatch comes by here
  uint64_t inFlightCount_ = 0;
  std::vector<CompletionCallback> unwatched_; ///< never called, never destroyed
};

} // namespace luthier::hsa
