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

/// What events of all kinds have in common. There are hundreds of kinds, one for each HSA function, so it matters that
/// all this is compiled once.
class EventBase {
public:
  /// `changed` is called, under the event's lock, with whether there are callbacks now.
  explicit EventBase(std::function<void(bool)> changed = {});
  ~EventBase();

  bool empty() const { return current_.load(std::memory_order_relaxed) == nullptr; }

protected:
  struct Entry {
    uint64_t id;
    std::shared_ptr<const void> callback;
  };
  using List = std::vector<Entry>;

  Subscription add(std::shared_ptr<const void> callback);
  const List *current() const { return current_.load(std::memory_order_acquire); } ///< null: nobody listens

private:
  void remove(uint64_t id);
  std::unique_ptr<List> copy() const;
  void publish(std::unique_ptr<List> list);

  std::function<void(bool)> changed_;
  std::atomic<const List *> current_ = nullptr;
  std::mutex mutex_;
  uint64_t lastId_ = 0;
  std::vector<std::unique_ptr<List>> lists_;
};

template <class... Args> class Event : public EventBase {
public:
  using Callback = std::function<void(Args...)>;
  using EventBase::EventBase;

  Subscription subscribe(Callback callback) { return add(std::make_shared<const Callback>(std::move(callback))); }

  /// In the order of subscription.
  void raise(Args... args) const {
    if (const List *list = current())
      for (const Entry &entry : *list)
        (*static_cast<const Callback *>(entry.callback.get()))(args...);
  }
};

} // namespace luthier::hsa
