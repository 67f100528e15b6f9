// What waits for callbacks, and how it goes on when a callback itself waits for the GPU.
//
// Packets are kept from the hardware while callbacks look at them, and an application is not told of a completion
// before callbacks were. A callback that waits for the GPU, by HSA or by HIP, may so wait for itself; or for what
// another thread's callback holds up, which waits for a lock that the first one has. So as soon as a thread waits
// inside a callback, everything that is held up goes on without its callbacks, and so does what comes while it waits.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
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
  /// Holds up `work` for as long as it lives. Is somebody waiting, it is released at once.
  class Holding {
  public:
    Holding(HeldWorks &all, HeldWork &work);
    ~Holding();
    Holding(const Holding &) = delete;
    Holding &operator=(const Holding &) = delete;

  private:
    friend HeldWorks;
    HeldWorks &all_;
    HeldWork &work_;
    bool released_ = false;
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

private:
  void release(Holding &holding);

  std::mutex mutex_; ///< guards what follows
  std::vector<Holding *> holdings_;
  unsigned waiting_ = 0;
  bool toldUser_ = false;
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
