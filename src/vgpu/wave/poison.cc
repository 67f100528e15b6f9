#include "vgpu/wave/poison.h"

#include "vgpu/exec/modes.h"
#include "vgpu/wave/observer.h"

#include <mutex>

namespace luthier::vgpu {

PoisonPlan PoisonPlan::of(const DeadRegisters &dead, const Wave &w) {
  PoisonPlan plan;
  // Beyond what is allocated, nothing can be needed.
  const unsigned vgprs = std::min<uint32_t>(w.vgprCount, kAccBase);
  for (unsigned n = 0; n < vgprs; ++n)
    for (const Reg reg : {vgpr(n), agpr(n)}) {
      const bool active = dead.active.contains(reg), inactive = dead.inactive.contains(reg);
      const auto index = static_cast<uint16_t>(n + (isAccumulator(reg) ? kAccBase : 0));
      if (active || inactive)
        (active && inactive ? plan.all : active ? plan.active : plan.inactive).push_back(index);
    }
  const auto scalar = [&](Reg reg) {
    if (dead.active.contains(reg) && dead.inactive.contains(reg))
      plan.scalars.push_back(static_cast<uint16_t>(number(reg)));
  };
  for (Reg reg = Reg::S0; reg < Reg::Ttmp0; reg = reg + 1)
    scalar(reg);
  scalar(Reg::M0);
  plan.scc = dead.active.contains(Reg::Scc) && dead.inactive.contains(Reg::Scc);
  return plan;
}

const std::optional<DeadRegisters> &PoisonPlans::deadBefore(const Observation &observation, const Wave &w,
                                                            const Inst *inst) {
  const auto [known, isNew] = dead_.try_emplace(inst);
  if (isNew)
    known->second = observation.poison->dead(observation.entry, w.pc(inst));
  return known->second;
}

namespace {

/// Takes out of `dead` what is garbage already.
void leaveOut(DeadRegisters &dead, const DeadRegisters &before, const Operands &last) {
  RegSet written;
  for (const RegisterUse &use : last.registers)
    if (use.write)
      written.insert(use.regs);
  dead.active -= before.active - written;
  dead.inactive -= before.inactive - written;
}

/// Whether registers may change between instructions, or with this one, that it does not name: relative and stacked
/// ones, and results that strict mode holds back and delivers.
bool writesElsewhere(const Observation &observation, const Operands &o) {
  const bool held = observation.strictWaits && (o.counters || o.waits);
  const auto starts = [&](std::string_view prefix) { return o.mnemonic.starts_with(prefix); };
  const bool relative = starts("s_movrel") || starts("v_movrel") || starts("v_swaprel");
  return held || relative || o.mnemonic.empty() || o.mnemonic.ends_with("_fork") || o.mnemonic == "s_cbranch_join";
}

} // namespace

const PoisonPlan &PoisonPlans::of(Observation &observation, const Wave &w, const Inst *last, const Inst *inst) {
  if (last && writesElsewhere(observation, observation.operands.of(w, last)))
    last = nullptr;
  const std::pair key(last, inst);
  {
    std::shared_lock lock(mutex_);
    if (const auto it = plans_.find(key); it != plans_.end())
      return it->second;
  }
  std::lock_guard lock(mutex_);
  const auto [known, isNew] = plans_.try_emplace(key);
  if (!isNew)
    return known->second;
  PoisonPlan &plan = known->second;
  if (const auto &dead = deadBefore(observation, w, inst)) {
    DeadRegisters fresh = *dead;
    if (last)
      if (const auto &before = deadBefore(observation, w, last))
        leaveOut(fresh, *before, observation.operands.of(w, last));
    plan = PoisonPlan::of(fresh, w);
    plan.dead = PoisonPlan::of(*dead, w).size();
  } else {
    plan.known = false;
  }
  return plan;
}

const std::array<WavePoisoner::Row, WavePoisoner::kRows> &WavePoisoner::rows() {
  static const auto made = [] {
    std::array<Row, kRows> rows;
    // Signalling NaNs of float, double (by their high half) and half, all ones, infinity, the smallest integer,
    // a misaligned address, zero.
    static constexpr uint32_t kPatterns[] = {0x7f800001, 0xfff00001, 0x7c017c01, 0xffffffff,
                                             0x7f800000, 0x80000000, 0xdeadbeef, 0};
    uint64_t state = 0x9e3779b97f4a7c15;
    for (unsigned row = 0; row < kRows; ++row)
      for (uint32_t &lane : rows[row]) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        lane = row % 2 ? static_cast<uint32_t>(state >> 32) : kPatterns[row / 2 % std::size(kPatterns)];
      }
    return rows;
  }();
  return made;
}

WavePoisoner::WavePoisoner(Observation &observation, uint64_t waveNumber)
    : observation_(observation), row_(static_cast<unsigned>((observation.poison->seed * 31 + waveNumber) % kRows)) {}

WavePoisoner::~WavePoisoner() {
  Poison::Totals &totals = observation_.poison->totals;
  totals.instructions += instructions_;
  totals.unknown += unknown_;
  totals.dead += dead_;
}

const uint32_t *WavePoisoner::next() {
  row_ = row_ + 1 == kRows ? 0 : row_ + 1;
  return rows()[row_].data();
}

void WavePoisoner::setMask(uint64_t exec) {
  if (exec == maskFor_)
    return;
  maskFor_ = exec;
  for (unsigned lane = 0; lane < kMaxLanes; ++lane)
    mask_[lane] = exec >> lane & 1 ? ~0u : 0u;
}

void WavePoisoner::before(Wave &w, const Inst *inst) {
  const uint64_t exec = w.exec();
  if (exec != lastExec_ || (w.mode & kModal) || instructions_ % kRefresh == 0)
    last_ = nullptr;
  lastExec_ = exec;
  Recent &recent = recent_[reinterpret_cast<uintptr_t>(inst) / sizeof(Inst) % recent_.size()];
  if (recent.inst != inst || recent.last != last_)
    recent = {last_, inst, &observation_.poisonPlans.of(observation_, w, last_, inst)};
  last_ = inst;
  instructions_ += 1;
  unknown_ += !recent.plan->known;
  dead_ += recent.plan->dead;
  overwrite(w, *recent.plan);
  if (recent.plan->scc) // the wrong value; where it may be wrong already, any
    w.scc = recent.last ? !w.scc : next()[0] & 1;
}

void WavePoisoner::overwrite(Wave &w, const PoisonPlan &plan) {
  for (const uint16_t reg : plan.all)
    memcpy(w.v[reg], next(), sizeof w.v[reg]);
  if (!plan.active.empty() || !plan.inactive.empty())
    setMask(w.exec());
  for (const uint16_t reg : plan.active) {
    const uint32_t *garbage = next();
    for (unsigned lane = 0; lane < kMaxLanes; ++lane)
      w.v[reg][lane] = (w.v[reg][lane] & ~mask_[lane]) | (garbage[lane] & mask_[lane]);
  }
  for (const uint16_t reg : plan.inactive) {
    const uint32_t *garbage = next();
    for (unsigned lane = 0; lane < kMaxLanes; ++lane)
      w.v[reg][lane] = (w.v[reg][lane] & mask_[lane]) | (garbage[lane] & ~mask_[lane]);
  }
  if (!plan.scalars.empty()) {
    const uint32_t *garbage = next();
    for (size_t n = 0; n < plan.scalars.size(); ++n)
      w.s[plan.scalars[n]] = garbage[n % kMaxLanes] + static_cast<uint32_t>(n & 1);
  }
}

} // namespace luthier::vgpu
