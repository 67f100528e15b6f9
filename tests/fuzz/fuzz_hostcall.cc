// Hostcall buffers that a device has overwritten: whatever is in them, the consumer reads nothing outside, and goes on.
//
// The buffer is exactly as large as it must be, in memory of its own, so that AddressSanitizer sees every step beyond.
// A consumer runs all the time; each input is written over a registered buffer, headers and payloads included. Only the
// function-call service is off: it calls what the device names, and that is its purpose.

#include "hostcall/consumer.h"
#include "hostcall/printf.h"
#include "hostcall/producer.h"
#include "hostcall/stacks.h"

#include <cstdlib>
#include <cstring>

using namespace luthier;
using namespace luthier::hostcall;

namespace {

constexpr uint32_t kEcho = 42;

/// A consumer whose life shows in a buffer of its own.
struct Rig {
  Services services;
  std::unique_ptr<Consumer> consumer;
  void *intact = malloc(bufferBytes(1));

  Rig() {
    const auto accept = [](void *, uint32_t service, uint64_t *payload) {
      if (service == kEcho)
        payload[1] = payload[0];
      return 0;
    };
    (void)*services.add(wire::kDefault, accept, nullptr);
    consumer =
        *Consumer::create({.services = &services,
                           .functionCalls = false,
                           .onError = [](int, const std::string &) {},
                           .print = [](uint64_t, const std::string &text) { return static_cast<int>(text.size()); }});
    if (!consumer->launch() || !initializeBuffer(intact, 1) || !consumer->registerBuffer(intact))
      abort();
  }

  /// Answers, unless it hangs or is gone.
  void expectAlive() {
    wire::Payload payload;
    payload.slots[0][0] = 4711;
    if (!produce(*BufferView::of(intact), kEcho, 1, payload) || payload.slots[0][1] != 4711)
      abort();
  }
};

/// Takes bytes from the input, zeros behind its end.
struct Input {
  const uint8_t *data;
  size_t size;
  template <class T> T take() {
    T value = {};
    const size_t count = std::min(size, sizeof value);
    memcpy(&value, data, count);
    data += count;
    size -= count;
    return value;
  }
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static Rig *const rig = new Rig;
  Input input{data, size};
  const uint32_t packets = 1 + input.take<uint8_t>() % 5;
  const uint8_t flags = input.take<uint8_t>();
  void *memory = malloc(bufferBytes(packets));
  memset(memory, 0, bufferBytes(packets));
  if (!initializeBuffer(memory, packets))
    abort();
  const BufferView view = *BufferView::of(memory);

  // What a wave has written: per packet a header, and words for some lanes.
  for (uint32_t n = 0; n < packets; ++n) {
    wire::Header &header = *view.find(n);
    header.next = input.take<uint64_t>();
    header.activeMask = input.take<uint64_t>();
    header.service = flags & 1 ? uint32_t{wire::kPrintf} : input.take<uint32_t>();
    header.control = flags & 2 ? wire::kReady : input.take<uint32_t>();
    for (unsigned lane = 0; lane < 2; ++lane)
      for (uint64_t &word : view.payload(header).slots[lane])
        word = input.take<uint64_t>();
  }
  view.shared().readyStack = input.take<uint64_t>();
  if (flags & 4) // before it is registered: refused, or understood
    for (uint64_t *field : {&view.shared().headers, &view.shared().payloads, &view.shared().indexMask}) {
      // A smaller number of packets cannot be told from the truth, a larger one with the same mask neither.
      const uint64_t value = input.take<uint64_t>();
      if (field != &view.shared().payloads || value <= view.shared().payloads)
        *field = value;
    }

  if (rig->consumer->registerBuffer(memory)) {
    if (flags & 8) { // and after
      view.shared().headers = input.take<uint64_t>();
      view.shared().payloads = input.take<uint64_t>();
      view.shared().indexMask = input.take<uint64_t>();
    }
    rig->expectAlive();
    rig->expectAlive(); // the buffer has been looked at before the second answer
    if (!rig->consumer->deregisterBuffer(memory))
      abort();
  }
  free(memory);

  // And the text of printf by itself, which takes longer formats.
  const size_t words = (size + 7) / 8;
  auto *copy = static_cast<uint64_t *>(calloc(words ? words : 1, 8)); // no more than the words
  memcpy(copy, data, size);
  (void)formatMessage({copy, words});
  free(copy);
  return 0;
}
