// The registers of a kernel that is being rewritten: which it had, which are reserved for the tool, how many more it
// may get.
//
// Beyond what the kernel was allocated there are registers that nothing of the guest knows of: free at every point, in
// all lanes. Up to the next step of occupancy they cost nothing.
#pragma once

#include "analysis/budget.h"
#include "isa/occupancy.h"
#include "object/code_object.h"

#include <vector>

namespace luthier::rewrite {

/// A place that is reserved for a value for the whole kernel: registers, or, if there are too few scalar ones, lanes of
/// a vector register, one per dword, or, if there is no register at all, the wave's scratch.
struct ReservedSlot {
  RegRange regs; ///< scalar or vector ones; the vector register if `lanes`
  bool lanes = false;
  uint8_t lane = 0; ///< the first
  int memory = -1;  ///< number of the first dword of SpillArea::scalars; -1: in registers
  bool empty() const { return regs.empty() && memory < 0; }
  /// The part from a dword on.
  ReservedSlot from(unsigned dword, unsigned count) const {
    if (memory >= 0)
      return {.regs = {}, .memory = memory + static_cast<int>(dword)};
    if (lanes)
      return {regs, true, static_cast<uint8_t>(lane + dword)};
    return {{regs.first + dword, static_cast<uint16_t>(count)}};
  }
};

class RegisterPool {
public:
  /// `touched`: all registers that code of the kernel may use; `open`: it may call code that is not known, which may
  /// use all that the kernel was given.
  /// `largestGroup`: work-items of the largest workgroup that the kernel may be launched with, which must find room; 0
  /// if not known.
  static Result<RegisterPool> create(const object::CodeObject &object, const object::Symbol &kernel,
                                     const RegSet &touched, bool open, unsigned largestGroup);

  /// Registers that inserted assembly names: nothing else gets them, as if they were the kernel's. Before anything is
  /// reserved. An error names one that there is no room for.
  Result<void> claim(const RegSet &regs);

  /// Consecutive registers for the whole kernel, from number `least` on, or lanes, or the spare ones; none when there
  /// is no room.
  ReservedSlot reserveScalars(unsigned count, unsigned least);
  /// One, or several in a row. Beyond the next step of occupancy if it must be.
  RegRange reserveVectors(unsigned count = 1);
  /// Vector registers in a row, from number `least` on, that are free until the kernel's own code begins.
  RegRange unreservedVectors(unsigned count, unsigned least);
  /// So many for values per lane: in a row if there is one, else wherever, AccVGPRs among them; none when there is no
  /// room.
  std::vector<Reg> reserveLaneValues(unsigned count);

  /// Vector registers that are free everywhere, for when nothing else is: for the whole kernel, whatever it costs. None
  /// until they have been reserved.
  const std::vector<Reg> &lastResorts() const { return lastResorts_; }
  bool reserveLastResort(); ///< one more; whether it could be
  /// More registers for hooks to use than occupancy would allow, for when there are too few to save: whether there are
  /// any.
  bool growVectors();
  bool growScalars();
  /// One more accumulation register to save others in, whatever it costs.
  bool addAccumulator();
  /// Scalar registers outside of the numbered ones that the guest cannot be using: two, one or none.
  RegRange spareScalars() const { return spareScalars_; }

  /// Scalar values may be kept in memory, so many.
  void allowMemory(unsigned dwords) { memoryLeft_ = dwords; }
  bool usesMemory() const { return memoryUsed_ != 0; }
  /// Something could not be done for want of registers, which memory might have helped with.
  void noteLack() { lack_ = true; }
  bool lack() const { return lack_; }

  /// Registers of the guest that count as in use everywhere, whatever liveness says.
  void keep(const RegSet &regs) { kept_ |= regs; }
  const RegSet &kept() const { return kept_; }

  /// What a hook may overwrite at a point, cheapest first: `inside` was the kernel's and is dead there, `beyond` is
  /// new.
  struct Free {
    RegSet inside, beyond;
  };
  Free free(const analysis::LiveSets &live, const RegSet &busy, bool anyBusy, bool allLanes) const;
  /// AccVGPRs that nothing uses, to save others in.
  RegSet freeAccumulators() const { return beyondAccumulators_; }
  /// Registers that shared hooks have at every place: none of these is reserved for anything else from now on.
  void fix(const RegSet &regs) { fixed_ |= regs; }
  /// Registers of the guest that may be saved for the time that a hook uses them.
  const RegSet &spillable() const { return spillable_; }

  /// Notes that inserted code uses these.
  void use(const RegSet &regs) { used_ |= regs; }
  void use(RegRange regs) { used_.insert(regs); }

  /// Counts to allocate: what the kernel had, or more if more is in use.
  struct Counts {
    unsigned sgprs = 0;    ///< without VCC and the like
    unsigned trailing = 0; ///< that must follow these: VCC, XNACK_MASK, FLAT_SCRATCH, as far as inserted code uses them
    unsigned vgprs = 0, accVgprs = 0;
  };
  Counts counts() const;
  const Counts &original() const { return original_; }

private:
  const isa::Target *target_ = nullptr;
  analysis::Allocation allocation_;
  Counts original_; ///< as needed by the guest's code, not rounded to granules
  RegSet usable_;   ///< of `beyond`
  RegSet beyondAccumulators_;
  RegSet spillable_;
  RegSet reserved_, kept_, fixed_;
  unsigned reservedAccumulators_ = 0; ///< all below this number count as in use
  RegRange reserveAccumulator();
  void dropAccumulatorsWithoutRoom();
  RegRange laneHolder_; ///< a vector register that keeps scalar values
  unsigned lanesUsed_ = 0;
  unsigned vectorLimit_ = 0; ///< most vector registers, of both kinds where they share a file
  bool fits(unsigned vgprs, unsigned accVgprs) const;
  std::vector<Reg> lastResorts_;
  RegRange spareScalars_;
  unsigned memoryLeft_ = 0, memoryUsed_ = 0;
  bool lack_ = false;
  RegSet used_;
};

} // namespace luthier::rewrite
