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

uint64_t submit(const BufferView &buffer, uint32_t service, uint64_t mask, const wire::Payload &payload) {
  const uint64_t packet = popFree(buffer);
  if (packet == 0)
    return 0;
  wire::Header &header = *buffer.find(packet);
  header.service = service;
  header.activeMask = mask;
  __atomic_store_n(&header.control, wire::kReady, __ATOMIC_RELAXED);
  copyLanes(buffer.payload(header), payload, mask, wire::kWords);
  pushReady(buffer, packet);
  if (const uint64_t doorbell = __atomic_load_n(&buffer.shared().doorbell, __ATOMIC_ACQUIRE))
    ringMemory(doorbell);
  return packet;
}

bool isAnswered(const BufferView &buffer, uint64_t packet) {
  return !(__atomic_load_n(&buffer.find(packet)->control, __ATOMIC_ACQUIRE) & wire::kReady);
}

void collect(const BufferView &buffer, uint64_t packet, uint64_t mask, wire::Payload &payload) {
  copyLanes(payload, buffer.payload(*buffer.find(packet)), mask, 2);
  pushFree(buffer, packet);
}

bool produce(const BufferView &buffer, uint32_t service, uint64_t mask, wire::Payload &payload,
             const std::function<bool()> &giveUp) {
  const auto waitUntil = [&](const auto &condition) {
    for (Patience patience; !condition(); patience.wait())
      if (giveUp && giveUp())
        return false;
    return true;
  };
  uint64_t packet = 0;
  if (!waitUntil([&] { return (packet = submit(buffer, service, mask, payload)) != 0; }) ||
      !waitUntil([&] { return isAnswered(buffer, packet); }))
    return false;
  collect(buffer, packet, mask, payload);
  return true;
}

} // namespace luthier::hostcall
