// HSA signals as the packet processor sees them (amd_signal_t in AMD's published headers).
#pragma once

#include "vgpu/queue/host.h"

#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa.h>

#include <atomic>
#include <cstdint>

namespace luthier::vgpu {

/// Memory that the guest or the host writes behind our back. The address must be mapped and aligned.
template <typename T> std::atomic_ref<T> shared(volatile T &location) {
  return std::atomic_ref<T>(const_cast<T &>(location));
}

inline amd_signal_t *signalAt(hsa_signal_t handle) { return reinterpret_cast<amd_signal_t *>(handle.handle); }

/// True when `device` may access the signal: a garbage handle is a memory fault, not a crash of the process.
bool signalMapped(const Device &device, hsa_signal_t handle);

int64_t loadSignal(hsa_signal_t handle);

/// Stores a value and sets the signal's event, if it has one.
void storeSignal(QueueHost &host, hsa_signal_t handle, int64_t value);

/// What a finished packet does: timestamps (in the clock of Device::clock()), decrement, event. Handle 0 is nothing.
void completeSignal(QueueHost &host, hsa_signal_t handle, uint64_t start, uint64_t end);

} // namespace luthier::vgpu
