// Barrier-AND and barrier-OR packets: up to five signals; handle 0 counts as satisfied for AND and as absent for OR.
#include "vgpu/queue/aql.h"

#include "vgpu/wave/device.h"

#include <algorithm>
#include <iterator>
#include <vector>

namespace luthier::vgpu {

namespace {

template <typename Signals> std::vector<hsa_signal_t> named(const Signals &signals) {
  std::vector<hsa_signal_t> result;
  for (hsa_signal_t signal : signals)
    if (signal.handle != 0)
      result.push_back(signal);
  return result;
}

} // namespace

void AqlQueue::barrierAnd(uint64_t index) {
  const auto &packet = const_cast<Packet &>(slot(index)).barrierAnd;
  const uint64_t start = Device::clock();
  if (!checkReserved(index, "barrier-AND", "reserved0", packet.reserved0) ||
      !checkReserved(index, "barrier-AND", "reserved1", packet.reserved1))
    return;
  for (hsa_signal_t signal : named(packet.dep_signal)) {
    if (!checkSignal(signal))
      return;
    if (!waitUntil([&] { return loadSignal(signal) == 0 || faulted_.load(std::memory_order_acquire); }) ||
        faulted_.load(std::memory_order_acquire))
      return;
  }
  if (checkSignal(packet.completion_signal))
    finishHere(index, packet.completion_signal, start);
}

void AqlQueue::barrierOr(uint64_t index) {
  const auto &packet = const_cast<Packet &>(slot(index)).barrierOr;
  const uint64_t start = Device::clock();
  if (!checkReserved(index, "barrier-OR", "reserved0", packet.reserved0) ||
      !checkReserved(index, "barrier-OR", "reserved1", packet.reserved1))
    return;
  const std::vector<hsa_signal_t> signals = named(packet.dep_signal);
  if (!std::ranges::all_of(signals, [&](hsa_signal_t signal) { return checkSignal(signal); }))
    return;
  auto satisfied = [&] {
    return signals.empty() || faulted_.load(std::memory_order_acquire) ||
           std::ranges::any_of(signals, [](hsa_signal_t signal) { return loadSignal(signal) == 0; });
  };
  if (!waitUntil(satisfied) || faulted_.load(std::memory_order_acquire))
    return;
  if (checkSignal(packet.completion_signal))
    finishHere(index, packet.completion_signal, start);
}

} // namespace luthier::vgpu
