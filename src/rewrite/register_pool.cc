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
                             .sgprs = descriptor.sgprs(target),
                             .ldsBytes = 0,
                             .workgroupSize = 0};
  const unsigned files = target.unifiedVgprs && target.accVgprs ? target.vgprs + target.accVgprs : target.vgprs;
  constexpr unsigned kSimds = 4; // that the waves of a workgroup are spread over
  const unsigned wavesPerSimd = (largestGroup + kSimds * waveSize - 1) / (kSimds * waveSize);
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
  for (unsigned n = 0; n < had.sgprs; ++n)
    pool.lendable_.insert(sgpr(n));
  for (unsigned n = 0; n < had.vgprs; ++n)
    pool.lendable_.insert(vgpr(n));
  // The hardware writes XNACK_MASK when it repeats an access that faulted, which it does unless XNACK is off: a target
  // without a word about it is right for both.
  if (target.xnackMask && (!analysis::mayReplay(object) || plantedFault() == Fault::Xnack) &&
      !touched.contains(Reg::XnackMaskLo) && !touched.contains(Reg::XnackMaskHi) && !open)
    pool.spareScalars_ = {Reg::XnackMaskLo, 2};
  return pool;
}

Home RegisterPool::reserveScalars(unsigned count, unsigned least) {
  const unsigned alignment = count > 2 ? 4 : count;
  for (unsigned n = (least + alignment - 1) / alignment * alignment; n + count <= target_->sgprs; n += alignment) {
    const RegRange range{sgpr(n), static_cast<uint16_t>(count)};
    if (!usable_.containsAll(range))
      continue;
    usable_.erase(range);
    reserved_.insert(range);
    use(range);
    return {range};
  }
  if (laneHome_.empty())
    laneHome_ = reserveVector();
  constexpr unsigned kLanes = 32; // of the smallest wave
  if (laneHome_.empty() || lanesUsed_ + count > kLanes) {
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
    use(range);
    return {range};
  }
  const Home home{laneHome_, true, static_cast<uint8_t>(lanesUsed_)};
  lanesUsed_ += count;
  return home;
}

RegRange RegisterPool::reserveVector() {
  for (const bool anywhere : {false, true})
    for (unsigned n = original_.vgprs; n < target_->vgprs; ++n) {
      const Reg reg = vgpr(n);
      if (reserved_.contains(reg) || (!anywhere && !usable_.contains(reg)) || !fits(n + 1, original_.accVgprs))
        continue;
      usable_.erase(reg);
      reserved_.insert(reg);
      use({reg, 1});
      return {reg, 1};
    }
  return {};
}

bool RegisterPool::reserveLastResort() {
  if (lastResort_.empty())
    lastResort_ = reserveVector();
  return !lastResort_.empty();
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
  // Accumulation registers that were there for saving must still fit behind.
  const unsigned vgprs = std::max(original_.vgprs, countOf(usable_ | used_, Reg::V0, target_->vgprs));
  for (unsigned n = target_->accVgprs; n-- > accVgprs;)
    if (beyondAccumulators_.contains(agpr(n)) && !fits(vgprs, n + 1))
      beyondAccumulators_.erase(agpr(n));
  return grown != 0;
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
    if (!beyondAccumulators_.contains(agpr(n))) {
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
    result.inside = lendable_ - live.active - kept_ - busy;
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
