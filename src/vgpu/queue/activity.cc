#include "vgpu/queue/activity.h"

namespace luthier::vgpu {

// Sequentially consistent on both sides: either the notifier sees the waiter, or the waiter sees the new stamp.
void Activity::notify() {
  stamp_.fetch_add(1);
  if (waiters_.load() == 0)
    return;
  std::lock_guard lock(mutex_);
  changed_.notify_all();
}

void Activity::wait(uint64_t seen, std::chrono::microseconds limit) {
  waiters_.fetch_add(1);
  {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, limit, [&] { return stamp_.load() != seen; });
  }
  waiters_.fetch_sub(1);
}

} // namespace luthier::vgpu
