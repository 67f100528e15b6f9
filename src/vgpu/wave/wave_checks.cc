#include "vgpu/wave/wave_checks.h"

#include "vgpu/wave/device.h"

namespace luthier::vgpu {

using Role = CheckedInst::Role;

std::unique_ptr<GroupChecks> GroupChecks::of(const Device &device, uint32_t ldsBytes, uint32_t waves) {
  if (!device.raceCheck && !device.barrierCheck)
    return nullptr;
  auto checks = std::unique_ptr<GroupChecks>(new GroupChecks);
  checks->race_ = device.raceCheck;
  if (checks->race_ && ldsBytes)
    checks->lds_.emplace(ldsBytes, waves, *device.checkedCode());
  if (device.barrierCheck)
    checks->barriers_.emplace(*device.barrierCheck, waves);
  return checks;
}

void GroupChecks::release(std::span<Wave *const> waves) {
  if (lds_)
    lds_->release();
  if (barriers_)
    barriers_->release(*waves.front());
}

void GroupChecks::complete() {
  if (lds_)
    lds_->complete();
}

void GroupChecks::ended(const Wave &w) {
  if (lds_)
    lds_->ended(w.index);
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

void WaveChecks::start(const Wave &w) {
  if (group_.barriers_)
    group_.barriers_->start(w);
}

void WaveChecks::access(const Wave &w, const Inst *i, const CheckedInst &inst) {
  const MemorySpace space = inst.operands.space;
  const bool scalar = space == MemorySpace::Scalar;
  const uint64_t lanes = w.exec();
  if (group_.barriers_ && lanes && !scalar)
    group_.barriers_->access(w, inst, lanes);
  if (!group_.race_)
    return;
  ++issued_;
  uint64_t local = 0; // lanes that access LDS
  if (lanes && group_.lds_ && (space == MemorySpace::Lds || space == MemorySpace::Flat)) {
    Addresses &addresses = group_.addresses_;
    addressesOf(w, inst.operands, addresses);
    local = lanes;
    if (space == MemorySpace::Flat)
      for (unsigned lane = 0; lane < w.lanes; ++lane) {
        uint64_t &address = addresses.first[lane];
        if (address >> 32 != w.sharedAperture >> 32)
          local &= ~(uint64_t{1} << lane);
        address &= 0xffffffff;
      }
    for (const std::vector<uint64_t> *each : {&addresses.first, &addresses.second})
      if (local && !each->empty())
        group_.lds_->access(w, inst, issued_, each->data(), local, group_.races_);
  }
  const Effect memory = scalar || space == MemorySpace::Lds || local == lanes ? Effect::None
                        : inst.writes                                         ? Effect::Store
                                                                              : Effect::Load;
  inFlight_.issue(issued_, inst.operands, w.device->target(), memory, local ? Effect::Lds : Effect::None);
  if (!group_.races_.empty()) [[unlikely]]
    group_.report(w, i);
}

void WaveChecks::before(Wave &w, const Inst *i, const CheckedInst &inst) {
  switch (inst.role) {
  case Role::Access:
    access(w, i, inst);
    break;
  case Role::Barrier:
    if (group_.lds_)
      group_.lds_->come(w.index, inFlight_);
    if (group_.barriers_)
      group_.barriers_->come(w, inst);
    break;
  case Role::BarrierSignal:
    // Signals of other barriers than the workgroup's say nothing here.
    if ((i->srcKind[0] == SrcKind::Constant ? static_cast<int32_t>(i->src[0].lanes[0]) : i->imm) != -1)
      break;
    if (group_.lds_)
      group_.lds_->signal(w.index, inFlight_);
    if (group_.barriers_)
      group_.barriers_->signal(w, inst);
    break;
  case Role::Other:
  case Role::Invalidate:
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
  if (inst.role != Role::BarrierWait)
    return;
  if (group_.barriers_)
    group_.barriers_->wait(w, inst);
  if (group_.lds_ && w.stop != Stop::Barrier)
    group_.lds_->pass(w.index);
}

} // namespace luthier::vgpu
