#include "vgpu/queue/doorbell.h"

#include "support/thread.h"

#include "vgpu/queue/queue.h"

#include <algorithm>
#include <chrono>
#include <sched.h>
#include <sys/prctl.h>

namespace luthier::vgpu {

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kBusyFor = std::chrono::microseconds(50); ///< yields only, this long after the last packet
constexpr auto kFirstSleep = std::chrono::microseconds(10);
constexpr auto kLongestSleep = std::chrono::microseconds(1000);

} // namespace

DoorbellPoller::~DoorbellPoller() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable())
    thread_.join();
}

void DoorbellPoller::add(Queue *queue) {
  std::lock_guard lock(mutex_);
  queues_.push_back(queue);
  if (!thread_.joinable())
    thread_ = std::thread([this] { threadMain(); });
  changed_.notify_all();
}

void DoorbellPoller::remove(Queue *queue) {
  std::lock_guard lock(mutex_);
  std::erase(queues_, queue);
}

bool DoorbellPoller::scan() {
  bool found = false;
  for (Queue *queue : queues_)
    found |= queue->poke();
  return found;
}

void DoorbellPoller::threadMain() {
  becomeInternalThread("vgpu-doorbell");
  prctl(PR_SET_TIMERSLACK, 1000UL);
  auto lastFound = Clock::now();
  auto sleep = kFirstSleep;
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (queues_.empty()) {
      changed_.wait(lock, [&] { return stopping_ || !queues_.empty(); });
      continue;
    }
    if (scan()) {
      lastFound = Clock::now();
      sleep = kFirstSleep;
    }
    lock.unlock();
    if (Clock::now() - lastFound < kBusyFor) {
      sched_yield();
    } else {
      std::this_thread::sleep_for(sleep);
      sleep = std::min(kLongestSleep, sleep + sleep / 4);
    }
    lock.lock();
  }
}

} // namespace luthier::vgpu
