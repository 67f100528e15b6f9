#include "hsa/callback_waits.h"

#include "hsa/interceptor.h"
#include "hsa/signal.h"

#include <algorithm>

namespace luthier::hsa {

namespace {

HeldWorks &heldWorks() { return Interceptor::instance().heldWorks(); }

/// What a callback has read, whoever it asked.
void noteRead(uint64_t source, int64_t value) {
  static thread_local PollDetector &detector = *new PollDetector; // for threads that still call while they end
  if (detector.isWaiting(Interceptor::callbackNumber(), source, value))
    heldWorks().releaseAll();
}

bool isMetNow(hsa_signal_t signal, hsa_signal_condition_t condition, hsa_signal_value_t wanted) {
  return isMet(original().core.hsa_signal_load_relaxed_fn(signal), condition, wanted);
}

/// In ticks of HSA's timeouts.
uint64_t ticksPerLook() {
  static const uint64_t ticks = [] {
    uint64_t frequency = 0;
    if (!call<ApiId::hsa_system_get_info>(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, static_cast<void *>(&frequency)))
      frequency = 0;
    return frequency ? frequency / 4 : UINT64_MAX;
  }();
  return ticks;
}

/// `wait(timeout)` until `done(what it returned)`; a part of the timeout at a time.
template <class Wait, class Done> auto waitAndLook(uint64_t timeout, Wait wait, Done done) {
  const uint64_t most = ticksPerLook();
  for (;;) {
    const uint64_t part = std::min(timeout, most);
    const auto result = wait(part);
    if (timeout != UINT64_MAX)
      timeout -= part;
    if (timeout == 0 || done(result))
      return result;
    heldWorks().releaseStalled();
  }
}

template <ApiId id>
hsa_signal_value_t waitFor(hsa_signal_t signal, hsa_signal_condition_t condition, hsa_signal_value_t value,
                           uint64_t timeout, hsa_wait_state_t state) {
  const auto wait = ApiCall<id>::entry(original());
  if (!Interceptor::insideCallback())
    return waitAndLook(
        timeout, [&](uint64_t part) { return wait(signal, condition, value, part, state); },
        [&](hsa_signal_value_t now) { return isMet(now, condition, value); });
  if (isMetNow(signal, condition, value))
    return wait(signal, condition, value, timeout, state);
  const HeldWorks::Waiting waiting(heldWorks());
  return wait(signal, condition, value, timeout, state);
}

uint32_t waitForAny(uint32_t count, hsa_signal_t *signals, hsa_signal_condition_t *conditions,
                    hsa_signal_value_t *values, uint64_t timeout, hsa_wait_state_t state,
                    hsa_signal_value_t *satisfying) {
  const auto wait = original().amd.hsa_amd_signal_wait_any_fn;
  if (!Interceptor::insideCallback())
    return waitAndLook(
        timeout, [&](uint64_t part) { return wait(count, signals, conditions, values, part, state, satisfying); },
        [&](uint32_t index) { return index < count; });
  bool met = !signals || !conditions || !values;
  for (uint32_t n = 0; n < count && !met; ++n)
    met = isMetNow(signals[n], conditions[n], values[n]);
  if (met)
    return wait(count, signals, conditions, values, timeout, state, satisfying);
  const HeldWorks::Waiting waiting(heldWorks());
  return wait(count, signals, conditions, values, timeout, state, satisfying);
}

template <ApiId id> hsa_signal_value_t load(hsa_signal_t signal) {
  const hsa_signal_value_t value = ApiCall<id>::entry(original())(signal);
  if (Interceptor::insideCallback())
    noteRead(signal.handle, value);
  return value;
}

template <ApiId id> uint64_t readIndex(const hsa_queue_t *queue) {
  const uint64_t index = ApiCall<id>::entry(original())(queue);
  if (Interceptor::insideCallback())
    noteRead(reinterpret_cast<uint64_t>(queue), static_cast<int64_t>(index));
  return index;
}

} // namespace

void watchWaitsInCallbacks(Interceptor &interceptor) {
  Interceptor &i = interceptor;
  i.replace<ApiId::hsa_signal_wait_relaxed>(waitFor<ApiId::hsa_signal_wait_relaxed>);
  i.replace<ApiId::hsa_signal_wait_scacquire>(waitFor<ApiId::hsa_signal_wait_scacquire>);
  i.replace<ApiId::hsa_amd_signal_wait_any>(waitForAny);
  i.replace<ApiId::hsa_signal_load_relaxed>(load<ApiId::hsa_signal_load_relaxed>);
  i.replace<ApiId::hsa_signal_load_scacquire>(load<ApiId::hsa_signal_load_scacquire>);
  i.replace<ApiId::hsa_queue_load_read_index_relaxed>(readIndex<ApiId::hsa_queue_load_read_index_relaxed>);
  i.replace<ApiId::hsa_queue_load_read_index_scacquire>(readIndex<ApiId::hsa_queue_load_read_index_scacquire>);
}

} // namespace luthier::hsa
