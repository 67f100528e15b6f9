#include "vgpu/wave/scheduler.h"

#include "support/log.h"
#include "support/thread.h"
#include "support/variables.h"
#include "vgpu/translate/report.h"
#include "vgpu/wave/code_cache.h"
#include "vgpu/wave/decoder.h"
#include "vgpu/wave/device.h"
#include "vgpu/wave/observer.h"
#include "vgpu/wave/stats.h"
#include "vgpu/wave/trace.h"
#include "vgpu/wave/workgroup.h"

#include <algorithm>
#include <chrono>

namespace luthier::vgpu {

namespace {

unsigned defaultThreads() {
  auto threads = env::number(env::kThreads, 0);
  if (!threads) {
    log::error("{}; using all cores", threads.error().message());
    return std::max(1u, std::thread::hardware_concurrency());
  }
  return *threads ? static_cast<unsigned>(*threads) : std::max(1u, std::thread::hardware_concurrency());
}

/// Rounds without a finished workgroup after which a worker takes more of them.
constexpr unsigned kPatience = 4;

/// Rounds in which all that is resident only sleeps (s_sleep, barriers) after which a worker lets others have the core,
/// and after which it sleeps itself. Waves may sleep a while of their own accord, which must cost little; but they may
/// also wait for the host or for another worker, who need the core.
constexpr size_t kRoundsBeforeYield = 256, kRoundsBeforeSleep = 4096;

} // namespace

struct Scheduler::Look {
  Running seen;
  unsigned answers = 0;
  std::condition_variable answered;
};

/// One worker thread's workgroups.
class Scheduler::Worker {
public:
  Worker(Scheduler &scheduler, unsigned index) : scheduler_(scheduler), index_(index) {}

  void run() {
    size_t idleTurns = 0;
    while (refresh()) {
      bool busy = false;
      size_t resident = 0;
      for (Share &share : shares_) {
        busy |= turn(share);
        resident += share.groups.size();
      }
      std::erase_if(shares_, [](const Share &share) { return share.left; });
      if (busy)
        idleTurns = 0;
      else if (++idleTurns > kRoundsBeforeSleep * (resident + 1))
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      else if (idleTurns > kRoundsBeforeYield * (resident + 1))
        std::this_thread::yield();
    }
    for (Share &share : shares_)
      leave(share);
  }

private:
  /// This worker's part of one dispatch.
  struct Share {
    std::shared_ptr<Dispatch> dispatch;
    std::vector<std::unique_ptr<Workgroup>> groups;
    GroupRange taken;
    std::vector<OpcodeCount> counts;
    uint64_t waves = 0;
    uint64_t finished = 0; ///< workgroups that ended
    // Waves of a translated kernel: that ended in translated code, and that it left to the interpreter.
    uint64_t translated = 0, untranslated = 0;
    uint32_t wanted = 1; ///< workgroups to keep resident
    size_t next = 0;     ///< whose turn it is
    bool roundBusy = false, roundEnded = false;
    unsigned roundsWithoutEnd = 0;
    bool exhausted = false; ///< no more workgroups to start
    bool left = false;
  };

  /// Takes up new dispatches; waits while there are none. False when the scheduler stops.
  bool refresh() {
    if (!shares_.empty() && scheduler_.version_.load(std::memory_order_acquire) == seenVersion_)
      return true;
    std::unique_lock lock(scheduler_.mutex_);
    for (;;) {
      if (scheduler_.stop_)
        return false;
      seenVersion_ = scheduler_.version_.load(std::memory_order_relaxed);
      if (scheduler_.look_ != answered_)
        answer();
      for (const auto &[dispatch, submitted] : scheduler_.active_)
        if (std::none_of(shares_.begin(), shares_.end(), [&](const Share &s) { return s.dispatch == dispatch; }) &&
            hasWork(*dispatch))
          shares_.push_back(newShare(dispatch));
      if (!shares_.empty())
        return true;
      scheduler_.wake_.wait(lock);
    }
  }

  /// Says where this worker's waves are. Under the scheduler's lock.
  void answer() {
    answered_ = scheduler_.look_;
    for (const Share &share : shares_) {
      const auto into = std::ranges::find_if(answered_->seen.dispatches,
                                             [&](const auto &running) { return running.dispatch == share.dispatch; });
      if (into == answered_->seen.dispatches.end())
        continue;
      into->groupsEnded += share.finished;
      into->groupsStarted += share.finished + share.groups.size();
      for (const auto &group : share.groups)
        group->addPlaces(into->waves);
    }
    ++answered_->answers;
    answered_->answered.notify_all();
  }

  static bool hasWork(const Dispatch &d) {
    return d.aborted() || d.groupCount_ == 0 || d.nextGroup_.load(std::memory_order_relaxed) < d.groupCount_;
  }

