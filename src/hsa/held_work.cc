#include "hsa/held_work.h"

#include "support/log.h"
#include "support/thread.h"

#include <algorithm>

#include <pthread.h>

namespace luthier::hsa {

namespace {

constexpr int kLeastShare = 100; ///< of its time, one part of so many, that a callback is on a core if it does anything

} // namespace

HeldWorks::Holding::Holding(HeldWorks &all, HeldWork &work) : all_(all), work_(work) {
  pthread_getcpuclockid(pthread_self(), &clock_);
  std::lock_guard lock(all_.mutex_);
  const bool stuck = std::ranges::any_of(all_.holdings_, [](const Holding *other) { return other->released_; });
  all_.holdings_.push_back(this);
  if (all_.mayBlock())
    all_.changed_.notify_all();
  if (all_.waiting_ > 0 || stuck)
    all_.release(*this);
  atOnce_ = released_;
}

HeldWorks::Holding::~Holding() {
  std::lock_guard lock(all_.mutex_);
  std::erase(all_.holdings_, this);
}

HeldWorks::Waiting::Waiting(HeldWorks &all) : all_(all) {
  std::lock_guard lock(all_.mutex_);
  ++all_.waiting_;
  for (Holding *holding : all_.holdings_)
    all_.release(*holding);
}

HeldWorks::Waiting::~Waiting() {
  std::lock_guard lock(all_.mutex_);
  --all_.waiting_;
}

void HeldWorks::releaseAll() {
  std::lock_guard lock(mutex_);
  for (Holding *holding : holdings_)
    release(*holding);
}

HeldWorks::~HeldWorks() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (watcher_.joinable())
    watcher_.join();
}

void HeldWorks::noteBlockingCallbacks(bool on) {
  std::lock_guard lock(mutex_);
  mayBlock_ = on;
  changed_.notify_all();
  if (!on || watcher_.joinable())
    return;
  watcher_ = std::thread([this] {
    becomeInternalThread("luthier-held");
    std::unique_lock held(mutex_);
    while (!ending_)
      if (holdings_.empty() || !mayBlock())
        changed_.wait(held);
      else if (changed_.wait_for(held, patience_.short_ / 2) == std::cv_status::timeout)
        lookForStalled();
  });
}

void HeldWorks::releaseStalled() {
  const auto now = Clock::now();
  if (now < nextLook_.load(std::memory_order_relaxed))
    return;
  nextLook_.store(now + patience_.short_ / 4, std::memory_order_relaxed);
  std::lock_guard lock(mutex_);
  lookForStalled();
}

void HeldWorks::lookForStalled() {
  const auto now = Clock::now();
  const auto patience = mayBlock() ? patience_.short_ : patience_.usual;
  bool stalled = !holdings_.empty();
  for (Holding *holding : holdings_) {
    timespec spent = {};
    clock_gettime(holding->clock_, &spent);
    // A thread that waits for a lock may look at it from time to time.
    const auto busy = std::chrono::seconds(spent.tv_sec - holding->spent_.tv_sec) +
                      std::chrono::nanoseconds(spent.tv_nsec - holding->spent_.tv_nsec);
    if (busy * kLeastShare > now - holding->looked_)
      holding->progress_ = now;
    holding->spent_ = spent;
    holding->looked_ = now;
    stalled &= now - holding->progress_ >= patience;
  }
  if (!stalled)
    return;
  mayBlock_ = true;
  for (Holding *holding : holdings_)
    release(*holding);
}

void HeldWorks::release(Holding &holding) {
  if (holding.released_)
    return;
  holding.released_ = holding.work_.release();
  if (!toldUser_ && holding.released_ && tell_)
    tell_();
  else if (!toldUser_ && holding.released_)
    log::warn("a callback waits for the GPU: packets and completions that callbacks hold up go on without them, and "
              "kernels in these packets run unmodified");
  toldUser_ |= holding.released_;
}

bool PollDetector::isWaiting(uint64_t episode, uint64_t source, int64_t value) {
  if (episode_ != episode)
    answers_.clear();
  episode_ = episode;
  Answers &answers = answers_[source];
  answers.count = answers.count && answers.value == value ? answers.count + 1 : 1;
  answers.value = value;
  return answers.count >= kPatience;
}

} // namespace luthier::hsa
