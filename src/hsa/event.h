// A list of callbacks that threads call while others change it.
//
// Events are raised on the hot paths of other people's processes and subscribed to a handful of times, so raising one
// reads a pointer to an immutable list and takes no lock. A list that was replaced is kept until the event is
// destroyed: somebody may still be walking it. For the same reason a callback may be called once more just after its
// subscription has ended, on another thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace luthier::hsa {

/// Ends a subscription when it is destroyed, unless it was told to `keep` it. The event must outlive it.
class [[nodiscard]] Subscription {
public:
  Subscription() = default;
  explicit Subscription(std::function<void()> end) : end_(std::move(end)) {}
  Subscription(Subscription &&other) noexcept : end_(std::exchange(other.end_, nullptr)) {}
  Subscription &operator=(Subscription &&other) noexcept {
    if (this != &other) {
      cancel();
      end_ = std::exchange(other.end_, nullptr);
    }
    return *this;
  }
  ~Subscription() { cancel(); }

  void cancel() {
    if (auto end = std::exchange(end_, nullptr))
      end();
  }
  /// For as long as the process lives.
  void keep() { end_ = nullptr; }

private:
  std::function<void()> end_;
};

template <class... Args> class Event {
public:
  using Callback = std::function<void(Args...)>;

  /// `changed` is called, under the event's lock, with whether there are callbacks now.
  explicit Event(std::function<void(bool)> changed = {}) : changed_(std::move(changed)) {}

  Subscription subscribe(Callback callback) {
    std::lock_guard lock(mutex_);
    const uint64_t id = ++lastId_;
    auto list = copy();
    list->push_back({id, std::move(callback)});
    publish(std::move(list));
    return Subscription([this, id] { remove(id); });
  }

  bool empty() const { return current_.load(std::memory_order_relaxed) == nullptr; }

  /// In the order of subscription.
  void raise(Args... args) const {
    if (const List *list = current_.load(std::memory_order_acquire))
      for (const Entry &entry : *list)
        entry.callback(args...);
  }

private:
  struct Entry {
    uint64_t id;
    Callback callback;
  };
  using List = std::vector<Entry>;

  std::unique_ptr<List> copy() const {
    const List *list = current_.load(std::memory_order_relaxed);
    return list ? std::make_unique<List>(*list) : std::make_unique<List>();
  }
  void publish(std::unique_ptr<List> list) {
    current_.store(list->empty() ? nullptr : list.get(), std::memory_order_release);
    if (changed_)
      changed_(!list->empty());
    lists_.push_back(std::move(list));
  }
  void remove(uint64_t id) {
    std::lock_guard lock(mutex_);
    auto list = copy();
    std::erase_if(*list, [id](const Entry &entry) { return entry.id == id; });
    publish(std::move(list));
  }

  std::function<void(bool)> changed_;
  std::atomic<const List *> current_ = nullptr;
  std::mutex mutex_;
  uint64_t lastId_ = 0;
  std::vector<std::unique_ptr<List>> lists_;
};

} // namespace luthier::hsa
