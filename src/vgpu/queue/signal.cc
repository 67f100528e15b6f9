#include "vgpu/queue/signal.h"

#include "vgpu/queue/activity.h"
#include "vgpu/wave/device.h"

namespace luthier::vgpu {

namespace {

struct Mailbox {
  uint64_t address;
  uint32_t eventId;
};

// Read before the value changes: the application may recycle the signal as soon as it sees the new value.
Mailbox mailboxOf(const amd_signal_t &signal) { return {signal.event_mailbox_ptr, signal.event_id}; }

void raise(QueueHost &host, const Mailbox &mailbox) {
  if (mailbox.address != 0)
    host.signalEvent(mailbox.eventId);
  host.activity().notify();
}

} // namespace

bool signalMapped(const Device &device, hsa_signal_t handle) {
  return handle.handle % alignof(amd_signal_t) == 0 &&
         device.memory().mapped(handle.handle, sizeof(amd_signal_t), device.mask());
}

int64_t loadSignal(hsa_signal_t handle) { return shared(signalAt(handle)->value).load(std::memory_order_acquire); }

void storeSignal(QueueHost &host, hsa_signal_t handle, int64_t value) {
  amd_signal_t &signal = *signalAt(handle);
  Mailbox mailbox = mailboxOf(signal);
  shared(signal.value).store(value, std::memory_order_release);
  raise(host, mailbox);
}

void completeSignal(QueueHost &host, hsa_signal_t handle, uint64_t start, uint64_t end) {
  if (handle.handle == 0)
    return;
  amd_signal_t &signal = *signalAt(handle);
  if (signal.kind != AMD_SIGNAL_KIND_USER)
    return;
  shared(signal.start_ts).store(start, std::memory_order_relaxed);
  shared(signal.end_ts).store(end, std::memory_order_relaxed);
  Mailbox mailbox = mailboxOf(signal);
  shared(signal.value).fetch_sub(1, std::memory_order_acq_rel);
  raise(host, mailbox);
}

} // namespace luthier::vgpu
