// Signals: the 64-bit values through which hosts, agents and packets tell each other what happened.
//
// Operations have the memory order that is right for their usual purpose: loads and waits acquire, changes release.
#pragma once

#include "hsa/agent.h"

#include <chrono>
#include <functional>
#include <optional>

namespace luthier::hsa {

/// Whether a wait is over. One for a condition that HSA does not have is: what to say of it is ROCr's business.
bool isMet(hsa_signal_value_t value, hsa_signal_condition_t condition, hsa_signal_value_t wanted);

class Signal;
using OwnedSignal = Owned<Signal>;

class Signal : public Handle<Signal, hsa_signal_t> {
public:
  static constexpr std::string_view kWhat = "signal";
  using Handle::Handle;
  using Value = hsa_signal_value_t;

  /// `consumers`: the agents that may wait for it; all when empty.
  static Result<OwnedSignal> create(Value initial, std::span<const Agent> consumers = {});
  Result<void> destroy() const;

  Value load() const;
  void store(Value value) const;
  void add(Value value) const;
  void subtract(Value value) const;
  Value exchange(Value value) const; ///< returns the value before
  /// The value that met the condition; none when that did not happen in time.
  std::optional<Value> wait(hsa_signal_condition_t condition, Value value,
                            std::chrono::nanoseconds timeout = std::chrono::nanoseconds::max(),
                            hsa_wait_state_t how = HSA_WAIT_STATE_BLOCKED) const;
};

/// Ticks per second of HSA_SYSTEM_INFO_TIMESTAMP.
Result<uint64_t> timestampFrequency();
Result<uint64_t> timestamp();

} // namespace luthier::hsa
