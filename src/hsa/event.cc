#include "hsa/event.h"

namespace luthier::hsa {

EventBase::EventBase(std::function<void(bool)> changed) : changed_(std::move(changed)) {}

EventBase::~EventBase() = default;

Subscription EventBase::add(std::shared_ptr<const void> callback) {
  std::lock_guard lock(mutex_);
  const uint64_t id = ++lastId_;
  auto list = copy();
  list->push_back({id, std::move(callback)});
  publish(std::move(list));
  return Subscription([this, id] { remove(id); });
}

void EventBase::remove(uint64_t id) {
  std::lock_guard lock(mutex_);
  auto list = copy();
  std::erase_if(*list, [id](const Entry &entry) { return entry.id == id; });
  publish(std::move(list));
}

std::unique_ptr<EventBase::List> EventBase::copy() const {
  const List *list = current_.load(std::memory_order_relaxed);
  return list ? std::make_unique<List>(*list) : std::make_unique<List>();
}

void EventBase::publish(std::unique_ptr<List> list) {
  current_.store(list->empty() ? nullptr : list.get(), std::memory_order_release);
  if (changed_)
    changed_(!list->empty());
  lists_.push_back(std::move(list));
}

} // namespace luthier::hsa
