// AMD's vendor-specific AQL packets: an indirect buffer of PM4 commands, and the barrier on a signal's value.
#include "vgpu/queue/aql.h"

#include "vgpu/device.h"
#include "vgpu/queue/pm4.h"

#include <fmt/core.h>

namespace luthier::vgpu {

namespace {

constexpr uint8_t kFormatPm4 = 1;
constexpr uint8_t kFormatBarrierValue = HSA_AMD_PACKET_TYPE_BARRIER_VALUE;

bool holds(int64_t value, uint32_t condition, int64_t reference) {
  switch (condition) {
  case HSA_SIGNAL_CONDITION_EQ:
    return value == reference;
  case HSA_SIGNAL_CONDITION_NE:
    return value != reference;
  case HSA_SIGNAL_CONDITION_LT:
    return value < reference;
  default:
    return value >= reference;
  }
}

} // namespace

void AqlQueue::vendor(uint64_t index) {
  const Packet &packet = const_cast<Packet &>(slot(index));
  const auto format = static_cast<uint8_t>(packet.pm4.format);
  if (format == kFormatBarrierValue) {
    barrierValue(index);
  } else if (format == kFormatPm4) {
    const uint64_t start = Device::clock();
    Fault fault;
    if (!runPm4(device(), packet.pm4.jump, std::size(packet.pm4.jump), fault)) {
      failMemory(fault);
    } else if (checkSignal(packet.pm4.completion)) {
      finishHere(index, packet.pm4.completion, start);
    }
  } else {
    fail(queue_code::kBadVendorPacket, fmt::format("packet {}: unknown AMD packet format {}", index, format));
  }
}

void AqlQueue::barrierValue(uint64_t index) {
  const auto &packet = const_cast<Packet &>(slot(index)).barrierValue;
  const uint64_t start = Device::clock();
  if (packet.cond > HSA_SIGNAL_CONDITION_GTE) {
    fail(queue_code::kBadVendorPacket, fmt::format("packet {}: unknown signal condition {}", index, packet.cond));
    return;
  }
  if (packet.signal.handle != 0) {
    if (!checkSignal(packet.signal))
      return;
    auto satisfied = [&] {
      return faulted_.load(std::memory_order_acquire) ||
             holds(loadSignal(packet.signal) & packet.mask, packet.cond, packet.value);
    };
    if (!waitUntil(satisfied) || faulted_.load(std::memory_order_acquire))
      return;
  }
  if (checkSignal(packet.completion_signal))
    finishHere(index, packet.completion_signal, start);
}

} // namespace luthier::vgpu
