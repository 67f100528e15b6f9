#include "vgpu/thunk/events.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>

namespace luthier::vgpu {

namespace {

constexpr uint64_t kEmptyMailbox = ~0ull;

bool isSignalType(HSA_EVENTTYPE type) { return type == HSA_EVENTTYPE_SIGNAL || type == HSA_EVENTTYPE_DEBUG_EVENT; }

} // namespace

// One call to wait(), on its caller's stack while it lasts.
struct EventTable::Waiter {
  std::condition_variable wake;
  struct Entry {
    Event *event = nullptr;
    bool activated = false;
    bool destroyed = false;
    std::optional<MemoryFault> fault = std::nullopt;
  };
  std::vector<Entry> entries;

  bool satisfied(bool all) const {
    auto isActivated = [](const Entry &entry) { return entry.activated; };
    return all ? std::ranges::all_of(entries, isActivated) : std::ranges::any_of(entries, isActivated);
  }
};

struct EventTable::Event {
  HsaEvent *handle;
  HSA_EVENTTYPE type;
  bool manualReset;
  bool isSet = false;
  std::optional<MemoryFault> fault;
  std::vector<Waiter *> waiters;
};

EventTable::EventTable(uint64_t *mailboxes) : mailboxes_(mailboxes) {}

EventTable::~EventTable() {
  for (auto &[id, event] : events_)
    delete event->handle;
}

EventTable::Event *EventTable::find(uint32_t id) {
  auto found = events_.find(id);
  return found == events_.end() ? nullptr : found->second.get();
}

HSAKMT_STATUS EventTable::create(const HsaEventDescriptor &descriptor, bool manualReset, bool set, HsaEvent **event) {
  if (descriptor.EventType >= HSA_EVENTTYPE_MAXID)
    return HSAKMT_STATUS_INVALID_PARAMETER;
  std::lock_guard lock(mutex_);
  uint32_t id;
  const bool isSignal = isSignalType(descriptor.EventType);
  if (!isSignal) {
    id = nextSystemId_++;
  } else if (!freeIds_.empty()) {
    id = *freeIds_.begin();
    freeIds_.erase(freeIds_.begin());
  } else if (nextId_ < kMaxSignalEvents) {
    id = nextId_++;
  } else {
    return HSAKMT_STATUS_ERROR;
  }
  auto *handle = new HsaEvent{};
  handle->EventId = id;
  handle->EventData.EventType = descriptor.EventType;
  handle->EventData.EventData.SyncVar = descriptor.SyncVar;
  handle->EventData.HWData1 = id;
  handle->EventData.HWData3 = id;
  if (isSignal) {
    std::atomic_ref(mailboxes_[id]).store(kEmptyMailbox);
    handle->EventData.HWData2 = reinterpret_cast<uint64_t>(&mailboxes_[id]);
  }
  auto made = std::make_unique<Event>();
  made->handle = handle;
  made->type = descriptor.EventType;
  made->manualReset = manualReset;
  made->isSet = set && isSignal;
  events_.emplace(id, std::move(made));
  *event = handle;
  return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS EventTable::destroy(HsaEvent *handle) {
  if (!handle)
    return HSAKMT_STATUS_INVALID_HANDLE;
  std::lock_guard lock(mutex_);
  const uint32_t id = handle->EventId;
  Event *event = find(id);
  if (!event || event->handle != handle)
    return HSAKMT_STATUS_ERROR;
  for (Waiter *waiter : event->waiters) {
    for (Waiter::Entry &entry : waiter->entries)
      if (entry.event == event) {
        entry.event = nullptr;
        entry.destroyed = true;
        entry.activated = true;
      }
    waiter->wake.notify_one();
  }
  if (isSignalType(event->type)) {
    std::atomic_ref(mailboxes_[id]).store(kEmptyMailbox);
    freeIds_.insert(id);
  }
  events_.erase(id);
  delete handle;
  return HSAKMT_STATUS_SUCCESS;
}

void EventTable::setLocked(Event &event) {
  event.isSet = event.manualReset || event.waiters.empty();
  for (Waiter *waiter : event.waiters) {
    for (Waiter::Entry &entry : waiter->entries)
      if (entry.event == &event) {
        entry.activated = true;
        entry.fault = event.fault;
      }
    waiter->wake.notify_one();
  }
}

HSAKMT_STATUS EventTable::set(const HsaEvent *handle) {
  if (!handle)
    return HSAKMT_STATUS_INVALID_HANDLE;
  std::lock_guard lock(mutex_);
  Event *event = find(handle->EventId);
  if (!event || !isSignalType(event->type))
    return HSAKMT_STATUS_ERROR;
  setLocked(*event);
  return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS EventTable::reset(const HsaEvent *handle) {
  if (!handle)
    return HSAKMT_STATUS_INVALID_HANDLE;
  std::lock_guard lock(mutex_);
  Event *event = find(handle->EventId);
  if (!event || !isSignalType(event->type))
    return HSAKMT_STATUS_ERROR;
  event->isSet = false;
  return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS EventTable::wait(std::span<HsaEvent *const> handles, bool all, uint32_t milliseconds) {
  Waiter waiter;
  waiter.entries.reserve(handles.size());
  std::unique_lock lock(mutex_);
  for (HsaEvent *handle : handles) {
    Event *event = handle ? find(handle->EventId) : nullptr;
    if (!event)
      return HSAKMT_STATUS_ERROR;
    Waiter::Entry entry{event};
    if (event->isSet) {
      entry.activated = true;
      entry.fault = event->fault;
    }
    waiter.entries.push_back(entry);
  }
  if (!waiter.satisfied(all)) {
    for (Waiter::Entry &entry : waiter.entries)
      entry.event->waiters.push_back(&waiter);
    auto satisfied = [&] { return waiter.satisfied(all); };
    if (milliseconds == HSA_EVENTTIMEOUT_INFINITE)
      waiter.wake.wait(lock, satisfied);
    else if (milliseconds != 0)
      waiter.wake.wait_until(lock, std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds),
                             satisfied);
    for (Waiter::Entry &entry : waiter.entries)
      if (entry.event)
        std::erase(entry.event->waiters, &waiter);
  }
  if (!waiter.satisfied(all))
    return HSAKMT_STATUS_WAIT_TIMEOUT;
  HSAKMT_STATUS result = HSAKMT_STATUS_SUCCESS;
  for (Waiter::Entry &entry : waiter.entries) {
    if (entry.destroyed)
      result = HSAKMT_STATUS_ERROR;
    if (!entry.event || !entry.activated)
      continue;
    if (!entry.event->manualReset)
      entry.event->isSet = false;
    if (entry.fault && entry.event->type == HSA_EVENTTYPE_MEMORY) {
      HsaMemoryAccessFault &fault = entry.event->handle->EventData.EventData.MemoryAccessFault;
      fault.NodeId = entry.fault->node;
      fault.VirtualAddress = entry.fault->address;
      fault.Failure.NotPresent = entry.fault->notPresent;
      fault.Failure.ReadOnly = entry.fault->readOnly;
      fault.Flags = HSA_EVENTID_MEMORY_FATAL_PROCESS;
    }
  }
  return result;
}

void EventTable::signal(uint32_t id) {
  std::lock_guard lock(mutex_);
  if (Event *event = find(id)) {
    if (isSignalType(event->type))
      std::atomic_ref(mailboxes_[id]).store(kEmptyMailbox, std::memory_order_relaxed);
    setLocked(*event);
  }
}

bool EventTable::mailboxFull(uint32_t id) {
  return std::atomic_ref(mailboxes_[id]).load(std::memory_order_acquire) != kEmptyMailbox;
}

void EventTable::interrupt(uint32_t m0) {
  constexpr uint32_t kIdBits = 0xff;
  std::lock_guard lock(mutex_);
  bool found = false;
  auto deliver = [&](bool needMailbox) {
    for (uint32_t id = m0 & kIdBits; id < nextId_; id += kIdBits + 1) {
      Event *event = find(id);
      if (!event || (needMailbox && !mailboxFull(id)))
        continue;
      std::atomic_ref(mailboxes_[id]).store(kEmptyMailbox);
      setLocked(*event);
      found = true;
    }
  };
  deliver(true);
  // No mailbox says which: a needless wake-up is harmless, a lost one is not.
  if (!found)
    deliver(false);
}

bool EventTable::raiseMemoryFault(const MemoryFault &fault) {
  std::lock_guard lock(mutex_);
  bool found = false;
  for (auto &[id, event] : events_)
    if (event->type == HSA_EVENTTYPE_MEMORY) {
      event->fault = fault;
      setLocked(*event);
      found = true;
    }
  return found;
}

} // namespace luthier::vgpu
