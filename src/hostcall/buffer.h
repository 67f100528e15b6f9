// A hostcall buffer, seen from the host, which trusts nothing that a device can overwrite.
//
// Where the packets are and how many there are is read once, when the buffer is registered, and checked; afterwards
// only this copy is used. Every index that comes out of the buffer goes through `find`.
#pragma once

#include "luthier/hostcall_layout.h"
#include "support/result.h"

#include <cstddef>
#include <cstdint>

namespace luthier::hostcall {

inline constexpr uint32_t kMaxPackets = 0x100000;
inline constexpr uint32_t kBufferAlignment = alignof(wire::Buffer);

/// Bytes of a buffer with that many packets; 0 where that number is not possible.
size_t bufferBytes(uint32_t packets);

/// Tagged pointers to the same packet agree under this mask.
uint64_t indexMask(uint32_t packets);

/// Lays an empty buffer out in memory. The error's code is an amd_hostcall_error_t.
Result<void> initializeBuffer(void *memory, uint32_t packets);
/// The same, for callers that know how much memory there is.
Result<void> initializeBuffer(void *memory, size_t bytes, uint32_t packets);

/// Checked addresses of the parts of an initialised buffer.
class BufferView {
public:
  /// The error's code is an amd_hostcall_error_t.
  static Result<BufferView> of(void *memory);

  wire::Buffer &shared() const { return *buffer_; }
  uint32_t packets() const { return packets_; }
  uint64_t mask() const { return mask_; }

  /// The packet of a tagged pointer; null when there is no such packet.
  wire::Header *find(uint64_t pointer) const {
    const uint64_t index = pointer & mask_;
    return index < packets_ ? headers_ + index : nullptr;
  }
  wire::Payload &payload(const wire::Header &header) const { return payloads_[&header - headers_]; }

private:
  wire::Buffer *buffer_ = nullptr;
  wire::Header *headers_ = nullptr;
  wire::Payload *payloads_ = nullptr;
  uint64_t mask_ = 0;
  uint32_t packets_ = 0;
};

} // namespace luthier::hostcall
