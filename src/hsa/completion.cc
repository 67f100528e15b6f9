#include "hsa/completion.h"

#include "hsa/callback_scope.h"
#include "support/log.h"
#include "support/thread.h"

#include <hsa/amd_hsa_signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#if __has_feature(thread_sanitizer)
#include <sanitizer/tsan_interface.h>
#endif

namespace luthier::hsa {

namespace {

/// A time in a signal. Whoever uses a signal for several dispatches has the hardware write there at the same time.
uint64_t load(const uint64_t &time) { return __atomic_load_n(&time, __ATOMIC_RELAXED); }

/// What our signal is set to when nobody will count it down: the hardware goes from 1 to 0.
constexpr hsa_signal_value_t kAbandoned = -1;

/// Of the threads that look at signals; usually it is 50 microseconds, more than the shortest pause.
constexpr unsigned long kTimerSlackNs = 1000;

struct Times {
  uint64_t begin = 0, end = 0;
};

/// The times in a completion signal are ticks of the GPU's own clock, which runs at another rate than the system's and
/// started at another time. ROCr's function for dispatch times refuses queues without profiling, so ticks are converted
/// one by one.
Times timesOf(const amd_signal_t &signal, hsa_agent_t agent) {
  // Constant for as long as the process lives.
  static const uint64_t frequency = [] {
    uint64_t hertz = 0;
    const auto known =
        call<ApiId::hsa_system_get_info>(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, static_cast<void *>(&hertz));
    if (!known || hertz == 0) {
      log::warn("kernels have no times: {}", known ? "the system's clock has no frequency" : known.error().message());
      return uint64_t(0);
    }
    return hertz;
  }();
  const uint64_t startTick = load(signal.start_ts), endTick = load(signal.end_ts);
  if (frequency == 0 || startTick == 0 || endTick == 0)
    return {};
  const auto nanoseconds = [&](uint64_t tick) -> uint64_t {
    uint64_t system = 0;
    if (!call<ApiId::hsa_amd_profiling_convert_tick_to_system_domain>(agent, tick, &system))
      return 0;
    constexpr uint64_t kBillion = 1'000'000'000;
    return frequency == kBillion ? system
                                 : static_cast<uint64_t>(static_cast<__uint128_t>(system) * kBillion / frequency);
  };
  // The end first: ROCr may compare the clocks anew for it, and both should be converted with the same result.
  const uint64_t end = nanoseconds(endTick), begin = nanoseconds(startTick);
  return begin && end ? Times{begin, end} : Times{};
}

} // namespace

struct Completions::Watched {
  QueueInfo queue;
  AqlPacket packet; ///< with the application's signal
  hsa_signal_t signal;
  CompletionCallback completed;
  bool told = false; ///< the application knows

