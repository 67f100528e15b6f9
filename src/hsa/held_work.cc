#include "hsa/held_work.h"

#include "support/log.h"

namespace luthier::hsa {

HeldWorks::Holding::Holding(HeldWorks &all, HeldWork &work) : all_(all), work_(work) {
  std::lock_guard lock(all_.mutex_);
  all_.holdings_.push_back(this);
  if (all_.waiting_ > 0)
    all_.release(*this);
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

void HeldWorks::release(Holding &holding) {
  if (holding.released_)
    return;
  holding.released_ = holding.work_.release();
  if (!toldUser_ && holding.released_)
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
