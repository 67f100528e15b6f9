// What waits for callbacks, and how it goes on when a callback itself waits for the GPU.
//
// Packets are kept from the hardware while callbacks look at them, and an application is not told of a completion
// before callbacks were. A callback that waits for the GPU, by HSA or by HIP, may so wait for itself; or for what
// another thread's callback holds up, which waits for a lock that the first one has. So as soon as a thread waits
// inside a callback, everything that is held up goes on without its callbacks, and so does what comes while it waits.
//
// A callback that calls HIP may also block on a lock of HIP's, whose owner, a thread of the application, waits for what
// the callback holds up. Nothing tells such a lock from honest work but that it never ends: threads that wait outside
// of callbacks look from time to time whether any callback makes progress, and when callbacks are known to call HIP, a
// thread of ours does.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <ctime>
#include <functional>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

namespace luthier::hsa {

/// Something that callbacks hold up.
class HeldWork {
public:
  /// Lets it go on without the callbacks. Called from any thread, until it was true once; must not call callbacks or
  /// wait. False: this cannot be done on this thread.
  virtual bool release() = 0;

protected:
  ~HeldWork() = default;
};

/// All of the process.
class HeldWorks {
public:
  using Clock = std::chrono::steady_clock;
  /// How long callbacks may do nothing at all while somebody waits for what they may hold up: usually (they may wait
  /// for a compiler), and when it is known that they may block.
  struct Patience {
    Clock::duration usual = std::chrono::seconds(5), short_ = std::chrono::milliseconds(250);
  };
  HeldWorks() : HeldWorks(Patience()) {}
  explicit HeldWorks(Patience patience) : patience_(patience) {}
  ~HeldWorks();

  /// Holds up `work` for as long as it lives. It is released at once if somebody waits inside a callback, or is still
  /// in a callback whose work had to be released.
  class Holding {
  public:
    Holding(HeldWorks &all, HeldWork &work);
    ~Holding();
    Holding(const Holding &) = delete;
    Holding &operator=(const Holding &) = delete;
    bool atOnce() const { return atOnce_; } ///< it was never held up

  private:
    friend HeldWorks;
    HeldWorks &all_;
    HeldWork &work_;
    bool released_ = false, atOnce_ = false;
    clockid_t clock_ = {}; ///< of the time that the thread has spent on a core
    timespec spent_ = {};
    Clock::time_point looked_ = Clock::now();   ///< when that was
    Clock::time_point progress_ = Clock::now(); ///< when the thread was last seen to do anything
  };

  /// This thread waits inside a callback for as long as it lives. Nothing is held up meanwhile.
  class Waiting {
  public:
    explicit Waiting(HeldWorks &all);
    ~Waiting();
    Waiting(const Waiting &) = delete;
    Waiting &operator=(const Waiting &) = delete;

  private:
    HeldWorks &all_;
  };

  /// Releases what is held up now.
  void releaseAll();
  /// Callbacks call HSA or HIP, so that they may block. For good, unless `on` is false.
  void noteBlockingCallbacks(bool on);
  bool mayBlock() const { return mayBlock_.load(std::memory_order_relaxed); }
  /// For a thread that waits outside of callbacks: releases what is held up by threads that have all come to a stop.
  /// Cheap when called often.
  void releaseStalled();

  /// Called, instead of a message to the user, when something is released for the first time, on the thread that waits.
  /// Must not wait itself.
  void onFirstRelease(std::function<void()> tell) { tell_ = std::move(tell); }

private:
  void release(Holding &holding);
  void lookForStalled();

  std::function<void()> tell_;
  std::atomic<Clock::time_point> nextLook_ = Clock::time_point();
  std::mutex mutex_; ///< guards what follows
  std::condition_variable changed_;
  std::thread watcher_;
  bool ending_ = false;
  std::vector<Holding *> holdings_;
  unsigned waiting_ = 0;
  bool toldUser_ = false;
  std::atomic<bool> mayBlock_ = false;
  const Patience patience_;
};

/// Tells looking from waiting: a thread that keeps reading one value which does not change waits for it to change.
class PollDetector {
public:
  static constexpr unsigned kPatience = 64; ///< equal answers in a row

  /// `episode` is a number of the callback: a new one starts from nothing.
  bool isWaiting(uint64_t episode, uint64_t source, int64_t value);

private:
  struct Answers {
    int64_t value = 0;
    unsigned count = 0;
  };
  uint64_t episode_ = 0;
  std::unordered_map<uint64_t, Answers> answers_; ///< by what was read
};

} // namespace luthier::hsa
