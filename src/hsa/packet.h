// AQL packets: the 64-byte records that a queue is made of (HSA Platform System Architecture, "Architected Queuing
// Language"; hsa_ext_amd.h for the vendor's own).
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

namespace luthier::hsa {

enum class PacketType : uint8_t {
  VendorSpecific = HSA_PACKET_TYPE_VENDOR_SPECIFIC,
  Invalid = HSA_PACKET_TYPE_INVALID, ///< a slot whose packet has not been written yet
  KernelDispatch = HSA_PACKET_TYPE_KERNEL_DISPATCH,
  BarrierAnd = HSA_PACKET_TYPE_BARRIER_AND,
  AgentDispatch = HSA_PACKET_TYPE_AGENT_DISPATCH,
  BarrierOr = HSA_PACKET_TYPE_BARRIER_OR,
};

std::string_view toString(PacketType type);

/// One packet, of any type. The views are null when it is of another type.
class AqlPacket {
public:
  PacketType type() const { return static_cast<PacketType>(header() >> HSA_PACKET_HEADER_TYPE & 0xff); }
  bool barrierBit() const { return header() >> HSA_PACKET_HEADER_BARRIER & 1; }
  void setBarrierBit(bool on) {
    const auto bit = static_cast<uint16_t>(1u << HSA_PACKET_HEADER_BARRIER);
    setHeader(static_cast<uint16_t>(on ? header() | bit : header() & ~bit));
  }
  hsa_fence_scope_t acquireScope() const {
    return static_cast<hsa_fence_scope_t>(header() >> HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE & 3);
  }
  hsa_fence_scope_t releaseScope() const {
    return static_cast<hsa_fence_scope_t>(header() >> HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE & 3);
  }
  uint16_t header() const { return static_cast<uint16_t>(words_[0]); }
  void setHeader(uint16_t header) { words_[0] = (words_[0] & ~0xffffull) | header; }

  hsa_kernel_dispatch_packet_t *kernelDispatch() {
    return as<hsa_kernel_dispatch_packet_t>(PacketType::KernelDispatch);
  }
  hsa_barrier_and_packet_t *barrierAnd() { return as<hsa_barrier_and_packet_t>(PacketType::BarrierAnd); }
  hsa_barrier_or_packet_t *barrierOr() { return as<hsa_barrier_or_packet_t>(PacketType::BarrierOr); }
  hsa_agent_dispatch_packet_t *agentDispatch() { return as<hsa_agent_dispatch_packet_t>(PacketType::AgentDispatch); }
  /// AMD's barrier that waits for a condition on a signal's value.
  hsa_amd_barrier_value_packet_t *barrierValue() {
    auto *packet = as<hsa_amd_barrier_value_packet_t>(PacketType::VendorSpecific);
    return packet && packet->header.AmdFormat == HSA_AMD_PACKET_TYPE_BARRIER_VALUE ? packet : nullptr;
  }
  const hsa_kernel_dispatch_packet_t *kernelDispatch() const { return const_cast<AqlPacket *>(this)->kernelDispatch(); }
  const hsa_barrier_and_packet_t *barrierAnd() const { return const_cast<AqlPacket *>(this)->barrierAnd(); }
  const hsa_barrier_or_packet_t *barrierOr() const { return const_cast<AqlPacket *>(this)->barrierOr(); }
  const hsa_agent_dispatch_packet_t *agentDispatch() const { return const_cast<AqlPacket *>(this)->agentDispatch(); }
  const hsa_amd_barrier_value_packet_t *barrierValue() const { return const_cast<AqlPacket *>(this)->barrierValue(); }

  /// All types of packets have it at the same place.
  hsa_signal_t completionSignal() const { return {words_[7]}; }
  void setCompletionSignal(hsa_signal_t signal) { words_[7] = signal.handle; }

  template <class Packet> static AqlPacket from(const Packet &packet) {
    static_assert(sizeof(Packet) == 64);
    AqlPacket result;
    memcpy(result.words_, &packet, 64);
    return result;
  }
  /// Puts it into a slot of a queue: the body first, because the agent takes it as soon as its header is valid.
  void writeTo(AqlPacket *slot) const {
    writeBodyTo(slot);
    writeHeaderTo(slot);
  }
  void writeBodyTo(AqlPacket *slot) const {
    memcpy(reinterpret_cast<char *>(slot) + sizeof(uint32_t), reinterpret_cast<const char *>(this) + sizeof(uint32_t),
           sizeof *this - sizeof(uint32_t));
  }
  void writeHeaderTo(AqlPacket *slot) const {
    __atomic_store_n(reinterpret_cast<uint32_t *>(slot), static_cast<uint32_t>(words_[0]), __ATOMIC_RELEASE);
  }

  bool operator==(const AqlPacket &) const = default;

private:
  template <class Packet> Packet *as(PacketType wanted) {
    static_assert(sizeof(Packet) == 64);
    return type() == wanted ? reinterpret_cast<Packet *>(words_) : nullptr;
  }

  alignas(64) uint64_t words_[8] = {HSA_PACKET_TYPE_INVALID << HSA_PACKET_HEADER_TYPE};
};
static_assert(sizeof(AqlPacket) == 64);

/// Stores before it are done before those after it, even to memory that collects them.
inline void storeFence() {
#ifdef __x86_64__
  __builtin_ia32_sfence();
#else
  __atomic_thread_fence(__ATOMIC_RELEASE);
#endif
}

} // namespace luthier::hsa