  const amd_signal_t &ours() const { return *reinterpret_cast<const amd_signal_t *>(signal.handle); }
  /// Results and arguments are read, or used again, when it is no longer 1: after whatever the GPU did before that.
  hsa_signal_value_t value() const { return __atomic_load_n(&ours().value, __ATOMIC_ACQUIRE); }
};

Completions::Completions(Events &events, HeldWorks &works) : events_(events), works_(works) {}

Completions::~Completions() { stop(); }

Result<hsa_signal_t> Completions::takeSignal() {
  {
    std::lock_guard lock(mutex_);
    if (!freeSignals_.empty()) {
      const hsa_signal_t signal = freeSignals_.back();
      freeSignals_.pop_back();
      return signal;
    }
  }
  hsa_signal_t signal = {};
  LUTHIER_TRY(call<ApiId::hsa_signal_create>(1, 0u, nullptr, &signal));
  return signal;
}

Result<void> Completions::start() {
  std::lock_guard lock(mutex_);
  if (threadRuns_)
    return {};
  threadRuns_ = true;
  process_ = getpid();
  thread_ = std::thread([this, generation = generation_] { run(generation); });
  return {};
}

void Completions::watch(const QueueInfo &queue, PacketBatch::Entry &entry) {
  const auto fail = [&](const Error &error) {
    log::error("a kernel's completion cannot be watched: {}", error.message());
    std::lock_guard lock(mutex_);
    if (entry.completed)
      uncalled_.push_back(std::move(entry.completed));
  };
  if (const auto started = start(); !started)
    return fail(started.error());
  const auto signal = takeSignal();
  if (!signal)
    return fail(signal.error());
  call<ApiId::hsa_signal_store_relaxed>(*signal, hsa_signal_value_t(1));
  auto watched = std::make_unique<Watched>(queue, entry.packet, *signal, std::move(entry.completed));
  entry.packet.setCompletionSignal(*signal);
  std::lock_guard lock(mutex_);
  inFlight_.push_back(std::move(watched));
  work_.notify_all();
}

void Completions::sleep(Lock &lock, Backoff &backoff, const std::function<bool()> &ended) {
  if (inFlight_.empty()) {
    work_.wait(lock, [&] { return !inFlight_.empty() || ended(); });
    backoff.reset();
  } else if (const auto pause = backoff.pause(); pause.count() == 0) {
    lock.unlock();
    std::this_thread::yield();
    lock.lock();
  } else if (work_.wait_for(lock, pause) == std::cv_status::no_timeout) {
    backoff.reset();
  }
}

void Completions::collect() {
  std::deque<std::unique_ptr<Watched>> still;
  for (auto &watched : inFlight_)
    (watched->value() >= 1 ? still : ready_).push_back(std::move(watched));
  inFlight_ = std::move(still);
}

void Completions::run(uint64_t generation) {
  becomeInternalThread("luthier-done");
  prctl(PR_SET_TIMERSLACK, kTimerSlackNs);
  Backoff backoff;
  Lock lock(mutex_);
  while (generation_ == generation) {
    if (ready_.empty())
      collect();
    if (ready_.empty()) {
      sleep(lock, backoff, [&] { return generation_ != generation; });
      continue;
    }
    deliver(lock, generation);
    backoff.reset();
  }
  if (generation_ != generation + 1)
    return; // stop() has not waited
  threadRuns_ = false;
  idle_.notify_all();
}

void Completions::deliver(Lock &lock, uint64_t generation) {
  const std::unique_ptr<Watched> watched = std::move(ready_.front());
  ready_.pop_front();
  running_ = true;
  if (watched->value() != kAbandoned) {
    lock.unlock();
    callBack(*watched, generation);
    lock.lock();
    endStandIn(lock);
    if (generation_ != generation) {
      lock.unlock(); // HSA has gone meanwhile, and our signals with it
      watched->completed = nullptr;
      lock.lock();
      return;
    }
    tellApplication(*watched);
  }
  freeSignals_.push_back(watched->signal);
  running_ = false;
  if (inFlight_.empty() && ready_.empty())
    idle_.notify_all();
  lock.unlock();
  watched->completed = nullptr; // what it holds may take its time, or call us
  lock.lock();
}

/// The application is told early, and so it is of what completes next.
class Completions::Held final : public HeldWork {
public:
  Held(Completions &owner, Watched &watched, uint64_t generation)
      : owner_(owner), watched_(watched), generation_(generation) {}
  bool release() override {
    const Lock lock(owner_.mutex_);
    if (owner_.generation_ != generation_)
      return true; // HSA has gone, and nobody waits for it any more
    owner_.tellApplication(watched_);
    owner_.standInWanted_ = true;
    owner_.standIn_ = std::thread([&owner = owner_, generation = generation_] { owner.standIn(generation); });
    return true;
  }

private:
  Completions &owner_;
  Watched &watched_;
  const uint64_t generation_;
};

void Completions::callBack(Watched &watched, uint64_t generation) {
  if (!watched.completed && events_.kernelCompleted.empty())
    return;
  const Times times = timesOf(watched.ours(), watched.queue.agent);
  Held held(*this, watched, generation);
  const HeldWorks::Holding holding(works_, held);
  const CallbackScope scope;
  const KernelCompletion completion{watched.queue, watched.packet, times.begin, times.end};
  if (watched.completed)
    watched.completed(completion);
  events_.kernelCompleted.raise(completion);
}

void Completions::tellApplication(Watched &watched) {
  if (std::exchange(watched.told, true))
    return;
  const hsa_signal_t signal = watched.packet.completionSignal();
  if (!signal.handle)
    return;
  auto *theirs = reinterpret_cast<amd_signal_t *>(signal.handle);
  __atomic_store_n(&theirs->start_ts, load(watched.ours().start_ts), __ATOMIC_RELAXED);
  __atomic_store_n(&theirs->end_ts, load(watched.ours().end_ts), __ATOMIC_RELAXED);
#if __has_feature(thread_sanitizer)
  __tsan_release(const_cast<int64_t *>(&theirs->value)); // ThreadSanitizer does not see what ROCr does
#endif
  call<ApiId::hsa_signal_subtract_screlease>(signal, hsa_signal_value_t(1));
}

void Completions::standIn(uint64_t generation) {
  becomeInternalThread("luthier-done2");
  prctl(PR_SET_TIMERSLACK, kTimerSlackNs);
  Backoff backoff;
  const auto ended = [&] { return !standInWanted_ || generation_ != generation; };
  Lock lock(mutex_);
  while (!ended()) {
    collect();
    for (const auto &watched : ready_)
      if (watched->value() != kAbandoned)
        tellApplication(*watched);
    sleep(lock, backoff, ended);
  }
}

void Completions::endStandIn(Lock &lock) {
  if (!standIn_.joinable())
    return;
  standInWanted_ = false;
  work_.notify_all();
  std::thread ending = std::move(standIn_);
  lock.unlock();
  ending.join();
  lock.lock();
}

void Completions::abandon(uint64_t queueId) {
  std::lock_guard lock(mutex_);
  // Where the hardware was first, the value is no longer 1 and the dispatch has completed.
  for (const auto &watched : inFlight_)
    if (watched->queue.id == queueId)
      call<ApiId::hsa_signal_cas_scacq_screl>(watched->signal, hsa_signal_value_t(1), kAbandoned);
}

uint64_t Completions::awaited() const {
  std::lock_guard lock(mutex_);
  return inFlight_.size() + ready_.size() + running_;
}

bool Completions::drain(std::chrono::milliseconds timeout) {
  if (process_ != getpid())
    return true; // nothing was watched, or it was by the process that this one was forked from
  Lock lock(mutex_);
  if (thread_.get_id() == std::this_thread::get_id())
    return false; // a callback does not wait for itself
  return idle_.wait_for(lock, timeout, [this] { return inFlight_.empty() && ready_.empty() && !running_; });
}

void Completions::stop(std::chrono::milliseconds timeout) {
  if (process_ != getpid())
    return;
  Lock lock(mutex_);
  ++generation_;
  work_.notify_all();
  endStandIn(lock);
  const bool elsewhere = thread_.get_id() != std::this_thread::get_id();
  const bool ended = elsewhere && idle_.wait_for(lock, timeout, [this] { return !threadRuns_; });
  std::thread thread = std::move(thread_);
  if (thread.joinable() && ended) {
    lock.unlock();
    thread.join();
    lock.lock();
  } else if (thread.joinable()) {
    log::warn("a callback for a completed kernel had not returned when HSA was shut down");
    thread.detach();
  }
  ++generation_;
  threadRuns_ = running_ = false;
  for (auto *list : {&inFlight_, &ready_}) {
    for (const auto &watched : *list)
      if (watched->completed)
        uncalled_.push_back(std::move(watched->completed));
    list->clear();
  }
  // ROCr would call them leaked.
  for (const hsa_signal_t signal : freeSignals_)
    if (auto destroyed = call<ApiId::hsa_signal_destroy>(signal); !destroyed)
      log::debug("{}", destroyed.error().message());
  freeSignals_.clear();
}

} // namespace luthier::hsa
