#include "vgpu/wave/in_flight.h"

namespace luthier::vgpu {

void InFlight::Queue::push(const Operation &operation) {
  if (count == kMost)
    pop();
  ring[(first + count) % kMost] = operation;
  ++count;
  unordered += !operation.ordered;
}

void InFlight::Queue::pop() {
  unordered -= !ring[first].ordered;
  first = (first + 1) % kMost;
  --count;
}

void InFlight::Queue::waitFor(unsigned left) {
  if (left != 0 && unordered != 0)
    return;
  while (count > left)
    pop();
}

void InFlight::issue(uint32_t number, const Operands &operands, const isa::Target &target, Effect vector,
                     Effect local) {
  const MemorySpace space = operands.space;
  const bool flat = space == MemorySpace::Flat;
  const bool ordered = isDoneInOrder(space, target);
  for (unsigned n = 0; n < kCounters; ++n) {
    const auto counter = static_cast<Counter>(n);
    if (!contains(operands.counters, counter))
      continue;
    const bool isVector = counter == Counter::Vector || counter == Counter::Store;
    queues_[n].push({number, flat ? (isVector ? vector : local) : vector | local, ordered});
  }
}

void InFlight::wait(const WaitLimits &limits, uint32_t addend) {
  for (unsigned n = 0; n < kCounters; ++n)
    if (limits.most[n] != WaitLimits::kAny)
      queues_[n].waitFor(limits.most[n] + addend);
}

uint32_t InFlight::doneUpTo(Effect effect, uint32_t issued) const {
  uint32_t done = issued;
  pending(effect, [&](uint32_t number) { done = std::min(done, number - 1); });
  return done;
}

} // namespace luthier::vgpu
