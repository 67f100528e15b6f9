// A wave's side of hostcall, on the host: what device code does, for tests, benchmarks, and threads of the host that
// want what kernels have. luthier/hostcall.h is the same for devices.
#pragma once

#include "hostcall/buffer.h"

#include <functional>

namespace luthier::hostcall {

/// Calls a service for the lanes of `mask`; `payload` has their words, and their answers on return (two words of each).
/// Waits for a free packet and for the consumer. The buffer's doorbell is one in memory, or there is none yet.
/// Any number of threads may call at once. `giveUp` ends the wait for the consumer: false, and the packet is lost.
bool produce(const BufferView &buffer, uint32_t service, uint64_t mask, wire::Payload &payload,
             const std::function<bool()> &giveUp = {});

} // namespace luthier::hostcall
