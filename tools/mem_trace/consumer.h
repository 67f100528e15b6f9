// The host's end of the ring: takes records out in the order of their tickets.
//
// The ring is memory that kernels can write to, and not only through our hooks. So nothing in it is trusted: a record
// is copied before it is looked at, and one of a site that does not exist is counted as damaged and not passed on.
#pragma once

#include "ring.h"

#include <atomic>
#include <cstring>

namespace mem_trace {

class Consumer {
public:
  /// Of a ring that is zero but for `free`. `mask` is the number of its slots, a power of two, minus 1.
  Consumer(Ring &ring, uint32_t mask) : ring_(&ring), mask_(mask) {}

  /// Takes what there is, `most` records at once, and gives their slots back. Calls `use` with each record of one of
  /// the sites 0 to `sites` - 1. Returns the number of slots.
  template <class Use> int32_t take(size_t sites, int32_t most, Use use) {
    int32_t taken = 0;
    for (; taken < most; ++taken, ++tail_) {
      Slot &slot = ring_->slots[tail_ & mask_];
      if (std::atomic_ref(slot.sequence).load(std::memory_order_acquire) != tail_ + 1)
        break;
      Slot record;
      std::memcpy(&record, &slot, sizeof record);
      if (record.site < sites)
        use(record);
      else
        ++damaged_;
    }
    if (taken)
      std::atomic_ref(ring_->free).fetch_add(taken);
    return taken;
  }

  /// Tickets that were drawn and whose records have not been taken.
  uint32_t outstanding() const { return std::atomic_ref(ring_->next).load() - tail_; }
  uint64_t damaged() const { return damaged_; }
  uint64_t dropped() const { return std::atomic_ref(ring_->lost).load(); }

  /// Tells the hooks that nobody takes records any more.
  void stop() { std::atomic_ref(ring_->stopped).store(1); }

private:
  Ring *ring_;
  uint32_t mask_;
  uint32_t tail_ = 0; ///< ticket of the next record
  uint64_t damaged_ = 0;
};

} // namespace mem_trace
