// AMD's vendor-specific AQL packets: an indirect buffer of PM4 commands, and the barrier on a signal's value.
#include "vgpu/queue/aql.h"

#include "vgpu/queue/pm4.h"
#include "vgpu/wave/device.h"

#include <fmt/core.h>

namespace luthier::vgpu {

namespace {

constexpr uint16_t kFormatPm4 = 1;
constexpr uint32_t kPm4Remaining = 10; ///< words of the packet behind the jump
constexpr uint16_t kFormatBarrierValue = HSA_AMD_PACKET_TYPE_BARRIER_VALUE;

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
  const uint16_t format = packet.pm4.format; // with the reserved byte behind it
  if (format == kFormatBarrierValue)
    barrierValue(index);
  else if (format == kFormatPm4)
    indirectBuffer(index);
  else
    fail(queue_code::kBadVendorPacket, fmt::format("packet {}: unknown AMD packet format {:#x}", index, format));
}

void AqlQueue::indirectBuffer(uint64_t index) {
  const auto &packet = const_cast<Packet &>(slot(index)).pm4;
  const uint64_t start = Device::clock();
  if (packet.remaining != kPm4Remaining) {
    fail(queue_code::kBadVendorPacket, fmt::format("packet {}: a PM4 packet with dw_cnt_remain {:#x}; expected {:#x}",
                                                   index, packet.remaining, kPm4Remaining));
    return;
  }
  for (unsigned n = 0; n < std::size(packet.reserved); ++n)
    if (!checkReserved(index, "PM4", "reserved", packet.reserved[n]))
      return;
  Fault fault;
  if (!runPm4(device(), packet.jump, fault, [this] { return stopping(); })) {
    if (fault.kind == Fault::Kind::Memory)
      failMemory(fault);
    else
      fail(queue_code::kBadVendorPacket, fmt::format("packet {}: {}", index, fault.text));
  } else if (checkSignal(packet.completion)) {
    finishHere(index, packet.completion, start);
  }
}

void AqlQueue::barrierValue(uint64_t index) {
  const auto &packet = const_cast<Packet &>(slot(index)).barrierValue;
  const uint64_t start = Device::clock();
  // Reserved fields are not looked at, as hardware does not: HIP 6.4 leaves in them whatever was there.
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
