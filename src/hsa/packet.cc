#include "hsa/packet.h"

namespace luthier::hsa {

std::string_view toString(PacketType type) {
  switch (type) {
  case PacketType::VendorSpecific:
    return "vendor-specific";
  case PacketType::Invalid:
    return "invalid";
  case PacketType::KernelDispatch:
    return "kernel-dispatch";
  case PacketType::BarrierAnd:
    return "barrier-and";
  case PacketType::AgentDispatch:
    return "agent-dispatch";
  case PacketType::BarrierOr:
    return "barrier-or";
  }
  return "unknown";
}

} // namespace luthier::hsa
