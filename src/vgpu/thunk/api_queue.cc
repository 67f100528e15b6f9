// hsaKmt*: queues and events.
#include "vgpu/thunk/driver.h"

#include <hsakmt.h>

using luthier::vgpu::Driver;

namespace {

/// Without effect: every queue has a thread of its own.
bool validPriority(HSA_QUEUE_PRIORITY priority) {
  return priority >= HSA_QUEUE_PRIORITY_MINIMUM && priority <= HSA_QUEUE_PRIORITY_MAXIMUM;
}

} // namespace

extern "C" {

// The event is what the original thunk does not look at either.
HSAKMT_STATUS hsaKmtCreateQueue(HSAuint32 node, HSA_QUEUE_TYPE type, HSAuint32 percentage, HSA_QUEUE_PRIORITY priority,
                                void *ring, HSAuint64 bytes, HsaEvent *, HsaQueueResource *resource) {
  if (!validPriority(priority))
    return HSAKMT_STATUS_INVALID_PARAMETER;
  return Driver::get().queues->create(node, type, percentage, ring, bytes, resource);
}

HSAKMT_STATUS hsaKmtUpdateQueue(HSA_QUEUEID id, HSAuint32 percentage, HSA_QUEUE_PRIORITY priority, void *ring,
                                HSAuint64 bytes, HsaEvent *) {
  if (!validPriority(priority))
    return HSAKMT_STATUS_INVALID_PARAMETER;
  return Driver::get().queues->update(id, percentage, ring, bytes);
}

HSAKMT_STATUS hsaKmtDestroyQueue(HSA_QUEUEID id) { return Driver::get().queues->destroy(id); }

HSAKMT_STATUS hsaKmtSetQueueCUMask(HSA_QUEUEID id, HSAuint32 bits, HSAuint32 *mask) {
  return Driver::get().queues->setCuMask(id, bits, mask);
}

HSAKMT_STATUS hsaKmtAllocQueueGWS(HSA_QUEUEID id, HSAuint32 count, HSAuint32 *first) {
  return Driver::get().queues->allocateGws(id, count, first);
}

HSAKMT_STATUS hsaKmtCreateEvent(HsaEventDescriptor *descriptor, bool manualReset, bool set, HsaEvent **event) {
  if (!descriptor || !event)
    return HSAKMT_STATUS_INVALID_PARAMETER;
  *event = nullptr;
  return Driver::get().events->create(*descriptor, manualReset, set, event);
}

HSAKMT_STATUS hsaKmtDestroyEvent(HsaEvent *event) { return Driver::get().events->destroy(event); }

// ROCr calls this for every store to a signal that has an event: packets may be waiting for the value.
HSAKMT_STATUS hsaKmtSetEvent(HsaEvent *event) {
  const HSAKMT_STATUS status = Driver::get().events->set(event);
  Driver::get().activity().notify();
  return status;
}

HSAKMT_STATUS hsaKmtResetEvent(HsaEvent *event) { return Driver::get().events->reset(event); }

HSAKMT_STATUS hsaKmtQueryEventState(HsaEvent *event) {
  return event ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_HANDLE;
}

HSAKMT_STATUS hsaKmtWaitOnEvent(HsaEvent *event, HSAuint32 milliseconds) {
  return event ? Driver::get().events->wait({&event, 1}, true, milliseconds) : HSAKMT_STATUS_INVALID_HANDLE;
}

HSAKMT_STATUS hsaKmtWaitOnMultipleEvents(HsaEvent *events[], HSAuint32 count, bool all, HSAuint32 milliseconds) {
  return events ? Driver::get().events->wait({events, count}, all, milliseconds) : HSAKMT_STATUS_INVALID_HANDLE;
}

} // extern "C"
