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

// The same in steps, for a thread that plays several waves.

/// Sends a packet and rings; 0 when there is no free one.
uint64_t submit(const BufferView &buffer, uint32_t service, uint64_t mask, const wire::Payload &payload);
/// Whether the packet that `submit` has returned is answered.
bool isAnswered(const BufferView &buffer, uint64_t packet);
/// Takes the answers, and gives the packet back.
void collect(const BufferView &buffer, uint64_t packet, uint64_t mask, wire::Payload &payload);

} // namespace luthier::hostcall