  static Share newShare(const std::shared_ptr<Dispatch> &dispatch) {
    Share share;
    share.dispatch = dispatch;
    dispatch->participants_.fetch_add(1, std::memory_order_acq_rel);
    if (dispatch->counters_)
      share.counts.resize(Decoder::kMaxOpcodes);
    return share;
  }

  /// Runs the dispatch's next resident workgroup for its quantum: one at a time, so that a dispatch with many resident
  /// workgroups gets no larger part of the worker than one with a single wave. True when something ran.
  bool turn(Share &share) {
    Dispatch &dispatch = *share.dispatch;
    if (dispatch.aborted()) {
      leave(share);
      return true;
    }
    const uint64_t finished = share.finished;
    while (share.groups.size() < share.wanted && !share.exhausted && start(share)) {
    }
    if (share.groups.empty()) {
      if (share.exhausted)
        leave(share);
      return share.exhausted || share.finished != finished;
    }
    const uint64_t began = measures(dispatch) ? Device::clock() : 0;
    const auto progress = share.groups[share.next]->run();
    if (began && dispatch.translation_->heats(Device::clock() - began))
      dispatch.findTranslation(0, true);
    const bool busy = progress != Workgroup::Progress::Waiting;
    share.roundBusy |= busy;
    if (progress == Workgroup::Progress::Finished) {
      share.roundEnded = true;
      share.translated += share.groups[share.next]->translatedWaves();
      share.groups.erase(share.groups.begin() + static_cast<std::ptrdiff_t>(share.next));
      ++share.finished;
    } else {
      ++share.next;
    }
    if (share.next >= share.groups.size())
      endRound(share);
    return busy;
  }

  /// Every resident workgroup has had its turn: decides whether more of them are needed.
  static void endRound(Share &share) {
    if (share.roundEnded) {
      share.roundsWithoutEnd = 0;
    } else if (!share.roundBusy || ++share.roundsWithoutEnd >= kPatience) {
      share.roundsWithoutEnd = 0;
      share.wanted = static_cast<uint32_t>(share.groups.size()) * 2 + 1;
    }
    share.next = 0;
    share.roundBusy = share.roundEnded = false;
  }

  /// Whether it matters how long the kernel is interpreted.
  static bool measures(const Dispatch &dispatch) { return dispatch.translation_ && !dispatch.translation_->asked(); }

  /// Translated code for workgroups to come that need not be made; null when they have to, or better are: going over to
  /// a resident workgroup costs more than beginning with it.
  static const TranslatedCode *translationFor(const Share &share) {
    constexpr uint64_t kTries = 64;
    const Translation *translation = share.dispatch->translation_;
    if (!translation || !translation->code() || !Workgroup::runsAlone(*share.dispatch) ||
        (share.untranslated >= kTries && share.untranslated > share.translated))
      return nullptr;
    return translation->code();
  }

  /// Each worker keeps its part of what the modelled GPU could hold: rounded up, unless that must be exact. There may
  /// be none then, and others do the work.
  size_t mostResident(const Dispatch &dispatch) const {
    const size_t workers = scheduler_.workers_.size(), all = dispatch.maxResident_;
    return dispatch.exactResidency_ ? all / workers + (index_ < all % workers) : (all + workers - 1) / workers;
  }

  /// Makes the next workgroup of the grid resident. False when that is not possible now, or when those to come next ran
  /// to their end at once.
  bool start(Share &share) {
    Dispatch &dispatch = *share.dispatch;
    if (share.taken.empty() && dispatch.nextGroup_.load(std::memory_order_relaxed) >= dispatch.groupCount_) {
      share.exhausted = true;
      return false;
    }
    if (share.groups.size() >= mostResident(dispatch))
      return false;
    if (!dispatch.started_.load(std::memory_order_relaxed) && !dispatch.started_.exchange(true))
      dispatch.startTime_ = Device::clock();
    if (const TranslatedCode *code = translationFor(share)) {
      Workgroup::TranslatedRun run = Workgroup::runTranslated(dispatch, *code, pool_, share.taken);
      share.finished += run.groups;
      share.translated += run.waves;
      share.untranslated += run.left;
      if (!run.group)
        return false;
      share.groups.push_back(std::move(run.group));
      return true;
    }
    OpcodeCount *counts = share.counts.empty() ? nullptr : share.counts.data();
    std::unique_ptr<Workgroup> group = Workgroup::startNext(dispatch, pool_, counts, &share.taken);
    if (!group)
      return false;
    share.waves += group->waveCount();
    share.groups.push_back(std::move(group));
    return true;
  }

