#include "hostcall/stacks.h"

namespace luthier::hostcall {

namespace {

void push(const BufferView &buffer, uint64_t &stack, wire::Header &last, uint64_t pointer) {
  uint64_t top = __atomic_load_n(&stack, __ATOMIC_RELAXED);
  do
    __atomic_store_n(&last.next, top, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(&stack, &top, pointer, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

} // namespace

uint64_t takeReady(const BufferView &buffer) {
  uint64_t &stack = buffer.shared().readyStack;
  // Looking is cheap; exchanging takes the cache line away from those who push.
  return __atomic_load_n(&stack, __ATOMIC_RELAXED) ? __atomic_exchange_n(&stack, 0, __ATOMIC_ACQUIRE) : 0;
}

bool handBack(const BufferView &buffer, uint64_t chain) {
  Chain packets(buffer, chain);
  wire::Header *last = nullptr;
  while (wire::Header *packet = packets.next())
    last = packet;
  if (packets.end() != Chain::End::Null)
    return false;
  if (last)
    push(buffer, buffer.shared().readyStack, *last, chain);
  return true;
}

void pushReady(const BufferView &buffer, uint64_t pointer) {
  if (wire::Header *header = buffer.find(pointer))
    push(buffer, buffer.shared().readyStack, *header, pointer);
}

void pushFree(const BufferView &buffer, uint64_t pointer) {
  const uint64_t one = buffer.mask() + 1;
  pointer += one;
  if (pointer == 0) // packet 0, and its tag has wrapped around: that would be the null pointer
    pointer = one;
  if (wire::Header *header = buffer.find(pointer))
    push(buffer, buffer.shared().freeStack, *header, pointer);
}

uint64_t popFree(const BufferView &buffer) {
  uint64_t &stack = buffer.shared().freeStack;
  uint64_t top = __atomic_load_n(&stack, __ATOMIC_ACQUIRE);
  while (const wire::Header *header = top ? buffer.find(top) : nullptr) {
    // Another may have popped the packet meanwhile, and `next` may mean anything; then the tags differ.
    const uint64_t next = __atomic_load_n(&header->next, __ATOMIC_RELAXED);
    if (__atomic_compare_exchange_n(&stack, &top, next, true, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))
      return top;
  }
  return 0;
}

wire::Header *Chain::next() {
  if (at_ == 0)
    return nullptr;
  wire::Header *header = buffer_.find(at_);
  if (!header || seen_ == buffer_.packets()) {
    end_ = header ? End::Endless : End::OutOfRange;
    return nullptr;
  }
  ++seen_;
  at_ = __atomic_load_n(&header->next, __ATOMIC_RELAXED);
  return header;
}

} // namespace luthier::hostcall
