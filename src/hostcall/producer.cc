#include "hostcall/producer.h"

#include "hostcall/doorbell.h"
#include "hostcall/stacks.h"

#include <sched.h>
#include <unistd.h>

#include <bit>
#include <cstring>

namespace luthier::hostcall {

namespace {

/// Waits a little, and a little more if that was not enough.
class Patience {
public:
  void wait() {
    ++rounds_;
    if (rounds_ < kSpins)
      __builtin_ia32_pause();
    else if (rounds_ < kSpins + kYields)
      sched_yield();
    else
      usleep(kMicroseconds); // many threads that only yield would keep the consumer from running
  }

private:
  static constexpr int kSpins = 1000, kYields = 100, kMicroseconds = 100;
  int rounds_ = 0;
};

void copyLanes(wire::Payload &to, const wire::Payload &from, uint64_t mask, size_t words) {
  for (uint64_t lanes = mask; lanes; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    memcpy(to.slots[lane], from.slots[lane], words * sizeof(uint64_t));
  }
}

} // namespace

bool produce(const BufferView &buffer, uint32_t service, uint64_t mask, wire::Payload &payload,
             const std::function<bool()> &giveUp) {
  Patience free;
  uint64_t pointer;
  while ((pointer = popFree(buffer)) == 0) {
    if (giveUp && giveUp())
      return false;
    free.wait();
  }
  wire::Header &header = *buffer.find(pointer);
  header.service = service;
  header.activeMask = mask;
  __atomic_store_n(&header.control, wire::kReady, __ATOMIC_RELAXED);
  copyLanes(buffer.payload(header), payload, mask, wire::kWords);
  pushReady(buffer, pointer);
  if (const uint64_t doorbell = __atomic_load_n(&buffer.shared().doorbell, __ATOMIC_ACQUIRE))
    ringMemory(doorbell);
  Patience answer;
  while (__atomic_load_n(&header.control, __ATOMIC_ACQUIRE) & wire::kReady) {
    if (giveUp && giveUp())
      return false;
    answer.wait();
  }
  copyLanes(payload, buffer.payload(header), mask, 2);
  pushFree(buffer, pointer);
  return true;
}

} // namespace luthier::hostcall
