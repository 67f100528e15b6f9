#include "hsa/completion.h"

#include "support/log.h"

#include <hsa/amd_hsa_signal.h>

namespace luthier::hsa {

namespace {

/// What our signal is set to when nobody will count it down: the hardware goes from 1 to 0.
constexpr hsa_signal_value_t kAbandoned = -1;

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
  if (frequency == 0 || signal.start_ts == 0 || signal.end_ts == 0)
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
  const uint64_t end = nanoseconds(signal.end_ts), begin = nanoseconds(signal.start_ts);
  return begin && end ? Times{begin, end} : Times{};
}

} // namespace

struct Completions::Watched {
  Completions *owner;
  QueueInfo queue;
  AqlPacket packet; ///< with the application's signal
  hsa_signal_t signal;
  CompletionCallback completed;
  Watched *previous = nullptr, *next = nullptr;
};

void Completions::link(Watched *watched) {
  watched->next = inFlight_;
  if (inFlight_)
    inFlight_->previous = watched;
  inFlight_ = watched;
  ++inFlightCount_;
}

void Completions::unlink(Watched *watched) {
  (watched->previous ? watched->previous->next : inFlight_) = watched->next;
  if (watched->next)
    watched->next->previous = watched->previous;
  --inFlightCount_;
}

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

void Completions::watch(const QueueInfo &queue, PacketBatch::Entry &entry) {
  const auto fail = [&](const Error &error) {
    log::error("a kernel's completion cannot be watched: {}", error.message());
    std::lock_guard lock(mutex_);
    if (entry.completed)
      unwatched_.push_back(std::move(entry.completed));
  };
  const auto signal = takeSignal();
  if (!signal)
    return fail(signal.error());
  call<ApiId::hsa_signal_store_relaxed>(*signal, hsa_signal_value_t(1));
  auto watched = std::unique_ptr<Watched>(new Watched{this, queue, entry.packet, *signal, std::move(entry.completed)});
  {
    std::lock_guard lock(mutex_);
    link(watched.get());
  }
  const auto registered = call<ApiId::hsa_amd_signal_async_handler>(
      *signal, HSA_SIGNAL_CONDITION_LT, hsa_signal_value_t(1), handle, static_cast<void *>(watched.get()));
  if (!registered) {
    entry.completed = std::move(watched->completed);
    fail(registered.error());
    std::lock_guard lock(mutex_);
    freeSignals_.push_back(*signal);
    unlink(watched.get());
    return;
  }
  watched.release(); // `handle` has it now
  entry.packet.setCompletionSignal(*signal);
}

bool Completions::handle(hsa_signal_value_t, void *data) {
  std::unique_ptr<Watched> watched(static_cast<Watched *>(data));
  Completions *owner = watched->owner;
  owner->finish(std::move(watched));
  return false; // once
}

void Completions::finish(std::unique_ptr<Watched> watched) {
  // Results and arguments are read, or used again, from here on: after whatever the GPU did before it counted down.
  const auto *signal = reinterpret_cast<const amd_signal_t *>(watched->signal.handle);
  if (__atomic_load_n(&signal->value, __ATOMIC_ACQUIRE) != kAbandoned)
    tell(*watched);
  std::lock_guard lock(mutex_);
  freeSignals_.push_back(watched->signal);
  unlink(watched.get());
  if (!inFlight_)
    idle_.notify_all();
}

void Completions::tell(const Watched &watched) {
  const auto *ours = reinterpret_cast<const amd_signal_t *>(watched.signal.handle);
  {
    Interceptor::CallbackScope scope;
    const Times times = timesOf(*ours, watched.queue.agent);
    const KernelCompletion completion{watched.queue, watched.packet, times.begin, times.end};
    if (watched.completed)
      watched.completed(completion);
    interceptor_.kernelCompleted().raise(completion);
  }
  if (const hsa_signal_t signal = watched.packet.completionSignal(); signal.handle) {
    auto *theirs = reinterpret_cast<amd_signal_t *>(signal.handle);
    theirs->start_ts = ours->start_ts;
    theirs->end_ts = ours->end_ts;
    call<ApiId::hsa_signal_subtract_screlease>(signal, hsa_signal_value_t(1));
  }
}

void Completions::abandon(uint64_t queueId) {
  std::lock_guard lock(mutex_);
  // Where the hardware was first, the value is no longer 1 and the dispatch has completed; `finish` is on its way. For
  // the others, this is what calls it.
  for (const Watched *watched = inFlight_; watched; watched = watched->next)
    if (watched->queue.id == queueId)
      call<ApiId::hsa_signal_cas_scacq_screl>(watched->signal, hsa_signal_value_t(1), kAbandoned);
}

uint64_t Completions::awaited() const {
  std::lock_guard lock(mutex_);
  return inFlightCount_;
}

bool Completions::drain(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  return idle_.wait_for(lock, timeout, [this] { return !inFlight_; });
}

void Completions::releaseSignals() {
  std::lock_guard lock(mutex_);
  for (const hsa_signal_t signal : freeSignals_)
    if (auto destroyed = call<ApiId::hsa_signal_destroy>(signal); !destroyed)
      log::debug("{}", destroyed.error().message());
  freeSignals_.clear();
}

} // namespace luthier::hsa
