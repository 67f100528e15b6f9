#include "vgpu/queue/pm4.h"

#include "vgpu/wave/device.h"

#include <fmt/core.h>

namespace luthier::vgpu {

namespace {

enum Opcode : uint8_t {
  kNop = 0x10,
  kIndirectBuffer = 0x3f,
  kReleaseMem = 0x49,
  kAcquireMem = 0x58,
};

constexpr unsigned kMaxDepth = 2;                     ///< of indirect buffers, as in hardware
constexpr uint32_t kCoherInstructionCache = 1u << 29; // COHER_CNTL.SH_ICACHE_ACTION_ENA (gfx9 and before)
constexpr uint32_t kGcrInstructionCache = 3;          // GCR_CNTL.GLI_INV (gfx10 and later)
constexpr size_t kAcquireMemGcrWord = 7;

/// One run through a command buffer and those that it jumps to.
class Pm4 {
public:
  Pm4(Device &device, Fault &fault, const std::function<bool()> &stop) : device_(device), fault_(fault), stop_(stop) {}

  bool run(std::span<const uint32_t> words, unsigned depth) {
    while (!words.empty()) {
      if (stop_())
        return true;
      const uint32_t header = words[0];
      constexpr uint32_t kFiller = 2u << 30; // type 2
      if (header == kFiller) {
        words = words.subspan(1);
        continue;
      }
      const size_t length = ((header >> 16) & 0x3fff) + 2;
      if (header >> 30 != 3)
        return refuse(header, fmt::format("type is {}; expected 3, or the filler {:#x}", header >> 30, kFiller));
      if (length > words.size())
        return refuse(header, fmt::format("count says {} words; the buffer has {} more", length, words.size()));
      // Bit 1 chooses between graphics and compute state, which here is one.
      constexpr uint32_t kPredicate = 1, kReserved = 0xfc;
      if (header & (kPredicate | kReserved))
        return refuse(header,
                      fmt::format("bits 7 to 0 are {:#x}; predication and reserved bits must be 0", header & 0xff));
      if (!packet(words.first(length), depth))
        return false;
      words = words.subspan(length);
    }
    return true;
  }

private:
  bool refuse(uint32_t header, std::string_view why) {
    fault_.kind = Fault::Kind::BadLaunch;
    fault_.text = fmt::format("PM4 packet {:#010x} (opcode {:#04x}): {}", header, (header >> 8) & 0xff, why);
    return false;
  }

  bool expectLength(std::span<const uint32_t> words, size_t expected) {
    return words.size() == expected ||
           refuse(words[0], fmt::format("it has {} words; expected {}", words.size(), expected));
  }

  /// Whether the bits `mask` of a word are 0.
  bool expectZero(std::span<const uint32_t> words, size_t word, uint32_t mask, const char *what) {
    return !(words[word] & mask) ||
           refuse(words[0], fmt::format("{} (bits {:#x} of word {}) is {:#x}; only 0 is implemented", what, mask, word,
                                        words[word] & mask));
  }

  bool packet(std::span<const uint32_t> words, unsigned depth) {
    switch (static_cast<uint8_t>(words[0] >> 8)) {
    case kNop:
      return true;
    case kReleaseMem:
      // Cache actions only. What else it could do, somebody would wait for.
      return words.size() < 3 ? expectLength(words, 3)
                              : expectZero(words, 2, 7u << 24, "INT_SEL") && expectZero(words, 2, 7u << 29, "DATA_SEL");
    case kAcquireMem:
      return acquire(words);
    case kIndirectBuffer:
      return indirect(words, depth);
    default:
      return refuse(words[0], "is not implemented");
    }
  }

  /// There are no caches but that of decoded code.
  bool acquire(std::span<const uint32_t> words) {
    const bool gcr = device_.target().gcrAcquire;
    if (!expectLength(words, gcr ? 8 : 7))
      return false;
    if (gcr ? words[kAcquireMemGcrWord] & kGcrInstructionCache : words[1] & kCoherInstructionCache)
      device_.invalidateCode();
    return true;
  }

  bool indirect(std::span<const uint32_t> words, unsigned depth) {
    if (!expectLength(words, 4) || !expectZero(words, 1, 3, "IB_BASE_LO's alignment") ||
        !expectZero(words, 2, 0xffff0000, "reserved") || !expectZero(words, 3, 1u << 20, "CHAIN") ||
        !expectZero(words, 3, 3u << 21, "OFFLOAD_POLLING and reserved") || !expectZero(words, 3, 0xfu << 24, "VMID") ||
        !expectZero(words, 3, 3u << 30, "PRE_RESUME and PRIV"))
      return false;
    if (depth == kMaxDepth)
      return refuse(words[0], fmt::format("indirect buffers are nested more than {} deep", kMaxDepth));
    const uint64_t base = words[1] | (uint64_t{words[2]} << 32);
    const uint64_t size = words[3] & 0xfffff; // beside it: VALID and the cache policy
    if (size == 0)
      return true;
    if (!device_.memory().mapped(base, size * sizeof(uint32_t), device_.mask())) {
      fault_.kind = Fault::Kind::Memory;
      fault_.address = base;
      fault_.text = fmt::format("a PM4 packet names an indirect buffer at {:#x}, which this GPU cannot access", base);
      return false;
    }
    return run({reinterpret_cast<const uint32_t *>(base), size}, depth + 1);
  }

  Device &device_;
  Fault &fault_;
  const std::function<bool()> &stop_;
};

} // namespace

bool runPm4(Device &device, std::span<const uint32_t> words, Fault &fault, const std::function<bool()> &stop) {
  return Pm4(device, fault, stop).run(words, 0);
}

} // namespace luthier::vgpu
