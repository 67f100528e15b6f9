// The SDMA engine: copies, fills and signals from a byte ring, without shaders.
//
// The packets are those that ROCr emits on gfx9 (SDMA 4). Every address is checked against the GPU's page table; every
// bit of a packet means something here or must be 0. A packet that asks for anything else ends the process with the
// packet, the field and its value, since whoever waits for it would wait for ever.
#pragma once

#include "vgpu/queue/queue.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace luthier::vgpu {

class SdmaQueue : public Queue {
public:
  /// Read and write indices count bytes and never wrap; `doorbell` holds the write index last announced.
  SdmaQueue(uint64_t id, Device &device, QueueHost &host, void *ring, uint64_t ringBytes, uint64_t *readIndex,
            volatile uint64_t *doorbell);
  ~SdmaQueue() override;

protected:
  bool pending() const override;
  void run() override;

private:
  /// Words of the packet at hand, copied out of the ring, which it may wrap around.
  static constexpr size_t kMaxWords = 16;

  /// Runs the packet in `words`, of which the ring has `available` in all; gives its length in words, or 0 when the
  /// queue must stop.
  uint64_t process(const uint32_t (&words)[kMaxWords], uint64_t available);

  // Each gives false when the queue must stop.
  bool copyLinear(const uint32_t *words);
  /// Of COPY_LINEAR_RECT's words with Z and the pitch.
  struct RectLayout {
    uint8_t depthBits, pitchShift;
  };
  template <RectLayout Layout> bool copyRect(const uint32_t *words);
  bool fill(const uint32_t *words);
  bool fence(const uint32_t *words);
  bool trap(const uint32_t *words);
  bool pollMemory(const uint32_t *words);
  bool atomic(const uint32_t *words);
  bool timestamp(const uint32_t *words);
  bool cacheControl(const uint32_t *words);

  struct Format;
  static const Format kFormats[];

  /// The host address of guest memory, or null after reporting a fault.
  std::byte *access(uint64_t address, uint64_t size, bool write, const char *what);
  /// The same for a value that is read or written at once, and that must be aligned to its size.
  template <typename T> T *accessValue(const uint32_t *words, uint64_t address, bool write, const char *what);

  /// Ends the queue, and the process: `why` is what is wrong with the packet. Gives false.
  bool refuse(const uint32_t *words, std::string_view why);
  void end(std::string_view text);

  const std::byte *const ring_;
  const uint64_t ringBytes_;
  uint64_t *const readIndex_;
  volatile uint64_t *const doorbell_;
  std::atomic<uint64_t> next_{0};
  std::atomic<bool> failed_{false};
};

} // namespace luthier::vgpu
