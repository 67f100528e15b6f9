// The SDMA engine: copies, fills and signals from a byte ring, without shaders.
//
// The packets are those that ROCr 5 emits on gfx9 (SDMA 4). Every address is checked against the GPU's page table; a
// packet that we do not know ends the process with its opcode, since whoever waits for it would wait for ever.
#pragma once

#include "vgpu/queue/queue.h"

#include <cstddef>
#include <cstdint>
#include <span>

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

  /// Runs one packet of at most `available` words; gives its length, or 0 when the queue must stop.
  size_t process(const uint32_t (&words)[kMaxWords], size_t available);

  // Each gives false when the queue must stop.
  bool copyLinear(const uint32_t *words);
  bool copyRect(const uint32_t *words);
  bool fill(const uint32_t *words);
  bool pollMemory(const uint32_t *words);
  bool atomic(const uint32_t *words);

  /// The host address of guest memory, or null after reporting a fault.
  std::byte *access(uint64_t address, uint64_t size, bool write, const char *what);
  void unknown(const uint32_t *words, const char *why);

  const std::byte *const ring_;
  const uint64_t ringBytes_;
  uint64_t *const readIndex_;
  volatile uint64_t *const doorbell_;
  std::atomic<uint64_t> next_{0};
  std::atomic<bool> failed_{false};
};

} // namespace luthier::vgpu
