#include "vgpu/wave/observer.h"

#include "vgpu/exec/modes.h"
#include "vgpu/exec/row.h"
#include "vgpu/state/fp_mode.h"
#include "vgpu/wave/device.h"
#include "vgpu/wave/dispatch.h"
#include "vgpu/wave/kernel_descriptor.h"
#include "vgpu/wave/race_global.h"
#include "vgpu/wave/stats.h"
#include "vgpu/wave/strict_caches.h"
#include "vgpu/wave/strict_resources.h"
#include "vgpu/wave/trace.h"
#include "vgpu/wave/waits.h"
#include "vgpu/wave/wave_checks.h"

#include <bit>

#include <fmt/format.h>

namespace luthier::vgpu {

std::unique_ptr<Observation> Observation::of(const Dispatch &dispatch) {
  const Launch &launch = dispatch.launch();
  std::shared_ptr<Trace> trace = launch.trace ? launch.trace : dispatch.device().trace;
  const bool strictWaits = launch.strictWaits || dispatch.device().strictWaits;
  const std::shared_ptr<const Poison> &poison = launch.poison ? launch.poison : dispatch.device().poison;
  const std::shared_ptr<const StrictResources> &strictResources =
      launch.strictResources ? launch.strictResources : dispatch.device().strictResources;
  auto observation = std::make_unique<Observation>();
  if (trace || strictWaits)
    observation->kernel = dispatch.kernelName();
  if (trace) {
    observation->number = Trace::nextDispatch(); // also of those that the filter leaves out
    if (!trace->wantsKernel(observation->kernel))
      trace = nullptr;
  }
  if (!trace && !strictWaits && !poison && !strictResources && !dispatch.device().checkedCode)
    return nullptr;
  observation->trace = std::move(trace);
  observation->strictWaits = strictWaits;
  observation->poison = poison;
  if (strictResources) {
    observation->strictResources = strictResources;
    observation->machine = std::make_unique<StrictMachine>(*strictResources, dispatch);
    observation->caches = std::make_unique<StrictCaches>(dispatch, strictResources->vectorL1);
    observation->operands.physical = &observation->machine->registers;
  }
  if (const auto &race = dispatch.device().raceCheck) {
    observation->race = race;
    const auto begun = race->memory().begin(dispatch, dispatch.groupCount() * dispatch.start().fullWaves(),
                                            dispatch.start().fullWaves());
    observation->raceFirstWave = begun.firstWave;
    observation->raceDispatch = begun.dispatch;
    if (!begun.firstWave && race->onNotChecked)
      race->onNotChecked(fmt::format("races in memory of {}: it has too many waves", dispatch.kernelName()));
  }
  observation->entry = entryAt(launch.kernelObject, dispatch.device().target());
  return observation;
}

void Observation::endRaces() const {
  if (race)
    race->memory().end(raceDispatch);
}

/// A dispatch that did not come to its end has accessed memory too.
Observation::~Observation() {
  endRaces();
  if (trace)
    accessSums.write(*this);
}

WaveObserver::WaveObserver(Observation &observation, uint64_t waveNumber, GroupChecks *group)
    : observation_(observation) {
  if (group)
    checks_ = std::make_unique<WaveChecks>(*group);
  if (observation.trace && observation.trace->wantsWave(waveNumber)) {
    if (observation.trace->content() == TraceContent::AccessSums)
      sums_ = std::make_unique<WaveAccessSums>(observation);
    else
      tracer_ = std::make_unique<WaveTracer>(observation, waveNumber);
  }
  if (observation.strictWaits)
    waits_ = std::make_unique<WaitChecker>();
  if (observation.poison)
    poisoner_ = std::make_unique<WavePoisoner>(observation, waveNumber);
  if (observation.machine) {
    resources_ = std::make_unique<WaveResources>(*observation.machine, waveNumber);
    caches_ = std::make_unique<WaveCaches>(*observation.caches);
  }
}

WaveObserver::~WaveObserver() {
  if (caches_)
    observation_.strictResources->totals.staleWords += caches_->stale();
}

void WaveObserver::start(Wave &w) {
  if (resources_)
    resources_->start(w);
  if (checks_)
    checks_->start(w);
}

bool WaveObserver::before(Wave &w, const Inst *inst) {
  if (resources_)
    resources_->notice(w);
  unseen_ =
      !tracer_ && !resources_ && !poisoner_ && (!waits_ || (waits_->idle() && observation_.operands.isPlain(*inst)));
  if (!unseen_) {
    operands_ = &observation_.operands.of(w, inst, operands_);
    if (!operands_->disagreement.empty()) {
      w.illegal(inst,
                fmt::format("cannot be checked, because what is known of its registers contradicts itself: as the "
                            "manual encodes it, it {}",
                            operands_->disagreement)
                    .c_str());
      return false;
    }
  }
  if (poisoner_) {
    poisoner_->before(w, inst);
    if (resources_)
      resources_->undoPoison(w);
  }
  if (sums_)
    sums_->before(w, inst);
  if (unseen_)
    return true;
  if (resources_ && !resources_->check(w, inst, *operands_))
    return false;
  if (waits_ && !waits_->before(w, inst, *operands_))
    return false;
  if (tracer_)
    tracer_->before(w, inst, *operands_);
  if (resources_) {
    caches_->enter(w, *operands_);
    resources_->enter(w, *operands_);
  }
  return true;
}

void WaveObserver::after(Wave &w, const Inst *inst) {
  if (resources_) {
    resources_->leave(w);
    caches_->leave(w, inst, *operands_);
  }
  if (tracer_)
    tracer_->after(w, inst, *operands_);
  if (sums_ && w.stop != Stop::Fault)
    sums_->after();
  if (waits_ && !unseen_ && w.stop != Stop::Fault)
    waits_->after(w, inst, *operands_);
  if (resources_ && w.stop != Stop::Fault)
    resources_->settle(w, inst, *operands_);
}

void runObserved(Wave &w, uint64_t &budget) {
  const Inst *ip = w.ip;
  for (; budget != 0; --budget) {
    const Inst *next;
    if (ip->words == 0) { // the hop between chunks
      next = ip->fn(w, ip);
    } else {
      if (!w.observer->before(w, ip)) {
        --budget;
        return;
      }
      if (w.counts)
        w.counts[ip->opcode].add(static_cast<uint64_t>(std::popcount(w.exec())));
      _mm_setcsr(ip->flags & kF64Mode ? mxcsrForF64(w.mode) : mxcsrForF32(w.mode));
      next = w.mode & kModal ? executeModal(w, ip) : single(*ip)(w, ip);
      w.observer->after(w, ip);
    }
    if (!next) {
      --budget;
      return;
    }
    ip = next;
  }
  w.ip = ip;
}

} // namespace luthier::vgpu
