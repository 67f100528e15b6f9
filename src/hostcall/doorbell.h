// What a wave rings when it has pushed a packet, and what a consumer sleeps on.
//
// Where HSA is initialised, that is one of its signals: a ringing device interrupts the host. Elsewhere (no GPU, the
// virtual GPU without ROCr) it is memory of the same layout. Nothing interrupts anybody there, unless it is
// the host itself that rings; so a consumer never relies on being woken, and looks for itself after each timeout.
#pragma once

#include "luthier/hostcall_layout.h"
#include "support/result.h"

#include <chrono>
#include <cstdint>
#include <memory>

namespace luthier::hostcall {

class Doorbell {
public:
  /// An HSA signal if HSA is initialised, otherwise a signal in `memory` (sizeof(wire::Signal) bytes, 64-byte aligned)
  /// or, without any, in memory of the library's own. With `memory`, HSA is not asked.
  static Result<std::unique_ptr<Doorbell>> create(void *memory = nullptr);
  virtual ~Doorbell() = default;

  virtual uint64_t handle() const = 0; ///< what the buffer's field wants
  virtual uint64_t value() const = 0;
  virtual void ring() = 0;
  /// Returns when the value is not `seen` any more, at the latest after about `timeout`.
  virtual void sleep(uint64_t seen, std::chrono::microseconds timeout) = 0;
  /// Somebody may ring even after the doorbell is gone: its memory stays.
  virtual void abandon() = 0;
};

/// Rings the doorbell of a buffer, if it is one in memory.
void ringMemory(uint64_t handle);

/// Null when HSA is not in this process or not initialised (doorbell_hsa.cc).
std::unique_ptr<Doorbell> createHsaDoorbell();

} // namespace luthier::hostcall
