// A user-mode queue: a thread that runs packets, asleep until the doorbell poller sees that there are some.
//
// One thread per queue, because packets may wait (for a signal, for memory, for earlier kernels) and no queue may hold
// up another.
#pragma once

#include "vgpu/queue/host.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

namespace luthier::vgpu {

class Device;

class Queue {
public:
  Queue(uint64_t id, Device &device, QueueHost &host) : id_(id), device_(device), host_(host) {}
  /// The most derived class calls stop() in its destructor, while its members still exist.
  virtual ~Queue() = default;
  Queue(const Queue &) = delete;
  Queue &operator=(const Queue &) = delete;

  uint64_t id() const { return id_; }
  Device &device() const { return device_; }

  void start();
  /// Ends what runs, waits for the thread; nothing of the queue's memory is touched afterwards.
  void stop();

  /// A suspended queue finishes what runs and starts nothing new.
  void suspend(bool suspended);
  bool suspended() const { return suspended_.load(std::memory_order_acquire); }

  /// For the doorbell poller: wakes the thread if it sleeps although there is a packet. True if it did.
  bool poke();

protected:
  /// True when there is a packet that could be looked at. Called from the poller's thread as well.
  virtual bool pending() const = 0;
  /// Runs packets until there are none, or until stopping() or suspended().
  virtual void run() = 0;
  /// Ends what runs elsewhere on behalf of this queue. Called once stopping() is true.
  virtual void abortRunning() {}

  /// Makes the thread look again, whatever the ring says.
  void wake();

  bool stopping() const { return stopping_.load(std::memory_order_acquire); }
  QueueHost &host() const { return host_; }

  /// Waits for a condition on shared memory. False when the queue is being stopped, or when `limit` passed.
  template <typename Ready>
  bool waitUntil(Ready ready, std::chrono::milliseconds limit = std::chrono::milliseconds::max());

private:
  void threadMain();
  void park();
  void pause(uint64_t seen, unsigned round);
  uint64_t activityStamp() const;

  const uint64_t id_;
  Device &device_;
  QueueHost &host_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> suspended_{false};
  std::atomic<bool> parked_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
  bool woken_ = false;
  std::thread thread_;
};

template <typename Ready> bool Queue::waitUntil(Ready ready, std::chrono::milliseconds limit) {
  const auto begin = std::chrono::steady_clock::now();
  for (unsigned round = 0;; ++round) {
    uint64_t seen = activityStamp();
    if (ready())
      return true;
    if (stopping())
      return false;
    if (limit != std::chrono::milliseconds::max() && std::chrono::steady_clock::now() - begin >= limit)
      return false;
    pause(seen, round);
  }
}

} // namespace luthier::vgpu
