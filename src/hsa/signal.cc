#include "hsa/signal.h"

#include <algorithm>
#include <memory>

namespace luthier::hsa {

namespace {

template <class T> Result<T> systemInfo(hsa_system_info_t attribute) {
  T value{};
  LUTHIER_TRY(call<ApiId::hsa_system_get_info>(attribute, static_cast<void *>(&value)));
  return value;
}

} // namespace

bool isMet(hsa_signal_value_t value, hsa_signal_condition_t condition, hsa_signal_value_t wanted) {
  switch (condition) {
  case HSA_SIGNAL_CONDITION_EQ:
    return value == wanted;
  case HSA_SIGNAL_CONDITION_NE:
    return value != wanted;
  case HSA_SIGNAL_CONDITION_LT:
    return value < wanted;
  case HSA_SIGNAL_CONDITION_GTE:
    return value >= wanted;
  }
  return true;
}

Result<uint64_t> timestampFrequency() { return systemInfo<uint64_t>(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY); }
Result<uint64_t> timestamp() { return systemInfo<uint64_t>(HSA_SYSTEM_INFO_TIMESTAMP); }

Result<OwnedSignal> Signal::create(Value initial, std::span<const Agent> consumers) {
  std::vector<hsa_agent_t> raw;
  for (const Agent agent : consumers)
    raw.push_back(agent.raw());
  hsa_signal_t signal = {};
  LUTHIER_TRY(call<ApiId::hsa_signal_create>(initial, static_cast<uint32_t>(raw.size()),
                                             raw.empty() ? nullptr : raw.data(), &signal));
  return OwnedSignal(Signal(signal));
}

Result<void> Signal::destroy() const {
  LUTHIER_TRY(check("destroying"));
  lifetime::noteDestruction(value());
  return call<ApiId::hsa_signal_destroy>(raw_);
}

Signal::Value Signal::load() const { return usable("loading") ? call<ApiId::hsa_signal_load_scacquire>(raw_) : 0; }

void Signal::store(Value value) const {
  if (usable("storing"))
    call<ApiId::hsa_signal_store_screlease>(raw_, value);
}

void Signal::add(Value value) const {
  if (usable("adding"))
    call<ApiId::hsa_signal_add_screlease>(raw_, value);
}

void Signal::subtract(Value value) const {
  if (usable("subtracting"))
    call<ApiId::hsa_signal_subtract_screlease>(raw_, value);
}

Signal::Value Signal::exchange(Value value) const {
  return usable("exchanging") ? call<ApiId::hsa_signal_exchange_scacq_screl>(raw_, value) : 0;
}

std::optional<Signal::Value> Signal::wait(hsa_signal_condition_t condition, Value value,
                                          std::chrono::nanoseconds timeout, hsa_wait_state_t how) const {
  if (!usable("waiting"))
    return std::nullopt;
  const auto begin = std::chrono::steady_clock::now();
  const bool forever = timeout == std::chrono::nanoseconds::max();
  const auto frequency = forever ? Result<uint64_t>(uint64_t(0)) : timestampFrequency();
  for (;;) {
    uint64_t ticks = UINT64_MAX;
    if (!forever && frequency) {
      const auto left = std::max(timeout - (std::chrono::steady_clock::now() - begin), std::chrono::nanoseconds(0));
      ticks = static_cast<uint64_t>(std::chrono::duration<double>(left).count() * static_cast<double>(*frequency));
    }
    // HSA may return early for any reason, with a value that does not meet the condition.
    const Value now = call<ApiId::hsa_signal_wait_scacquire>(raw_, condition, value, ticks, how);
    if (isMet(now, condition, value))
      return now;
    if (!forever && std::chrono::steady_clock::now() - begin >= timeout)
      return std::nullopt;
  }
}

} // namespace luthier::hsa
