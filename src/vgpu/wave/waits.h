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
// their place in the queue. Memory itself is not delayed: what is checked is registers.
#pragma once

#include "vgpu/wave/operands.h"

#include <array>
#include <deque>

namespace luthier::vgpu {

class WaitChecker {
public:
  /// False when the instruction touches a register whose value is still on its way: the wave has been stopped.
  bool before(Wave &w, const Inst *inst, const Operands &operands);
  void after(Wave &w, const Inst *inst, const Operands &operands);
  /// Whether no result is on its way, so that there is nothing to say of instructions without memory.
  bool idle() const { return awaited_.empty(); }

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
    bool ordered = false;    ///< in its queue
    std::vector<Part> parts; ///< empty when nothing returns
  };
  using Queue = std::deque<Pending>; ///< oldest first

  static bool touches(const Pending &pending, RegRange regs, uint64_t lanes, Reg &reg);
  bool check(Wave &w, const Inst *inst, const Operands &operands, const RegisterUse &use, uint64_t lanes) const;
  void push(Queue &queue, uint64_t lanes, bool ordered);
  static void land(Wave &w, const Pending &pending);
  void landUntil(Wave &w, Queue &queue, size_t left);
  static Part save(const Wave &w, RegRange regs);
  static void load(Wave &w, const Part &part, uint64_t lanes);

  std::array<Queue, kCounters> queues_; ///< by counter
  RegSet awaited_; ///< their results: most instructions touch none of these, and need no closer look
  std::vector<RegisterUse> placed_;
  std::vector<Part> saved_; ///< old values of the results of the instruction being executed
  Pending issued_;          ///< it, as far as it is known before its execution
  uint64_t ldsLanes_ = 0;   ///< FLAT: lanes that address LDS
};

} // namespace luthier::vgpu
