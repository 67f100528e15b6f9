// Memory operations that may still be in flight before every instruction, and the registers they will write.
//
// Loads return when they like; an s_waitcnt makes sure of it. What a hook must know: a register that a load in flight
// will write is not free however dead it is, and counters can be neither read nor restored. This is a forward analysis
// with, per counter, an upper bound of the operations in flight, and for each register that one of them will write a
// lower bound of the operations issued behind it: s_waitcnt vmcnt(N) is done with all that have N or more behind them.
//
// What counts in which counter is in wait_events.h. Vector memory and LDS are in order; scalar memory, GDS, messages,
// FLAT and, from gfx10 to gfx11, images are in any order, so that with one of those in flight only a wait for 0 says
// anything. Exports and GDS read their sources late: these registers are busy too.
//
// Data of stores is read when the store issues on all targets from gfx7 on, so nothing but the count remains of one;
// scalar stores (gfx8, gfx9) are taken to read late. At a function's entry and behind a call of something unknown,
// anything may be in flight, into any register, until a wait for 0.
// An XNACK replay executes memory instructions of an unbroken run again: see analysis/replays.h.
#pragma once

#include "analysis/cfg.h"
#include "analysis/wait_events.h"
#include "isa/target.h"
#include "luthier/reg.h"

#include <array>
#include <functional>
#include <vector>

namespace luthier::analysis {

class WaitState {
public:
  static constexpr uint8_t kMany = 255; ///< no bound known

  /// Upper bound of the operations in flight.
  unsigned most(Counter counter) const { return counters_[static_cast<unsigned>(counter)].most; }
  bool idle() const;
  /// Those that something may be in flight on that writes registers, or still has to read some.
  CounterSet pending() const;
  /// Registers that operations in flight will write, or still have to read (exports, GDS, scalar stores).
  RegSet busy() const;
  /// Any register may be busy: nothing is known about what the caller, or a callee, left in flight.
  bool anyRegister() const;

  static WaitState unknown(const isa::Target &target);
  /// Either may be the case; says whether this changed.
  bool merge(const WaitState &other);
  void step(const Instr &instr, const isa::Target &target);
  bool operator==(const WaitState &) const = default;

private:
  struct PerCounter {
    uint8_t most = 0;
    bool unordered = false;   ///< one that returns in any order may be among them
    bool anyRegister = false; ///< one from elsewhere may be among them
    bool operator==(const PerCounter &) const = default;
  };
  struct Entry {
    uint16_t reg;
    uint8_t counter;
    uint8_t behind; ///< at least so many were issued behind it
    bool operator==(const Entry &) const = default;
  };
  void issue(Counter counter, bool ordered, bool ages);
  void add(Counter counter, RegRange range);
  void wait(Counter counter, unsigned left);

  std::array<PerCounter, kCounters> counters_ = {};
  std::vector<Entry> entries_; ///< by counter and register
};

struct WaitContext {
  bool kernel = true; ///< nothing is in flight at the entry
  /// What is in flight when the function at an address returns; null where unknown.
  std::function<const WaitState *(uint64_t address)> returned = {};
};

class Waits {
public:
  /// The Cfg must outlive the result.
  static Waits compute(const Cfg &cfg, const isa::Target &target, const WaitContext &context = {});

  WaitState before(const Instr &instr) const;
  const WaitState &atStart(uint32_t block) const { return start_[block]; }
  /// When the function returns, over all its returns.
  const WaitState &atReturn() const { return atReturn_; }

  /// Visits the instructions of a block in order, with what is in flight before each.
  template <class Visit> void walk(uint32_t block, Visit &&visit) const {
    WaitState state = start_[block];
    for (const Instr &instr : cfg_->instrs(cfg_->blocks()[block])) {
      visit(instr, static_cast<const WaitState &>(state));
      state.step(instr, *target_);
    }
  }

private:
  const Cfg *cfg_ = nullptr;
  const isa::Target *target_ = nullptr;
  std::vector<WaitState> start_;
  WaitState atReturn_;
};

} // namespace luthier::analysis
