// Whether this thread runs a callback of Luthier's users. Calls that a callback makes are not shown to callbacks.
#pragma once

#include <cstdint>
#include <utility>

namespace luthier::hsa {

class HeldWorks;

class CallbackScope {
public:
  CallbackScope() { number_ += depth_++ == 0; }
  ~CallbackScope() { --depth_; }
  CallbackScope(const CallbackScope &) = delete;
  CallbackScope &operator=(const CallbackScope &) = delete;

  static bool inside() { return depth_ > 0; }
  /// Of this thread's callbacks, those that it called inside others not counted.
  static uint64_t number() { return number_; }

  /// While callbacks look at packets: what waits for them to return. Null elsewhere.
  static HeldWorks *heldUp() { return heldUp_; }
  class HoldingUp {
  public:
    explicit HoldingUp(HeldWorks &works) : before_(std::exchange(heldUp_, &works)) {}
    ~HoldingUp() { heldUp_ = before_; }
    HoldingUp(const HoldingUp &) = delete;
    HoldingUp &operator=(const HoldingUp &) = delete;

  private:
    HeldWorks *before_;
  };

private:
  static inline thread_local int depth_ = 0;
  static inline thread_local uint64_t number_ = 0;
  static inline thread_local HeldWorks *heldUp_ = nullptr;
};

} // namespace luthier::hsa
