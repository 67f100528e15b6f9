#include "hsa/packet.h"

#include <gtest/gtest.h>

namespace luthier::hsa::test {
namespace {

TEST(AqlPacket, IsInvalidAtFirst) {
  const AqlPacket packet;
  EXPECT_EQ(packet.type(), PacketType::Invalid);
  EXPECT_EQ(packet.kernelDispatch(), nullptr);
  EXPECT_EQ(packet.barrierAnd(), nullptr);
  EXPECT_EQ(packet.barrierOr(), nullptr);
  EXPECT_EQ(packet.agentDispatch(), nullptr);
  EXPECT_EQ(packet.barrierValue(), nullptr);
}

TEST(AqlPacket, ViewsFollowTheType) {
  const uint8_t types[] = {HSA_PACKET_TYPE_KERNEL_DISPATCH, HSA_PACKET_TYPE_BARRIER_AND, HSA_PACKET_TYPE_AGENT_DISPATCH,
                           HSA_PACKET_TYPE_BARRIER_OR, HSA_PACKET_TYPE_VENDOR_SPECIFIC};
  for (const uint8_t type : types) {
    AqlPacket packet;
    packet.setHeader(static_cast<uint16_t>(type << HSA_PACKET_HEADER_TYPE));
    EXPECT_EQ(packet.kernelDispatch() != nullptr, type == HSA_PACKET_TYPE_KERNEL_DISPATCH);
    EXPECT_EQ(packet.barrierAnd() != nullptr, type == HSA_PACKET_TYPE_BARRIER_AND);
    EXPECT_EQ(packet.barrierOr() != nullptr, type == HSA_PACKET_TYPE_BARRIER_OR);
    EXPECT_EQ(packet.agentDispatch() != nullptr, type == HSA_PACKET_TYPE_AGENT_DISPATCH);
    EXPECT_EQ(packet.barrierValue(), nullptr); // a vendor's packet, but not that one
    EXPECT_NE(toString(packet.type()), "unknown");
  }
  EXPECT_EQ(toString(static_cast<PacketType>(99)), "unknown");
}

TEST(AqlPacket, HeaderFields) {
  hsa_kernel_dispatch_packet_t raw = {};
  raw.header = HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE |
               HSA_FENCE_SCOPE_AGENT << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
               HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
  raw.setup = 3;
  raw.completion_signal = {0x1234};
  AqlPacket packet = AqlPacket::from(raw);
  EXPECT_EQ(packet.acquireScope(), HSA_FENCE_SCOPE_AGENT);
  EXPECT_EQ(packet.releaseScope(), HSA_FENCE_SCOPE_SYSTEM);
  EXPECT_FALSE(packet.barrierBit());
  packet.setBarrierBit(true);
  EXPECT_TRUE(packet.barrierBit());
  EXPECT_EQ(packet.kernelDispatch()->setup, 3);
  EXPECT_EQ(packet.type(), PacketType::KernelDispatch);
  packet.setBarrierBit(false);
  EXPECT_EQ(packet, AqlPacket::from(raw));
  EXPECT_EQ(packet.completionSignal().handle, 0x1234u);
  packet.setCompletionSignal({0x77});
  EXPECT_EQ(packet.kernelDispatch()->completion_signal.handle, 0x77u);
}

TEST(AqlPacket, IsWrittenWhole) {
  hsa_kernel_dispatch_packet_t raw;
  memset(&raw, 0x5a, sizeof raw);
  AqlPacket slot;
  AqlPacket::from(raw).writeTo(&slot);
  EXPECT_EQ(slot, AqlPacket::from(raw));
}

} // namespace
} // namespace luthier::hsa::test
