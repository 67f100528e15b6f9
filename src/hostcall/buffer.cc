#include "hostcall/buffer.h"

#include "amd_hostcall.h"

#include <bit>

namespace luthier::hostcall {

static_assert(kMaxPackets == AMD_HOSTCALL_MAX_PACKETS);

namespace {

Result<void> checkAddress(const void *memory) {
  if (!memory)
    return makeErrorCode(AMD_HOSTCALL_ERROR_NULLPTR, "the hostcall buffer is a null pointer");
  if (reinterpret_cast<uintptr_t>(memory) % kBufferAlignment != 0)
    return makeErrorCode(AMD_HOSTCALL_ERROR_INCORRECT_ALIGNMENT, "the hostcall buffer at {} is not aligned to {} bytes",
                         memory, kBufferAlignment);
  return {};
}

uint64_t headersOf(const void *memory) { return reinterpret_cast<uintptr_t>(memory) + sizeof(wire::Buffer); }

} // namespace

size_t bufferBytes(uint32_t packets) {
  if (packets == 0 || packets > kMaxPackets)
    return 0;
  return sizeof(wire::Buffer) + packets * (sizeof(wire::Header) + sizeof(wire::Payload));
}

uint64_t indexMask(uint32_t packets) { return std::bit_ceil(uint64_t{packets}) - 1; }

Result<void> initializeBuffer(void *memory, uint32_t packets) {
  LUTHIER_TRY(checkAddress(memory));
  if (bufferBytes(packets) == 0)
    return makeErrorCode(AMD_HOSTCALL_ERROR_INVALID_REQUEST, "a hostcall buffer has 1 to {} packets, not {}",
                         kMaxPackets, packets);
  auto *buffer = static_cast<wire::Buffer *>(memory);
  *buffer = {.headers = headersOf(memory),
             .payloads = headersOf(memory) + packets * sizeof(wire::Header),
             .doorbell = 0,
             .freeStack = 0,
             .readyStack = 0,
             .indexMask = indexMask(packets)};
  auto *headers = reinterpret_cast<wire::Header *>(buffer->headers);
  // All packets on the free stack, the last on top. Packet 0 with tag 0 would be the null pointer, so it starts with 1.
  uint64_t top = 0;
  for (uint32_t n = 0; n < packets; ++n) {
    headers[n] = {.next = top, .activeMask = 0, .service = 0, .control = 0};
    top = n == 0 ? buffer->indexMask + 1 : n;
  }
  buffer->freeStack = top;
  return {};
}

Result<void> initializeBuffer(void *memory, size_t bytes, uint32_t packets) {
  const size_t needed = bufferBytes(packets);
  if (needed > bytes)
    return makeErrorCode(AMD_HOSTCALL_ERROR_INVALID_REQUEST,
                         "a hostcall buffer of {} packets needs {} bytes of memory, and has {}", packets, needed,
                         bytes);
  return initializeBuffer(memory, packets);
}

Result<BufferView> BufferView::of(void *memory) {
  LUTHIER_TRY(checkAddress(memory));
  auto *buffer = static_cast<wire::Buffer *>(memory);
  const uint64_t headers = headersOf(memory), headerBytes = buffer->payloads - headers;
  const uint64_t packets = headerBytes / sizeof(wire::Header);
  if (buffer->headers != headers || buffer->payloads < headers || headerBytes % sizeof(wire::Header) != 0 ||
      packets == 0 || packets > kMaxPackets || buffer->indexMask != indexMask(static_cast<uint32_t>(packets)))
    return makeErrorCode(AMD_HOSTCALL_ERROR_INVALID_REQUEST,
                         "there is no initialised hostcall buffer at {}: its fields contradict each other", memory);
  BufferView view;
  view.buffer_ = buffer;
  view.headers_ = reinterpret_cast<wire::Header *>(headers);
  view.payloads_ = reinterpret_cast<wire::Payload *>(buffer->payloads);
  view.mask_ = buffer->indexMask;
  view.packets_ = static_cast<uint32_t>(packets);
  return view;
}

} // namespace luthier::hostcall
