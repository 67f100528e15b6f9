// Strict mode: results of memory operations land only when a wait covers them.
//
// The interpreter executes memory operations at once, so a missing s_waitcnt goes unnoticed. With a checker, a load's
// results are taken back out of the registers and kept with the operation until an s_waitcnt says that it is done;
// an instruction that touches such a register before is stopped. Rules (manual, 4.4; the same that compilers follow):
//
//   VM_CNT    vector memory, loads and stores alike, in order. With a FLAT operation in flight, only 0 says anything.
//   LGKM_CNT  LDS in order; scalar memory, GDS, messages and FLAT in any order: with one of them in flight, only 0
//   does. FLAT      counts in both. Lanes that address LDS are covered by LGKM_CNT, all others by VM_CNT.
//
// Overwriting is touching too, unless the overwriting operation returns in order behind the one in flight. Store data
// is read when the store issues on this target, so nothing is kept for stores but their place in the queue. Memory
// itself is not delayed: what is checked is registers.
#pragma once

#include "vgpu/wave/operands.h"

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
  };
  struct Pending {
    const Operands *operation = nullptr;
    uint64_t pc = 0;
    uint64_t lanes = 0;
    std::vector<Part> parts; ///< empty when nothing returns
  };
  using Queue = std::deque<Pending>;

  static bool touches(const Pending &pending, RegRange regs, uint64_t lanes, Reg &reg);
  bool check(Wave &w, const Inst *inst, const Operands &operands, const RegisterUse &use, uint64_t lanes) const;
  void push(Queue &queue, uint64_t lanes);
  static void land(Wave &w, const Pending &pending);
  void landUntil(Wave &w, Queue &queue, size_t left, bool ordered);
  static Part save(const Wave &w, RegRange regs);
  static void load(Wave &w, const Part &part, uint64_t lanes);

  Queue vector_, other_; ///< what VM_CNT and LGKM_CNT count, oldest first
  RegSet awaited_;       ///< their results: most instructions touch none of these, and need no closer look
  std::vector<RegisterUse> placed_;
  std::vector<Part> saved_; ///< old values of the results of the instruction being executed
  Pending issued_;          ///< it, as far as it is known before its execution
  uint64_t ldsLanes_ = 0;   ///< FLAT: lanes that address LDS
};

} // namespace luthier::vgpu
