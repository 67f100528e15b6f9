#include "vgpu/queue/pm4.h"

#include "support/log.h"
#include "vgpu/device.h"

#include <array>
#include <atomic>
#include <fmt/core.h>

namespace luthier::vgpu {

namespace {

enum Opcode : uint8_t {
  kNop = 0x10,
  kIndirectBuffer = 0x3f,
  kReleaseMem = 0x49,
  kAcquireMem = 0x58,
};

constexpr unsigned kMaxDepth = 2;
constexpr uint32_t kCoherInstructionCache = 1u << 29; // COHER_CNTL.SH_ICACHE_ACTION_ENA (gfx9 and before)
constexpr uint32_t kGcrInstructionCache = 3;          // GCR_CNTL.GLI_INV (gfx10 and later)
constexpr size_t kAcquireMemGcrWord = 7;

void reportOnce(uint8_t opcode) {
  static std::array<std::atomic<bool>, 256> reported{};
  if (!reported[opcode].exchange(true))
    log::warn("vgpu: PM4 command {:#04x} is not implemented and was skipped (reported once)", opcode);
}

} // namespace

bool runPm4(Device &device, const uint32_t *words, size_t count, Fault &fault, unsigned depth) {
  for (size_t at = 0; at < count;) {
    const uint32_t header = words[at];
    const unsigned type = header >> 30;
    if (type == 2) { // filler
      ++at;
      continue;
    }
    const auto opcode = static_cast<uint8_t>(header >> 8);
    const size_t length = ((header >> 16) & 0x3fff) + 2;
    if (type != 3 || at + length > count) {
      log::warn("vgpu: malformed PM4 packet {:#010x}, the rest of its buffer was skipped", header);
      return true;
    }
    const uint32_t *packet = words + at;
    switch (opcode) {
    case kNop:
    case kReleaseMem:
      break;
    case kAcquireMem:
      if ((packet[1] & kCoherInstructionCache) ||
          (length > kAcquireMemGcrWord && (packet[kAcquireMemGcrWord] & kGcrInstructionCache)))
        device.invalidateCode();
      break;
    case kIndirectBuffer: {
      if (length < 4 || depth >= kMaxDepth)
        break;
      const uint64_t base = (packet[1] & ~3u) | (uint64_t{packet[2] & 0xffff} << 32);
      const uint64_t size = packet[3] & 0xfffff;
      if (size == 0)
        break;
      if (!device.memory().allows(base, size * 4, device.mask())) {
        fault.kind = Fault::Kind::Memory;
        fault.address = base;
        fault.text = fmt::format("a PM4 packet names an indirect buffer at {:#x}, which this GPU cannot access", base);
        return false;
      }
      if (!runPm4(device, reinterpret_cast<const uint32_t *>(base), size, fault, depth + 1))
        return false;
      break;
    }
    default:
      reportOnce(opcode);
      break;
    }
    at += length;
  }
  return true;
}

} // namespace luthier::vgpu
