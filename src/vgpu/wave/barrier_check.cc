#include "vgpu/wave/barrier_check.h"

#include "vgpu/wave/workgroup.h"

#include <algorithm>

namespace luthier::vgpu {

using Kind = BarrierProblem::Kind;

void GroupBarriers::start(const Wave &w) { waves_[w.index].items = w.exec(); }

void GroupBarriers::access(const Wave &w, const CheckedInst &inst, uint64_t lanes) {
  WaveState &wave = waves_[w.index];
  wave.lastAccess = &inst;
  if (inst.number >= executedAt_.size())
    executedAt_.resize(inst.number + 64);
  executedAt_[inst.number] = std::max(executedAt_[inst.number], wave.barriers);
  if (wave.off & lanes) [[unlikely]]
    comeBack(wave, w, inst, lanes);
}

/// Lanes that went around a barrier have not returned.
void GroupBarriers::comeBack(WaveState &wave, const Wave &w, const CheckedInst &inst, uint64_t lanes) {
  BarrierProblem problem = describe(Kind::Lanes, wave.partial);
  problem.lanes = wave.off & lanes;
  problem.other = &inst;
  wave.off &= ~lanes;
  check_.onProblem(w, problem);
}

BarrierProblem GroupBarriers::describe(Kind kind, const CheckedInst *barrier) const {
  BarrierProblem problem;
  problem.kind = kind;
  problem.barrier = barrier;
  for (const WaveState &wave : waves_)
    problem.waves.push_back({wave.barrier, wave.barriers, wave.ended});
  return problem;
}

void GroupBarriers::count(WaveState &wave, const Wave &w, const CheckedInst &inst) {
  if (wave.off & w.exec())
    comeBack(wave, w, inst, w.exec());
  wave.barrier = &inst;
  wave.lastAccess = nullptr;
  if (sequence_.size() == wave.barriers)
    sequence_.push_back(&inst);
  ++wave.barriers;
  if (const uint64_t off = wave.items & ~w.exec(); off && w.exec()) {
    wave.off = off;
    wave.partial = &inst;
  }
}

void GroupBarriers::come(const Wave &w, const CheckedInst &inst) { count(waves_[w.index], w, inst); }

void GroupBarriers::release(const Wave &any) {
  const WaveState *first = nullptr;
  for (const WaveState &wave : waves_) {
    if (wave.ended)
      continue;
    if (!first)
      first = &wave;
    if (wave.barrier == first->barrier)
      continue;
    BarrierProblem problem = describe(Kind::Mixed, first->barrier);
    problem.other = wave.barrier;
    check_.onProblem(any, problem);
    return;
  }
}

void GroupBarriers::signal(const Wave &w, const CheckedInst &inst) {
  WaveState &wave = waves_[w.index];
  if (wave.signalled)
    check_.onProblem(w, describe(Kind::SignalledTwice, &inst));
  wave.signalled = true;
  count(wave, w, inst);
}

void GroupBarriers::wait(const Wave &w, const CheckedInst &inst) {
  WaveState &wave = waves_[w.index];
  if (!wave.signalled && wave.barrier != &inst) { // once, however often it looks again
    wave.barrier = &inst;
    check_.onProblem(w, describe(Kind::WaitsUnsignalled, &inst));
  }
  if (w.stop != Stop::Barrier)
    wave.signalled = false;
}

void GroupBarriers::ended(const Wave &w) {
  WaveState &wave = waves_[w.index];
  wave.ended = true;
  if (wave.signalled)
    check_.onProblem(w, describe(Kind::EndsSignalled, wave.barrier));
}

void GroupBarriers::finish(std::span<Wave *const> waves) {
  for (const WaveState &wave : waves_) {
    if (wave.barriers >= sequence_.size() || !wave.lastAccess)
      continue;
    // It came this far in another way than the others, who were at a barrier on theirs.
    const CheckedInst *skipped = sequence_[wave.barriers];
    if (wave.lastAccess->pc < skipped->pc || executedAt_[wave.lastAccess->number] <= wave.barriers)
      continue;
    BarrierProblem problem = describe(Kind::Waves, skipped);
    problem.other = wave.lastAccess;
    check_.onProblem(*waves[static_cast<size_t>(&wave - waves_.data())], problem);
  }
}

void GroupBarriers::stuck(const Wave &w) { check_.onProblem(w, describe(Kind::Stuck, waves_[w.index].barrier)); }

} // namespace luthier::vgpu
