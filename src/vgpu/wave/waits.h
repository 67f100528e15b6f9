// Strict mode: results of memory operations land only when a wait covers them.
//
// The interpreter executes memory operations at once, so a missing s_waitcnt goes unnoticed. With a checker, a load's
// results are taken back out of the registers and kept with the operation until a wait says that it is done; an
// instruction that touches such a register before is stopped. Rules (the manuals' "Data Dependency Resolution"; the
// same that compilers follow), for the counters of counters.h:
//
//   vector memory  in order, loads and stores together up to gfx9, each on its own from gfx10 on
//   LDS            in order
//   scalar memory, GDS, messages: in any order. With one of them in flight, only a wait for 0 says anything.
//   FLAT           counts as vector memory and as LDS. Lanes that address LDS are covered by the counter of LDS, all
//                  others by that of vector memory. Up to gfx9 it is in no order with either: with one in flight, only
//                  0 says anything.
//
// Overwriting is touching too, unless the overwriting operation returns in order behind the one in flight; from gfx12
// on, only LDS does. Store data is read when the store issues on all targets here, so nothing is kept for stores but
// their place in the queue. Memory itself is not delayed: what is checked is registers, and LDS that loads write
// without a register between (buffer_load_dword ... lds).
//
// As a check (`luthier check wait`), a missing wait is reported and the kernel goes on as if the wait were there.
// Nothing has to be taken out of registers for that, so most instructions cost no more than a look at which registers
// they name. There, a counter that is full has waited: it cannot say more than its field holds, so that the oldest
// operation is done before another one issues. Kernels that rely on it are right, if not well written; --strict-waits
// stops them.
#pragma once

#include "vgpu/wave/operands.h"

#include <array>
#include <functional>

namespace luthier::vgpu {

/// A use of something that an operation in flight is still to write.
struct EarlyUse {
  std::string what;      ///< "v5", "LDS from offset 0x40 on"
  bool read = false;     ///< else overwritten
  uint64_t lanes = 0;    ///< 0: of scalar registers
  uint64_t pc = 0;       ///< of the operation
  std::string operation; ///< as assembly
  std::string wait;      ///< that would have been enough, directly before the use
};

/// Who is told of missing waits.
struct WaitCheck {
  /// Called on the thread that runs the wave. Set once, before anything runs.
  std::function<void(const Wave &wave, const Inst *inst, const EarlyUse &use)> onFinding;
};

class WaitChecker {
public:
  /// `check`: report, and go on. Null: stop the wave at the first missing wait.
  explicit WaitChecker(const WaitCheck *check = nullptr) : check_(check) {}

  /// False when the instruction touches a register whose value is still on its way: the wave has been stopped.
  bool before(Wave &w, const Inst *inst, const Operands &operands);
  void after(Wave &w, const Inst *inst, const Operands &operands);
  /// Whether no result is on its way, so that there is nothing to say of instructions without memory.
  bool idle() const { return awaited_.empty(); }
  /// Registers whose values are on their way. Instructions that touch none of them, and that neither access memory nor
  /// wait, need not be shown.
  const RegSet &awaited() const { return awaited_; }

private:
  struct Part {
    RegRange regs;
    std::vector<uint32_t> values; ///< per register all lanes, or the scalar value
    uint32_t bits = ~0u;          ///< of each register that arrive; the others stay as they then are
  };
  struct Pending {
    const Operands *operation = nullptr;
    uint64_t pc = 0;
    uint64_t lanes = 0;
    bool ordered = false;        ///< in its queue
    std::vector<Part> parts;     ///< empty when nothing returns
    std::optional<uint32_t> lds; ///< where lane 0's dword goes, of a load straight to LDS

    bool returns() const { return !parts.empty() || lds; }
  };
  /// Oldest first. Not a deque: waves are many and short, and most queues stay empty.
  class Queue {
  public:
    size_t size() const { return all_.size() - first_; }
    bool empty() const { return size() == 0; }
    Pending &front() { return all_[first_]; }
    Pending *begin() { return all_.data() + first_; }
    Pending *end() { return all_.data() + all_.size(); }
    const Pending *begin() const { return all_.data() + first_; }
    const Pending *end() const { return all_.data() + all_.size(); }
    void push(const Pending &pending) { all_.push_back(pending); }
    void pop() {
      ++first_;
      if (first_ == all_.size() || first_ == kMostGone) {
        all_.erase(all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(first_));
        first_ = 0;
      }
    }

  private:
    static constexpr size_t kMostGone = 64;
    std::vector<Pending> all_;
    size_t first_ = 0;
  };

  static bool touches(const Pending &pending, RegRange regs, uint64_t lanes, Reg &reg);
  bool check(Wave &w, const Inst *inst, const Operands &operands, const RegisterUse &use, uint64_t lanes);
  bool checkLds(Wave &w, const Inst *inst, const Operands &operands);
  bool report(Wave &w, const Inst *inst, EarlyUse use, const Pending &pending);
  std::string waitFor(const Pending &pending, const isa::Target &target) const;
  void forgetResults(const Operands *operation, uint64_t pc);
  void awaitAnew();
  void push(const Wave &w, Counter counter, uint64_t lanes, bool ordered);
  static void land(Wave &w, const Pending &pending);
  void landUntil(Wave &w, Queue &queue, size_t left);
  static Part save(const Wave &w, RegRange regs);
  static void load(Wave &w, const Part &part, uint64_t lanes);

  const WaitCheck *const check_;
  std::array<Queue, kCounters> queues_; ///< by counter
  RegSet awaited_;          ///< their results: most instructions touch none of these, and need no closer look
  unsigned ldsAwaited_ = 0; ///< loads to LDS in flight, or fewer
  std::vector<RegisterUse> placed_;
  std::vector<Part> saved_; ///< old values of the results of the instruction being executed
  Pending issued_;          ///< it, as far as it is known before its execution
  uint64_t ldsLanes_ = 0;   ///< FLAT: lanes that address LDS
};

} // namespace luthier::vgpu