  /// Drops what is still resident and adds the counts; the last worker to leave a dispatch finishes it.
  void leave(Share &share) {
    if (share.left)
      return;
    share.left = true;
    Dispatch &dispatch = *share.dispatch;
    share.groups.clear();
    dispatch.translatedWaves_.fetch_add(share.translated, std::memory_order_relaxed);
    dispatch.finishedGroups_.fetch_add(share.finished, std::memory_order_acq_rel);
    // Who came too late to run anything must not touch the counts: they may be being read already.
    if (dispatch.counters_ && share.waves)
      dispatch.counters_->merge(share.counts, share.waves);
    const bool last = dispatch.participants_.fetch_sub(1, std::memory_order_acq_rel) == 1;
    const bool over =
        dispatch.aborted() || dispatch.finishedGroups_.load(std::memory_order_acquire) >= dispatch.groupCount_;
    if (last && over && !dispatch.done_.exchange(true))
      scheduler_.finish(share.dispatch);
  }

  Scheduler &scheduler_;
  unsigned index_;
  uint64_t seenVersion_ = 0;
  WavePool pool_;
  std::vector<Share> shares_;
  std::shared_ptr<Look> answered_; ///< the last look that this worker has answered
};

Scheduler::Scheduler(unsigned threads) {
  if (threads == 0)
    threads = defaultThreads();
  for (unsigned n = 0; n < threads; ++n)
    workers_.emplace_back([this, n] {
      becomeInternalThread("vgpu-worker");
      Worker worker(*this, n);
      worker.run();
    });
}

Scheduler::~Scheduler() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
    for (const auto &[dispatch, submitted] : active_)
      dispatch->abort({Fault::Kind::Aborted, 0, false, "the virtual GPU was shut down"});
    version_.fetch_add(1, std::memory_order_release);
  }
  wake_.notify_all();
  for (std::thread &worker : workers_)
    worker.join();
}

void Scheduler::submit(std::shared_ptr<Dispatch> dispatch) {
  {
    std::lock_guard lock(mutex_);
    active_.push_back({std::move(dispatch), std::chrono::steady_clock::now()});
    version_.fetch_add(1, std::memory_order_release);
  }
  wake_.notify_all();
}

std::vector<RunningDispatch> Scheduler::runningLocked() const {
  std::vector<RunningDispatch> running;
  for (const auto &[dispatch, submitted] : active_) {
    const uint64_t ended = dispatch->finishedGroups_.load(std::memory_order_acquire);
    running.push_back({.dispatch = dispatch,
                       .submitted = submitted,
                       .kernel = {},
                       .groupsStarted = ended,
                       .groupsEnded = ended,
                       .waves = {}});
  }
  return running;
}

std::vector<RunningDispatch> Scheduler::running() {
  std::lock_guard lock(mutex_);
  return runningLocked();
}

Running Scheduler::look(std::chrono::milliseconds patience) {
  const auto look = std::make_shared<Look>();
  std::unique_lock lock(mutex_);
  look->seen.dispatches = runningLocked();
  for (RunningDispatch &running : look->seen.dispatches) {
    const Dispatch &dispatch = *running.dispatch;
    running.kernel = dispatch.kernelName();
    running.entry = dispatch.entry() ? dispatch.entryChunk()->pc(dispatch.entry()) : 0;
  }
  look_ = look;
  version_.fetch_add(1, std::memory_order_release);
  wake_.notify_all();
  look->answered.wait_for(lock, patience, [&] { return look->answers == workers_.size(); });
  look->seen.silentWorkers = static_cast<unsigned>(workers_.size()) - look->answers;
  // A copy: who comes late still writes into it.
  return look->seen;
}

void Scheduler::finish(const std::shared_ptr<Dispatch> &dispatch) {
  dispatch->endTime_ = Device::clock();
  dispatch->settle();
  {
    std::lock_guard lock(mutex_);
    std::erase_if(active_, [&](const Active &active) { return active.dispatch == dispatch; });
    version_.fetch_add(1, std::memory_order_release);
  }
  if (dispatch->device_.stats())
    dispatch->device_.stats()->add(*dispatch, *dispatch->counters_, dispatch->kernelName(), dispatch->decoder());
  if (TranslationReport::wanted() && dispatch->entry_) {
    const Translation *translation = dispatch->translation_;
    const bool translated = translation && translation->code();
    TranslationReport::process().add(dispatch->kernelName(), {.translated = translated,
                                                              .why = translated    ? std::string()
                                                                     : translation ? translation->why()
                                                                                   : dispatch->interpreted_,
                                                              .waves = dispatch->waves_,
                                                              .translatedWaves = dispatch->translatedWaves()});
  }
  if (const Observation *observation = dispatch->observation_.get())
    observation->endRaces();
  if (Observation *observation = dispatch->observation_.get(); observation && observation->trace) {
    observation->accessSums.write(*observation);
    observation->trace->flush();
  }
  if (dispatch->onDone_)
    dispatch->onDone_(*dispatch);
}

} // namespace luthier::vgpu
