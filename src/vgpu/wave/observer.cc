#include "vgpu/wave/observer.h"

#include "vgpu/exec/modes.h"
#include "vgpu/exec/row.h"
#include "vgpu/state/code_chunk.h"
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
  const auto &waitCheck = launch.waitCheck ? launch.waitCheck : dispatch.device().waitCheck;
  const auto &initCheck = launch.initCheck ? launch.initCheck : dispatch.device().initCheck;
  if (!trace && !strictWaits && !poison && !strictResources && !waitCheck && !initCheck &&
      !dispatch.device().checkedCode)
    return nullptr;
  observation->trace = std::move(trace);
  observation->strictWaits = strictWaits;
  if (!strictWaits)
    observation->waitCheck = waitCheck;
  observation->initCheck = initCheck;
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

WaveObserver::WaveObserver(Observation &observation, uint64_t waveNumber, GroupChecks *group,
                           UndefinedBytes *undefinedLds)
    : observation_(observation) {
  if (group)
    checks_ = std::make_unique<WaveChecks>(*group);
  if (observation.trace && observation.trace->wantsWave(waveNumber)) {
    if (observation.trace->content() == TraceContent::AccessSums)
      sums_ = std::make_unique<WaveAccessSums>(observation);
    else
      tracer_ = std::make_unique<WaveTracer>(observation, waveNumber);
  }
  if (observation.strictWaits || observation.waitCheck)
    waits_ = std::make_unique<WaitChecker>(observation.waitCheck.get());
  if (observation.initCheck)
    init_ = std::make_unique<WaveInit>(*observation.initCheck, *undefinedLds);
  if (observation.poison)
    poisoner_ = std::make_unique<WavePoisoner>(observation, waveNumber);
  if (observation.machine) {
    resources_ = std::make_unique<WaveResources>(*observation.machine, waveNumber);
    caches_ = std::make_unique<WaveCaches>(*observation.caches);
  }
  checksAlone_ = !tracer_ && !sums_ && !poisoner_ && !resources_;
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
  if (init_)
    init_->start(w);
}

/// Whether no check has anything to do with it. Finds `operands_`.
bool WaveObserver::passes(const Wave &w, const Inst *inst) {
  if (w.chunk != chunk_) {
    chunk_ = w.chunk;
    table_ = &observation_.operands.tableOf(*chunk_);
  }
  auto &entry = (*table_)[static_cast<size_t>(inst - chunk_->at(chunk_->base()))];
  const OperandCache::Known *known = entry.load(std::memory_order_acquire);
  if (!known) {
    known = &observation_.operands.of(w, inst);
    entry.store(known, std::memory_order_release);
  }
  operands_ = known;
  return known->isPlain && !(w.mode & kModal) && !(waits_ && known->names(waits_->awaited())) &&
         !(init_ && known->names(init_->undefined()));
}

bool WaveObserver::refuses(Wave &w, const Inst *inst) const {
  if (operands_->disagreement.empty())
    return false;
  w.illegal(inst, fmt::format("cannot be checked, because what is known of its registers contradicts itself: as the "
                              "manual encodes it, it {}",
                              operands_->disagreement)
                      .c_str());
  return true;
}

bool WaveObserver::before(Wave &w, const Inst *inst) {
  if (checksAlone_) {
    unseen_ = passes(w, inst);
    if (unseen_)
      return true;
    if (refuses(w, inst) || (waits_ && !waits_->before(w, inst, *operands_)))
      return false;
    if (init_)
      init_->before(w, inst, *operands_);
    return true;
  }
  if (resources_)
    resources_->notice(w);
  unseen_ = !tracer_ && !resources_ && !poisoner_ && !init_ &&
            (!waits_ || (waits_->idle() && observation_.operands.isPlain(*inst)));
  if (!unseen_) {
    operands_ = &observation_.operands.of(w, inst, operands_);
    if (refuses(w, inst))
      return false;
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
  if (init_)
    init_->before(w, inst, *operands_);
  if (tracer_)
    tracer_->before(w, inst, *operands_);
  if (resources_) {
    caches_->enter(w, *operands_);
    resources_->enter(w, *operands_);
  }
  return true;
}

void WaveObserver::after(Wave &w, const Inst *inst) {
  if (unseen_ && checksAlone_)
    return;
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
  if (init_ && !unseen_ && w.stop != Stop::Fault)
    init_->after(w, inst, *operands_);
  if (resources_ && w.stop != Stop::Fault)
    resources_->settle(w, inst, *operands_);
}

void runObserved(Wave &w, uint64_t &budget) {
  const Inst *ip = w.ip;
  const uint32_t forF32 = mxcsrForF32(w.mode), forF64 = mxcsrForF64(w.mode); // a change of MODE ends the loop
  uint32_t current = 0;                                                      // nobody's
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
      if (const uint32_t wanted = ip->flags & kF64Mode ? forF64 : forF32; wanted != current)
        _mm_setcsr(current = wanted);
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
