#include "vgpu/wave/wave_checks.h"

#include "vgpu/wave/buffer_resource.h"
#include "vgpu/wave/device.h"
#include "vgpu/wave/kernel_descriptor.h"
#include "vgpu/wave/observer.h"

#include <algorithm>
#include <fmt/format.h>

namespace luthier::vgpu {

using Role = CheckedInst::Role;

std::unique_ptr<GroupChecks> GroupChecks::of(const Dispatch &dispatch, const Observation &observation,
                                             uint64_t firstWave, uint32_t waves) {
  const Device &device = dispatch.device();
  if (!device.checkedCode)
    return nullptr;
  auto checks = std::unique_ptr<GroupChecks>(new GroupChecks);
  checks->waves_.resize(waves);
  checks->arrivals_.resize(waves);
  checks->race_ = device.raceCheck;
  if (const uint32_t ldsBytes = dispatch.launch().groupSegmentSize; checks->race_ && ldsBytes)
    checks->lds_.emplace(ldsBytes, waves, *device.checkedCode);
  if (checks->race_ && observation.raceFirstWave) {
    checks->memory_ = &checks->race_->memory();
    checks->visible_.resize(waves);
    checks->done_.resize(waves);
    checks->met_.resize(waves);
    MemoryAgent &start = checks->start_;
    start.groupFirst = observation.raceFirstWave + static_cast<uint32_t>(firstWave);
    start.groupWaves = waves;
    start.dispatch = observation.raceDispatch;
    start.visible = &checks->visible_;
    start.met = &checks->met_;
    const uint32_t rsrc1 = descriptorAt(dispatch.launch().kernelObject).rsrc1;
    checks->oneUnit_ = !device.target().wave32 || !object::rsrc1::wgpMode.get(rsrc1);
  }
  if (device.barrierCheck)
    checks->barriers_.emplace(*device.barrierCheck, waves);
  return checks;
}

/// All that the waves did before their arrivals is before what they do from now on.
void GroupChecks::meet() {
  if (!memory_)
    return;
  const SyncNode *seen = nullptr, *valid = nullptr;
  for (uint32_t n = 0; n < waves_.size(); ++n) {
    const Arrival &arrival = arrivals_[n];
    // Within a compute unit, what was issued earlier takes effect earlier.
    visible_[n] = oneUnit_ ? DoneUpTo{arrival.issued, arrival.issued} : arrival.done;
    done_[n] = arrival.done;
    met_[n] = arrival.issued;
    seen = memory_->join(seen, waves_[n]->agent_.seen);
    valid = memory_->join(valid, waves_[n]->agent_.valid);
  }
  for (WaveChecks *wave : waves_) {
    wave->agent_.seen = seen;
    wave->agent_.valid = valid;
    wave->agent_.mergeFrom = wave->issued_ + 1;
  }
  ++meetings_;
  metNode_ = nullptr;
}

/// What the waves had done when they last met.
const SyncNode *GroupChecks::metNode() {
  if (!metNode_ && meetings_) {
    SyncNode node;
    node.first = start_.groupFirst;
    node.done = done_;
    metNode_ = memory_->make(std::move(node));
  }
  return metNode_;
}

void GroupChecks::release(std::span<Wave *const> waves) {
  if (lds_)
    lds_->release();
  meet();
  if (barriers_)
    barriers_->release(*waves.front());
}

void GroupChecks::complete() {
  if (lds_)
    lds_->complete();
  meet();
}

void GroupChecks::ended(const Wave &w) {
  if (lds_)
    lds_->ended(w.index);
  arrivals_[w.index] = waves_[w.index]->arrival();
  if (barriers_)
    barriers_->ended(w);
}

void GroupChecks::finish(std::span<Wave *const> waves) {
  if (barriers_)
    barriers_->finish(waves);
}

void GroupChecks::stuck(const Wave &w) {
  if (barriers_)
    barriers_->stuck(w);
}

void GroupChecks::report(const Wave &w, const Inst *i) {
  for (const Race &race : races_.all())
    race_->onRace(w, i, race);
  races_.clear();
}

GroupChecks::Arrival WaveChecks::arrival() const {
  constexpr uint32_t kMost = GlobalRaces::kMostNumber;
  return {std::min(issued_, kMost),
          {std::min(inFlight_.doneUpTo(Effect::Load, issued_), kMost),
           std::min(inFlight_.doneUpTo(Effect::Store, issued_), kMost)}};
}

void WaveChecks::start(const Wave &w) {
  group_.waves_[w.index] = this;
  agent_ = group_.start_;
  agent_.number = agent_.groupFirst + w.index;
  if (group_.barriers_)
    group_.barriers_->start(w);
}

/// Returns the lanes that access LDS.
uint64_t WaveChecks::accessLds(const Wave &w, const CheckedInst &inst, uint64_t lanes) {
  Addresses &addresses = group_.addresses_;
  uint64_t local = lanes;
  alignas(64) uint64_t offsets[kMaxLanes];
  const uint64_t *first = addresses.first.data();
  if (inst.operands.space == MemorySpace::Flat) {
    for (unsigned lane = 0; lane < w.lanes; ++lane) {
      if (first[lane] >> 32 != w.sharedAperture >> 32)
        local &= ~(uint64_t{1} << lane);
      offsets[lane] = first[lane] & 0xffffffff;
    }
    first = offsets;
  }
  if (!local || !group_.lds_)
    return local;
  group_.lds_->access(w, inst, issued_, first, local, group_.races_);
  if (!addresses.second.empty())
    group_.lds_->access(w, inst, issued_, addresses.second.data(), local, group_.races_);
  return local;
}

/// Of the lanes that do not access LDS, those that access memory which others may see.
uint64_t WaveChecks::sharedLanes(const Wave &w, const CheckedInst &inst, uint64_t lanes) const {
  const Operands &o = inst.operands;
  switch (o.space) {
  case MemorySpace::Global:
    return lanes;
  case MemorySpace::Flat:
    for (unsigned lane = 0; lane < w.lanes; ++lane)
      if (const uint64_t high = group_.addresses_.first[lane] >> 32;
          high == w.sharedAperture >> 32 || high == w.privateAperture >> 32)
        lanes &= ~(uint64_t{1} << lane);
    return lanes;
  case MemorySpace::Buffer: {
    const BufferResource buffer(w, *o.memory, w.device->target().bufferResource, o.mnemonic.starts_with("tbuffer"));
    if (buffer.isSwizzled()) // a lane's own
      return 0;
    for (uint64_t m = lanes; m; m &= m - 1)
      if (const auto lane = static_cast<unsigned>(__builtin_ctzll(m)); !buffer.inside(lane))
        lanes &= ~(uint64_t{1} << lane);
    return lanes;
  }
  case MemorySpace::Scalar:
    return o.mnemonic.starts_with("s_load") ? 1 : 0;
  default:
    return 0;
  }
}

/// What whoever reads the value that the wave is about to store may rely on; null when that is nothing.
const SyncNode *WaveChecks::tell() {
  const DoneUpTo done = arrival().done;
  const bool news = done != toldDone_ || agent_.seen != toldSeen_ || group_.meetings_ != toldMeetings_;
  if (!news)
    return told_;
  const bool othersStored = std::ranges::any_of(group_.done_, [](const DoneUpTo &each) { return each.stores != 0; });
  const bool stored = storedAt_ != 0 && storedAt_ <= done.stores;
  if (!stored && !agent_.seen && !(group_.meetings_ && othersStored))
    return told_;
  toldDone_ = done;
  toldSeen_ = agent_.seen;
  toldMeetings_ = group_.meetings_;
  SyncNode node;
  node.first = agent_.number;
  node.issued = issued_;
  node.done = {done};
  for (const SyncNode *parent : {static_cast<const SyncNode *>(agent_.seen), group_.metNode()})
    if (parent)
      node.parents.push_back(parent);
  told_ = group_.memory_->make(std::move(node));
  group_.memory_->publish(agent_, issued_, told_);
  agent_.mergeFrom = issued_;
  return told_;
}

void WaveChecks::accessMemory(const Wave &w, const CheckedInst &inst, uint64_t lanes) {
  if (inst.number > GlobalRaces::kMostInsts) {
    if (group_.race_->onNotChecked)
      group_.race_->onNotChecked(
          fmt::format("races of memory instructions behind the first {} of the process", GlobalRaces::kMostInsts));
    return;
  }
  const uint64_t *addresses = group_.addresses_.first.data();
  if (inst.returns) // the last writer is known now, and behind the access those that came between
    group_.memory_->learn(agent_, addresses, lanes, false);
  const SyncNode *const told = inst.writes ? tell() : nullptr;
  group_.memory_->access(w, agent_, inst, issued_, addresses, lanes, group_.races_);
  // A store of one lane may give back a lock, which others may try to take before its winner is known: by then, it is
  // not the last write any more.
  if (told && (inst.atomic || (lanes & (lanes - 1)) == 0))
    group_.memory_->chain(told, addresses, lanes);
  if (inst.writes) {
    if (!inst.atomic && !storedAt_)
      storedAt_ = std::min(issued_, GlobalRaces::kMostNumber);
  } else if (!inst.beyondUnit && inst.operands.space != MemorySpace::Scalar) {
    group_.cacheClean_ = false;
  }
  if (inst.returns || (!inst.writes && (inst.beyondUnit || polls(w, inst))))
    learns_ = lanes;
}

void WaveChecks::access(const Wave &w, const Inst *i, const CheckedInst &inst) {
  const MemorySpace space = inst.operands.space;
  const uint64_t lanes = space == MemorySpace::Scalar ? 1 : w.exec();
  if (group_.barriers_ && lanes && space != MemorySpace::Scalar)
    group_.barriers_->access(w, inst, lanes);
  if (!group_.race_)
    return;
  ++issued_;
  uint64_t local = 0, shared = 0;
  if (lanes && space != MemorySpace::Scratch) {
    addressesOf(w, inst.operands, group_.addresses_);
    if (space == MemorySpace::Lds || space == MemorySpace::Flat)
      local = accessLds(w, inst, lanes);
    if (group_.memory_)
      shared = sharedLanes(w, inst, lanes & ~local);
    if (shared)
      accessMemory(w, inst, shared);
  }
  const Effect memory = !shared ? Effect::None : inst.writes ? Effect::Store : Effect::Load;
  inFlight_.issue(issued_, inst.operands, w.device->target(), memory, local ? Effect::Lds : Effect::None);
  if (!group_.races_.empty()) [[unlikely]]
    group_.report(w, i);
}

void WaveChecks::before(Wave &w, const Inst *i, const CheckedInst &inst) {
  if (atGridBarrier_) { // all have come
    const uint64_t place = agent_.dispatch;
    group_.memory_->learn(agent_, &place, 1, false);
    if (group_.cacheClean_)
      agent_.valid = agent_.seen;
    atGridBarrier_ = false;
  }
  switch (inst.role) {
  case Role::Access:
    access(w, i, inst);
    break;
  case Role::Barrier:
    group_.arrivals_[w.index] = arrival();
    if (group_.lds_)
      group_.lds_->come(w.index, inFlight_);
    if (group_.barriers_)
      group_.barriers_->come(w, inst);
    break;
  case Role::BarrierSignal:
    // Signals of other barriers than the workgroup's say nothing here.
    if ((i->srcKind[0] == SrcKind::Constant ? static_cast<int32_t>(i->src[0].lanes[0]) : i->imm) != -1)
      break;
    group_.arrivals_[w.index] = arrival();
    if (group_.lds_)
      group_.lds_->signal(w.index, inFlight_);
    if (group_.barriers_)
      group_.barriers_->signal(w, inst);
    break;
  case Role::GridBarrier:
    if (group_.memory_) {
      atGridBarrier_ = true;
      const uint64_t place = agent_.dispatch; // no address of memory
      if (const SyncNode *told = tell())
        group_.memory_->chain(told, &place, 1);
    }
    inFlight_.issue(++issued_, inst.operands, w.device->target(), Effect::None, Effect::None);
    break;
  case Role::Invalidate:
    agent_.valid = agent_.seen;
    group_.cacheClean_ = true;
    [[fallthrough]];
  case Role::Other:
    if (inst.operands.counters)
      inFlight_.issue(++issued_, inst.operands, w.device->target(), Effect::None, Effect::None);
    break;
  case Role::Wait:
    inFlight_.wait(inst.operands.limits,
                   inst.operands.limits.addend == Reg::Null ? 0 : w.s[number(inst.operands.limits.addend)]);
    break;
  case Role::BarrierWait:
    break;
  }
}

void WaveChecks::after(Wave &w, const Inst *, const CheckedInst &inst) {
  if (learns_) {
    // Behind the access: what it has read was published before.
    const bool narrow = !inst.atomic && !inst.beyondUnit;
    group_.memory_->learn(agent_, group_.addresses_.first.data(), learns_, narrow);
    if (group_.cacheClean_)
      agent_.valid = agent_.seen;
    learns_ = 0;
  }
  if (inst.role != Role::BarrierWait)
    return;
  if (group_.barriers_)
    group_.barriers_->wait(w, inst);
  if (group_.lds_ && w.stop != Stop::Barrier)
    group_.lds_->pass(w.index);
}

} // namespace luthier::vgpu
