#include "rewrite/register_pool.h"

#include "analysis/replays.h"
#include "rewrite/testing.h"

#include <algorithm>
#include <utility>

namespace luthier::rewrite {

namespace {

/// One more than the highest register of a file in the set.
unsigned countOf(const RegSet &set, Reg file, unsigned limit) {
  for (unsigned n = limit; n-- > 0;)
    if (set.contains(file + n))
      return n + 1;
  return 0;
}

} // namespace

Result<RegisterPool> RegisterPool::create(const object::CodeObject &object, const object::Symbol &kernel,
                                          const RegSet &touched, bool open, unsigned largestGroup) {
  RegisterPool pool;
  const isa::Target &target = object.target();
  pool.target_ = &target;
  pool.allocation_ = LUTHIER_TRY(analysis::allocationOf(object, kernel));
  const object::KernelDescriptor descriptor = LUTHIER_TRY(object.descriptor(kernel));
  const analysis::Allocation &given = pool.allocation_;

  // What is allocated but never touched is as good as new, unless code that is not known may touch it.
  Counts &had = pool.original_;
  had.sgprs = std::min<unsigned>(target.sgprs, descriptor.sgprs(target));
  had.vgprs = given.vgprs;
  had.accVgprs = given.accVgprs;
  if (!open) {
    had.sgprs = std::max<unsigned>(countOf(touched, Reg::S0, target.sgprs), descriptor.initialSgprs(target).total);
    had.vgprs = std::min(given.vgprs, std::max(countOf(touched, Reg::V0, target.vgprs), 3u));
    had.accVgprs = std::min(given.accVgprs, countOf(touched, Reg::A0, target.accVgprs));
  }

  const unsigned waveSize = descriptor.waveSize(target);
  const isa::ResourceUse use{.waveSize = waveSize,
                             .vgprs = had.vgprs,
                             .accVgprs = had.accVgprs,
                             .sgprs = target.countsSgprs() ? descriptor.sgprs(target) : 0,
                             .ldsBytes = 0,
                             .workgroupSize = 0};
  const unsigned files = target.unifiedVgprs && target.accVgprs ? target.vgprs + target.accVgprs : target.vgprs;
  const unsigned lanes = descriptor.simds(target) * waveSize; // of a workgroup's waves, one per SIMD
  const unsigned wavesPerSimd = (largestGroup + lanes - 1) / lanes;
  pool.vectorLimit_ = std::max<unsigned>(descriptor.vgprs(target),
                                         wavesPerSimd ? isa::maxVgprs(target, waveSize, wavesPerSimd) : files);
  const isa::Headroom more = isa::headroom(target, use);
  const unsigned sgprs = !target.countsSgprs()
                             ? target.sgprs
                             : std::min<unsigned>(target.sgprs, std::max(had.sgprs, given.sgprs + more.sgprs));
  const unsigned vgprs = std::min<unsigned>(target.vgprs, had.vgprs + more.vgprs);
  for (unsigned n = had.sgprs; n < sgprs; ++n)
    pool.usable_.insert(sgpr(n));
  for (unsigned n = had.vgprs; n < vgprs; ++n)
    pool.usable_.insert(vgpr(n));
  // Where both kinds share a file, what architectural registers may take is not there for accumulators.
  const unsigned most = isa::maxVgprs(target, waveSize, isa::occupancy(target, use).wavesPerSimd);
  const unsigned taken = (vgprs + isa::kAccumOffsetGranule - 1) / isa::kAccumOffsetGranule * isa::kAccumOffsetGranule;
  const unsigned accVgprs = !target.accVgprs      ? 0
                            : target.unifiedVgprs ? std::min<unsigned>(target.accVgprs, most > taken ? most - taken : 0)
                                                  : std::min<unsigned>(target.accVgprs, had.accVgprs + more.accVgprs);
  for (unsigned n = had.accVgprs; n < accVgprs; ++n)
    pool.beyondAccumulators_.insert(agpr(n));
  // What the kernel's code leaves out among its own is as good as new, too.
  const unsigned initialSgprs = descriptor.initialSgprs(target).total;
  constexpr unsigned kWorkitemIds = 3;
  for (unsigned n = 0; n < had.sgprs; ++n)
    (open || n < initialSgprs || touched.contains(sgpr(n)) ? pool.spillable_ : pool.usable_).insert(sgpr(n));
  for (unsigned n = 0; n < had.vgprs; ++n)
    (open || n < kWorkitemIds || touched.contains(vgpr(n)) ? pool.spillable_ : pool.usable_).insert(vgpr(n));
  // The hardware writes XNACK_MASK when it repeats an access that faulted, which it does unless XNACK is off: a target
  // without a word about it is right for both.
  if (target.xnackMask && (!analysis::mayReplay(object) || plantedFault() == Fault::Xnack) &&
      !touched.contains(Reg::XnackMaskLo) && !touched.contains(Reg::XnackMaskHi) && !open)
    pool.spareScalars_ = {Reg::XnackMaskLo, 2};
  // No part of VCC in waves of 32 lanes.
  if (waveSize == 32 && !touched.contains(Reg::VccHi) && !open)
    pool.spareScalars_ = {Reg::VccHi, 1};
  return pool;
}

Result<void> RegisterPool::claim(const RegSet &regs) {
  for (Reg reg = regs.firstFrom(Reg::S0); reg != Reg::End; reg = regs.firstFrom(reg + 1)) {
    if ((isVector(reg) && !fits(number(reg) - number(Reg::V0) + 1, original_.accVgprs)) ||
        (isAccumulator(reg) && !fits(original_.vgprs, number(reg) - number(Reg::A0) + 1)))
      return makeError("with {}, the kernel's workgroups would not fit on a compute unit", toString(reg));
    if (spareScalars_.contains(reg))
      spareScalars_ = {};
    use({reg, 1});
    if (spillable_.contains(reg))
      continue;
    usable_.erase(reg);
    beyondAccumulators_.erase(reg);
    reserved_.insert(reg);
  }
  dropAccumulatorsWithoutRoom();
  return {};
}

ReservedSlot RegisterPool::reserveScalars(unsigned count, unsigned least) {
  const unsigned alignment = count > 2 ? 4 : count;
  // New ones first, then those that the kernel leaves out.
  for (const unsigned from : {std::max(least, original_.sgprs), least})
    for (unsigned n = (from + alignment - 1) / alignment * alignment; n + count <= target_->sgprs; n += alignment) {
      const RegRange range{sgpr(n), static_cast<uint16_t>(count)};
      if (!usable_.containsAll(range))
        continue;
      usable_.erase(range);
      reserved_.insert(range);
      use(range);
      return {range};
    }
  if (laneHolder_.empty())
    laneHolder_ = reserveVectors();
  constexpr unsigned kLanes = 32; // of the smallest wave
  if (laneHolder_.empty() || lanesUsed_ + count > kLanes) {
    if (count > spareScalars_.count) {
      noteLack();
      if (count > memoryLeft_)
        return {};
      memoryLeft_ -= count;
      memoryUsed_ += count;
      return {.regs = {}, .memory = static_cast<int>(memoryUsed_ - count)};
    }
    const RegRange range{std::exchange(spareScalars_, {}).first, static_cast<uint16_t>(count)};
    reserved_.insert(range);
    kept_.insert(range);
    use(range);
    return {range};
  }
  const ReservedSlot slot{laneHolder_, true, static_cast<uint8_t>(lanesUsed_)};
  lanesUsed_ += count;
  return slot;
}

RegRange RegisterPool::reserveVectors(unsigned count) {
  const unsigned alignment = count > 1 ? 2 : 1; // of tuples, where these must be aligned
  const auto reserve = [&](unsigned first, unsigned end, bool anywhere) -> RegRange {
    for (unsigned n = (first + alignment - 1) / alignment * alignment; n + count <= end; n += alignment) {
      const RegRange range{vgpr(n), static_cast<uint16_t>(count)};
      if (reserved_.containsAny(range) || fixed_.containsAny(range) || (!anywhere && !usable_.containsAll(range)) ||
          !fits(n + count, std::max(original_.accVgprs, reservedAccumulators_)))
        continue;
      usable_.erase(range);
      reserved_.insert(range);
      use(range);
      dropAccumulatorsWithoutRoom();
      return range;
    }
    return {};
  };
  if (const RegRange more = reserve(original_.vgprs, target_->vgprs, false); !more.empty())
    return more;
  if (const RegRange leftOut = reserve(0, original_.vgprs, false); !leftOut.empty())
    return leftOut;
  return reserve(original_.vgprs, target_->vgprs, true);
}

RegRange RegisterPool::unreservedVectors(unsigned count, unsigned least) {
  for (unsigned n = least; n + count <= target_->vgprs; ++n) {
    const RegRange range{vgpr(n), static_cast<uint16_t>(count)};
    if (reserved_.containsAny(range) || !fits(n + count, std::max(original_.accVgprs, reservedAccumulators_)))
      continue;
    use(range);
    return range;
  }
  return {};
}

RegRange RegisterPool::reserveAccumulator() {
  if (beyondAccumulators_.empty() && !addAccumulator())
    return {};
  const Reg reg = beyondAccumulators_.firstFrom(Reg::A0);
  beyondAccumulators_.erase(reg);
  reserved_.insert(reg);
  reservedAccumulators_ = std::max(reservedAccumulators_, number(reg) - number(Reg::A0) + 1);
  use({reg, 1});
  return {reg, 1};
}

std::vector<Reg> RegisterPool::reserveLaneValues(unsigned count) {
  std::vector<Reg> regs;
  if (const RegRange row = reserveVectors(count); !row.empty())
    for (unsigned n = 0; n < count; ++n)
      regs.push_back(row.first + n);
  while (regs.size() < count) {
    RegRange one = reserveVectors();
    if (one.empty())
      one = reserveAccumulator();
    if (one.empty())
      return {};
    regs.push_back(one.first);
  }
  return regs;
}

bool RegisterPool::reserveLastResort() {
  const RegRange more = reserveVectors();
  if (!more.empty())
    lastResorts_.push_back(more.first);
  return !more.empty();
}

/// Whether waves with so many registers can be started.
bool RegisterPool::fits(unsigned vgprs, unsigned accVgprs) const {
  if (!target_->unifiedVgprs)
    return std::max(vgprs, accVgprs) <= vectorLimit_;
  if (!accVgprs)
    return vgprs <= vectorLimit_;
  return (vgprs + isa::kAccumOffsetGranule - 1) / isa::kAccumOffsetGranule * isa::kAccumOffsetGranule + accVgprs <=
         vectorLimit_;
}

bool RegisterPool::growVectors() {
  constexpr unsigned kStep = 8;
  const unsigned accVgprs = std::max(original_.accVgprs, countOf(used_, Reg::A0, target_->accVgprs));
  unsigned grown = 0;
  for (unsigned n = original_.vgprs; n < target_->vgprs && grown < kStep && fits(n + 1, accVgprs); ++n)
    if (!usable_.contains(vgpr(n)) && !reserved_.contains(vgpr(n))) {
      usable_.insert(vgpr(n));
      ++grown;
    }
  dropAccumulatorsWithoutRoom();
  return grown != 0;
}

/// Accumulation registers that were there for saving must still fit behind the others.
void RegisterPool::dropAccumulatorsWithoutRoom() {
  const unsigned vgprs = std::max(original_.vgprs, countOf(usable_ | used_, Reg::V0, target_->vgprs));
  for (unsigned n = target_->accVgprs; n-- > original_.accVgprs;)
    if (beyondAccumulators_.contains(agpr(n)) && !used_.contains(agpr(n)) && !fits(vgprs, n + 1))
      beyondAccumulators_.erase(agpr(n));
}

bool RegisterPool::growScalars() {
  bool grown = false;
  for (unsigned n = original_.sgprs; n < target_->sgprs; ++n)
    if (!usable_.contains(sgpr(n)) && !reserved_.contains(sgpr(n))) {
      usable_.insert(sgpr(n));
      grown = true;
    }
  return grown;
}

bool RegisterPool::addAccumulator() {
  const unsigned vgprs = countOf(used_ | usable_, Reg::V0, target_->vgprs);
  for (unsigned n = original_.accVgprs; n < target_->accVgprs && fits(std::max(vgprs, original_.vgprs), n + 1); ++n)
    if (!beyondAccumulators_.contains(agpr(n)) && !reserved_.contains(agpr(n))) {
      beyondAccumulators_.insert(agpr(n));
      return true;
    }
  return false;
}

RegisterPool::Free RegisterPool::free(const analysis::LiveSets &live, const RegSet &busy, bool anyBusy,
                                      bool allLanes) const {
  Free result;
  result.beyond = usable_ - kept_;
  if (!anyBusy) {
    result.inside = spillable_ - live.active - kept_ - busy;
    if (allLanes)
      result.inside -= live.inactive;
  }
  return result;
}

RegisterPool::Counts RegisterPool::counts() const {
  Counts counts = original_;
  counts.sgprs = std::max(counts.sgprs, countOf(used_, Reg::S0, target_->sgprs));
  counts.vgprs = std::max(counts.vgprs, countOf(used_, Reg::V0, target_->vgprs));
  counts.accVgprs = std::max(counts.accVgprs, countOf(used_, Reg::A0, target_->accVgprs));
  // The last ones of those that a wave has, in the order of their numbers.
  const Reg first = target_->trailingSgprs ? used_.firstFrom(Reg::FlatScrLo) : Reg::Ttmp0;
  if (first < Reg::Ttmp0)
    counts.trailing = number(Reg::Ttmp0) - (number(first) & ~1u);
  return counts;
}

} // namespace luthier::rewrite
