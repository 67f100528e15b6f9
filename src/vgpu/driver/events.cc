#include "vgpu/driver/events.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>

namespace luthier::vgpu {

namespace {

constexpr uint64_t kEmptyMailbox = ~0ull;

} // namespace

// One call to wait(), on its caller's stack while it lasts.
struct EventTable::Waiter {
  std::condition_variable wake;
  struct Entry {
    Event *event = nullptr;
    bool activated = false;
    bool destroyed = false;
    bool wantsAge = false;
    std::optional<MemoryFault> fault = std::nullopt;
  };
  std::vector<Entry> entries;

  bool satisfied(bool all) const {
    if (std::ranges::any_of(entries, &Entry::destroyed))
      return true; // what is not there any more cannot be waited for
    auto isActivated = [](const Entry &entry) { return entry.activated; };
    return all ? std::ranges::all_of(entries, isActivated) : std::ranges::any_of(entries, isActivated);
  }
};

struct EventTable::Event {
  uint32_t type = 0;
  bool autoReset = false;
  bool isSet = false;
  uint64_t age = 1;
  std::optional<MemoryFault> fault;
  std::vector<Waiter *> waiters;
};

EventTable::EventTable(uint64_t *ownMailboxes)
    : ownMailboxes_(ownMailboxes), mailboxes_(ownMailboxes), mailboxAddress_(reinterpret_cast<uint64_t>(ownMailboxes)) {
}
EventTable::~EventTable() = default;

bool EventTable::isSignal(uint32_t type) {
  return type == static_cast<uint32_t>(kfd::EventType::Signal) || type == static_cast<uint32_t>(kfd::EventType::Debug);
}

void EventTable::setMailboxes(uint64_t *mailboxes, uint64_t address) {
  std::lock_guard lock(mutex_);
  mailboxes_ = mailboxes ? mailboxes : ownMailboxes_;
  mailboxAddress_ = mailboxes ? address : reinterpret_cast<uint64_t>(ownMailboxes_);
  for (uint32_t id = 0; id < nextId_; ++id)
    emptyMailbox(id);
}

bool EventTable::isMailbox(uint64_t address) {
  std::lock_guard lock(mutex_);
  return address - mailboxAddress_ < kMailboxBytes;
}

EventTable::Event *EventTable::find(uint32_t id) {
  auto found = events_.find(id);
  return found == events_.end() ? nullptr : found->second.get();
}

void EventTable::emptyMailbox(uint32_t id) const {
  std::atomic_ref(mailboxes_[id]).store(kEmptyMailbox, std::memory_order_relaxed);
}

int EventTable::create(uint32_t type, bool autoReset, uint32_t &id) {
  if (type >= static_cast<uint32_t>(kfd::EventType::Count))
    return EINVAL;
  std::lock_guard lock(mutex_);
  if (!isSignal(type)) {
    id = nextSystemId_++;
  } else if (!freeIds_.empty()) {
    id = *freeIds_.begin();
    freeIds_.erase(freeIds_.begin());
  } else if (nextId_ < kMaxSignalEvents) {
    id = nextId_++;
  } else {
    return ENOSPC;
  }
  if (isSignal(type))
    emptyMailbox(id);
  auto made = std::make_unique<Event>();
  made->type = type;
  made->autoReset = autoReset;
  events_.emplace(id, std::move(made));
  return 0;
}

int EventTable::destroy(uint32_t id) {
  std::lock_guard lock(mutex_);
  Event *event = find(id);
  if (!event)
    return EINVAL;
  for (Waiter *waiter : event->waiters) {
    for (Waiter::Entry &entry : waiter->entries)
      if (entry.event == event) {
        entry.event = nullptr;
        entry.destroyed = true;
      }
    waiter->wake.notify_one();
  }
  if (isSignal(event->type)) {
    emptyMailbox(id);
    freeIds_.insert(id);
  }
  events_.erase(id);
  return 0;
}

void EventTable::setLocked(Event &event) {
  event.isSet = !event.autoReset || event.waiters.empty();
  if (++event.age == 0)
    event.age = 2; // 0 says "no age", 1 "never set"
  for (Waiter *waiter : event.waiters) {
    for (Waiter::Entry &entry : waiter->entries)
      if (entry.event == &event) {
        entry.activated = true;
        entry.fault = event.fault;
      }
    waiter->wake.notify_one();
  }
}

int EventTable::set(uint32_t id) {
  std::lock_guard lock(mutex_);
  Event *event = find(id);
  if (!event || !isSignal(event->type))
    return EINVAL;
  setLocked(*event);
  return 0;
}

int EventTable::reset(uint32_t id) {
  std::lock_guard lock(mutex_);
  Event *event = find(id);
  if (!event || !isSignal(event->type))
    return EINVAL;
  event->isSet = false;
  return 0;
}

int EventTable::wait(std::span<kfd::EventData> events, bool all, uint32_t milliseconds, kfd::WaitResult &result) {
  Waiter waiter;
  waiter.entries.reserve(events.size());
  std::unique_lock lock(mutex_);
  for (const kfd::EventData &data : events) {
    Event *event = find(data.eventId);
    if (!event) {
      result = kfd::WaitResult::Failed;
      return EINVAL;
    }
    Waiter::Entry entry{event};
    entry.wantsAge = event->type == static_cast<uint32_t>(kfd::EventType::Signal) && data.signal.lastAge != 0;
    if (event->isSet || (entry.wantsAge && event->age != data.signal.lastAge)) {
      entry.activated = true;
      entry.fault = event->fault;
    }
    waiter.entries.push_back(entry);
  }
  if (!waiter.satisfied(all)) {
    for (Waiter::Entry &entry : waiter.entries)
      entry.event->waiters.push_back(&waiter);
    auto satisfied = [&] { return waiter.satisfied(all); };
    if (milliseconds == kfd::kWaitForever)
      waiter.wake.wait(lock, satisfied);
    else if (milliseconds != 0)
      waiter.wake.wait_until(lock, std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds),
                             satisfied);
    for (Waiter::Entry &entry : waiter.entries)
      if (entry.event)
        std::erase(entry.event->waiters, &waiter);
  }
  if (!waiter.satisfied(all)) {
    result = kfd::WaitResult::Timeout;
    return 0;
  }
  result = kfd::WaitResult::Complete;
  int error = 0;
  for (size_t n = 0; n < waiter.entries.size(); ++n) {
    const Waiter::Entry &entry = waiter.entries[n];
    if (entry.destroyed) {
      result = kfd::WaitResult::Failed;
      error = EIO;
    }
    if (!entry.event || !entry.activated)
      continue;
    if (entry.event->autoReset)
      entry.event->isSet = false;
    if (entry.wantsAge)
      events[n].signal.lastAge = entry.event->age;
    if (entry.event->type == static_cast<uint32_t>(kfd::EventType::Memory)) {
      events[n].memory = {};
      if (entry.fault) {
        events[n].memory.notPresent = entry.fault->notPresent;
        events[n].memory.readOnly = entry.fault->readOnly;
        events[n].memory.address = entry.fault->address;
        events[n].memory.gpuId = entry.fault->gpuId;
      }
    } else if (entry.event->type == static_cast<uint32_t>(kfd::EventType::HwException)) {
      events[n].hardware = {};
    }
  }
  return error;
}

void EventTable::signal(uint32_t id) {
  std::lock_guard lock(mutex_);
  if (Event *event = find(id)) {
    if (isSignal(event->type))
      emptyMailbox(id);
    setLocked(*event);
  }
}

bool EventTable::mailboxFull(uint32_t id) const {
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
      emptyMailbox(id);
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
    if (event->type == static_cast<uint32_t>(kfd::EventType::Memory)) {
      event->fault = fault;
      setLocked(*event);
      found = true;
    }
  return found;
}

} // namespace luthier::vgpu
