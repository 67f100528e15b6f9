// A hostcall buffer in plain memory, with exactly the bytes that it needs, so that AddressSanitizer sees what is
// outside.
#pragma once

#include "hostcall/buffer.h"
#include "hostcall/producer.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

namespace luthier::hostcall {

class HostBuffer {
public:
  explicit HostBuffer(uint32_t packets) : memory_(calloc(1, bufferBytes(packets)), free) {
    EXPECT_TRUE(initializeBuffer(memory_.get(), packets));
    auto view = BufferView::of(memory_.get());
    EXPECT_TRUE(view);
    view_ = *view;
  }

  void *memory() const { return memory_.get(); }
  const BufferView &view() const { return view_; }
  wire::Buffer &shared() const { return view_.shared(); }
  wire::Header &header(uint32_t index) const { return *view_.find(index); }

  /// Frees the memory, as a client does who has deregistered the buffer.
  void release() { memory_.reset(); }

private:
  std::unique_ptr<void, void (*)(void *)> memory_;
  BufferView view_;
};

/// One lane's call: its answer's first word.
inline uint64_t callOneLane(const BufferView &buffer, uint32_t service, uint64_t argument, unsigned lane = 0) {
  wire::Payload payload = {};
  payload.slots[lane][0] = argument;
  EXPECT_TRUE(produce(buffer, service, uint64_t{1} << lane, payload));
  return payload.slots[lane][0];
}

} // namespace luthier::hostcall
