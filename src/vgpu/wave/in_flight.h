// A wave's memory operations that may not be done yet, by the counters that they go through (counters.h).
//
// The interpreter executes operations at once. Whoever wants to know what another wave may rely on has to know which of
// them a wait has covered: the same rules as those of strict waits (waits.h), for places in memory instead of
// registers. Operations of a wave are numbered in the order of their issue.
#pragma once

#include "isa/target.h"
#include "vgpu/wave/operands.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace luthier::vgpu {

/// What an operation does that others may see. An operation can be more than one.
enum class Effect : uint8_t { None = 0, Lds = 1, Load = 2, Store = 4 };
constexpr Effect operator|(Effect a, Effect b) {
  return static_cast<Effect>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr bool operator&(Effect a, Effect b) { return static_cast<unsigned>(a) & static_cast<unsigned>(b); }

class InFlight {
public:
  /// The operation has been issued. Of FLAT, `vector` is what it does in memory and `local` what it does in LDS.
  void issue(uint32_t number, const Operands &operands, const isa::Target &target, Effect vector, Effect local);
  /// A wait is over. `addend` is the value of its register, if it names one.
  void wait(const WaitLimits &limits, uint32_t addend);

  /// The youngest operation up to which all of this kind are done; `issued` is the youngest of all.
  uint32_t doneUpTo(Effect effect, uint32_t issued) const;
  /// Calls `each` with the number of every operation of this kind that is not done.
  template <class Each> void pending(Effect effect, Each each) const {
    for (const Queue &queue : queues_)
      for (unsigned n = 0; n < queue.count; ++n)
        if (queue.at(n).effect & effect)
          each(queue.at(n).number);
  }

private:
  /// The most that a counter can say: hardware issues no more before the oldest is done.
  static constexpr unsigned kMost = 64;
  struct Operation {
    uint32_t number = 0;
    Effect effect = Effect::None;
    bool ordered = true;
  };
  struct Queue {
    std::array<Operation, kMost> ring;
    unsigned first = 0, count = 0, unordered = 0;
    const Operation &at(unsigned n) const { return ring[(first + n) % kMost]; }
    void push(const Operation &operation);
    void pop();
    void waitFor(unsigned left);
  };
  std::array<Queue, kCounters> queues_;
};

} // namespace luthier::vgpu
