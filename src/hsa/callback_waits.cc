#include "hsa/callback_waits.h"

#include "hsa/backoff.h"
#include "hsa/callback_scope.h"
#include "hsa/signal.h"

#include <algorithm>
#include <optional>
#include <thread>

namespace luthier::hsa {

namespace {

bool isMetNow(hsa_signal_t signal, hsa_signal_condition_t condition, hsa_signal_value_t wanted) {
  return isMet(original<ApiId::hsa_signal_load_relaxed>()(signal), condition, wanted);
}

/// Of HSA's timeouts, per second; 0 when that is not known.
uint64_t tickFrequency() {
  static const uint64_t frequency = [] {
    uint64_t hertz = 0;
    return call<ApiId::hsa_system_get_info>(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, static_cast<void *>(&hertz)) ? hertz
                                                                                                              : 0;
  }();
  return frequency;
}

uint64_t ticksPerLook() { return tickFrequency() ? tickFrequency() / 4 : UINT64_MAX; }

/// Signals and what is wanted of them. Those without a handle are never waited for.
struct Several {
  uint32_t count;
  const hsa_signal_t *signals;
  const hsa_signal_condition_t *conditions;
  const hsa_signal_value_t *values;

  bool valid() const { return count == 0 || (signals && conditions && values); }
  /// The first that is met, if `all` are wanted 0 when all are. The values that met conditions go to `satisfying`: to
  /// the places of their signals where all are wanted, else the one to the first.
  std::optional<uint32_t> look(bool all, hsa_signal_value_t *satisfying) const {
    bool each = true;
    for (uint32_t n = 0; n < count; ++n) {
      const hsa_signal_value_t now =
          signals[n].handle ? original<ApiId::hsa_signal_load_scacquire>()(signals[n]) : hsa_signal_value_t(0);
      const bool met = signals[n].handle ? isMet(now, conditions[n], values[n]) : all;
      each &= met;
      if (!met)
        continue;
      if (satisfying)
        satisfying[all ? n : 0] = now;
      if (!all)
        return n;
    }
    return all && each ? std::optional(0u) : std::nullopt;
  }
};

constexpr uint32_t kInVain = UINT32_MAX; ///< what ROCr returns then

} // namespace

/// What a callback has read, whoever it asked.
void CallbackWaits::noteRead(uint64_t source, int64_t value) {
  static thread_local PollDetector &detector = *new PollDetector; // for threads that still call while they end
  if (detector.isWaiting(CallbackScope::number(), source, value))
    works_.releaseAll();
}

/// `wait(timeout)` until `done(what it returned)`; a part of the timeout at a time. HIP 7 waits in a loop with a short
/// timeout, so that a wait in vain looks whatever its timeout was.
template <class Wait, class Done> auto CallbackWaits::waitAndLook(uint64_t timeout, Wait wait, Done done) {
  const uint64_t most = ticksPerLook();
  for (;;) {
    const uint64_t part = std::min(timeout, most);
    const auto result = wait(part);
    if (timeout != UINT64_MAX)
      timeout -= part;
    if (done(result))
      return result;
    works_.releaseStalled();
    if (timeout == 0)
      return result;
  }
}

template <ApiId id> void CallbackWaits::replaceWait() {
  replacements_.push_back(
      calls::replace<id>([this](hsa_signal_t signal, hsa_signal_condition_t condition, hsa_signal_value_t value,
                                uint64_t timeout, hsa_wait_state_t state) {
        const auto wait = original<id>();
        if (RocrScope::inside()) // ROCr's own, for what nobody holds up
          return wait(signal, condition, value, timeout, state);
        if (!CallbackScope::inside())
          return waitAndLook(
              timeout, [&](uint64_t part) { return wait(signal, condition, value, part, state); },
              [&](hsa_signal_value_t now) { return isMet(now, condition, value); });
        if (isMetNow(signal, condition, value))
          return wait(signal, condition, value, timeout, state);
        const HeldWorks::Waiting waiting(works_);
        return wait(signal, condition, value, timeout, state);
      }));
}

template <ApiId id> void CallbackWaits::replaceWaitForSeveral(bool all) {
  replacements_.push_back(calls::replace<id>(
      [this, all](uint32_t count, hsa_signal_t *signals, hsa_signal_condition_t *conditions, hsa_signal_value_t *values,
                  uint64_t timeout, hsa_wait_state_t, hsa_signal_value_t *satisfying) {
        const Several several{count, signals, conditions, values};
        if (!several.valid())
          return kInVain;
        if (const auto met = several.look(all, satisfying))
          return *met;
        std::optional<HeldWorks::Waiting> waiting;
        if (CallbackScope::inside() && !RocrScope::inside())
          waiting.emplace(works_);
        const auto begin = Backoff::Clock::now();
        return waitAndLook(
            timeout,
            [&](uint64_t part) {
              const double seconds = tickFrequency() ? static_cast<double>(part) / tickFrequency() : 1e9;
              const auto partBegin = Backoff::Clock::now();
              for (;;) {
                if (const auto met = several.look(all, satisfying))
                  return *met;
                const auto now = Backoff::Clock::now();
                if (std::chrono::duration<double>(now - partBegin).count() >= seconds)
                  return kInVain;
                if (const auto pause = Backoff::pauseAfter(now - begin); pause.count())
                  std::this_thread::sleep_for(pause);
                else
                  std::this_thread::yield();
              }
            },
            [](uint32_t result) { return result != kInVain; });
      }));
}

template <ApiId id> void CallbackWaits::replaceLoad() {
  replacements_.push_back(calls::replace<id>([this](hsa_signal_t signal) {
    const hsa_signal_value_t value = original<id>()(signal);
    if (CallbackScope::inside() && !RocrScope::inside())
      noteRead(signal.handle, value);
    return value;
  }));
}

template <ApiId id> void CallbackWaits::replaceReadIndex() {
  replacements_.push_back(calls::replace<id>([this](const hsa_queue_t *queue) {
    const uint64_t index = original<id>()(queue);
    if (CallbackScope::inside() && !RocrScope::inside())
      noteRead(reinterpret_cast<uint64_t>(queue), static_cast<int64_t>(index));
    return index;
  }));
}

CallbackWaits::CallbackWaits(HeldWorks &works) : works_(works) {
  replaceWait<ApiId::hsa_signal_wait_relaxed>();
  replaceWait<ApiId::hsa_signal_wait_scacquire>();
  replaceWaitForSeveral<ApiId::hsa_amd_signal_wait_any>(false);
  replaceWaitForSeveral<ApiId::hsa_amd_signal_wait_all>(true);
  replaceLoad<ApiId::hsa_signal_load_relaxed>();
  replaceLoad<ApiId::hsa_signal_load_scacquire>();
  replaceReadIndex<ApiId::hsa_queue_load_read_index_relaxed>();
  replaceReadIndex<ApiId::hsa_queue_load_read_index_scacquire>();
}

} // namespace luthier::hsa
