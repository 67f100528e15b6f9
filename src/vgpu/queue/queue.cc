#include "vgpu/queue/queue.h"

#include "support/thread.h"

#include "vgpu/queue/activity.h"

#include <algorithm>
#include <pthread.h>
#include <sched.h>
#include <signal.h>

namespace luthier::vgpu {

namespace {

// How long a queue looks at its own ring before it leaves that to the poller: packets often come in bursts.
constexpr auto kLinger = std::chrono::microseconds(30);

} // namespace

void Queue::start() {
  thread_ = std::thread([this] { threadMain(); });
}

void Queue::stop() {
  stopping_.store(true, std::memory_order_release);
  abortRunning();
  wake();
  host_.activity().notify();
  if (thread_.joinable())
    thread_.join();
}

void Queue::suspend(bool suspended) {
  suspended_.store(suspended, std::memory_order_release);
  wake();
  host_.activity().notify();
}

void Queue::wake() {
  std::lock_guard lock(mutex_);
  woken_ = true;
  wake_.notify_one();
}

bool Queue::poke() {
  if (!parked_.load(std::memory_order_acquire) || suspended() || !pending())
    return false;
  wake();
  return true;
}

void Queue::threadMain() {
  becomeInternalThread("vgpu-queue");
  while (!stopping()) {
    if (!suspended() && pending()) {
      run();
      const auto deadline = std::chrono::steady_clock::now() + kLinger;
      while (!stopping() && !pending() && std::chrono::steady_clock::now() < deadline)
        sched_yield();
      continue;
    }
    park();
  }
}

void Queue::park() {
  std::unique_lock lock(mutex_);
  parked_.store(true, std::memory_order_release);
  wake_.wait(lock, [&] { return woken_ || stopping(); });
  woken_ = false;
  parked_.store(false, std::memory_order_release);
}

uint64_t Queue::activityStamp() const { return host_.activity().stamp(); }

void Queue::pause(uint64_t seen, unsigned round) {
  if (round < 16) {
    sched_yield();
    return;
  }
  host_.activity().wait(seen, std::chrono::microseconds(std::min(1000u, 20u << std::min(round - 16, 6u))));
}

} // namespace luthier::vgpu
