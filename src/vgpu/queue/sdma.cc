#include "vgpu/queue/sdma.h"

#include "vgpu/device.h"
#include "vgpu/queue/activity.h"
#include "vgpu/queue/signal.h"

#include <algorithm>
#include <cstring>
#include <fmt/core.h>

namespace luthier::vgpu {

namespace {

enum Opcode : uint8_t {
  kNop = 0,
  kCopy = 1,
  kFence = 5,
  kTrap = 6,
  kPollRegMem = 8,
  kAtomic = 10,
  kConstFill = 11,
  kTimestamp = 13,
  kGcr = 17,
};
constexpr uint8_t kCopyLinear = 0;
constexpr uint8_t kCopyLinearRect = 4;
constexpr uint8_t kTimestampGlobal = 2;
constexpr unsigned kAtomicAdd64 = 47;
constexpr std::chrono::milliseconds kReactionLimit(5000);

uint64_t address64(const uint32_t *words) { return words[0] | (uint64_t{words[1]} << 32); }

bool holds(uint32_t value, unsigned function, uint32_t reference) {
  switch (function) {
  case 1:
    return value < reference;
  case 2:
    return value <= reference;
  case 3:
    return value == reference;
  case 4:
    return value != reference;
  case 5:
    return value >= reference;
  case 6:
    return value > reference;
  default:
    return true;
  }
}

} // namespace

SdmaQueue::SdmaQueue(uint64_t id, Device &device, QueueHost &host, void *ring, uint64_t ringBytes, uint64_t *readIndex,
                     volatile uint64_t *doorbell)
    : Queue(id, device, host), ring_(static_cast<const std::byte *>(ring)), ringBytes_(ringBytes),
      readIndex_(readIndex), doorbell_(doorbell) {}

SdmaQueue::~SdmaQueue() { stop(); }

bool SdmaQueue::pending() const {
  return !failed_.load(std::memory_order_acquire) &&
         next_.load(std::memory_order_relaxed) < shared(*doorbell_).load(std::memory_order_acquire);
}

void SdmaQueue::run() {
  while (!stopping() && !suspended() && pending()) {
    const uint64_t at = next_.load(std::memory_order_relaxed);
    const uint64_t announced = shared(*doorbell_).load(std::memory_order_acquire);
    const size_t available = std::min<uint64_t>((announced - at) / sizeof(uint32_t), kMaxWords);
    uint32_t words[kMaxWords] = {};
    for (size_t i = 0; i < available; ++i)
      std::memcpy(&words[i], ring_ + (at + i * sizeof(uint32_t)) % ringBytes_, sizeof(uint32_t));
    const size_t length = available ? process(words, available) : 0;
    if (length == 0)
      return;
    next_.store(at + length * sizeof(uint32_t), std::memory_order_relaxed);
    shared(*readIndex_).store(at + length * sizeof(uint32_t), std::memory_order_release);
  }
}

size_t SdmaQueue::process(const uint32_t (&words)[kMaxWords], size_t available) {
  const auto opcode = static_cast<uint8_t>(words[0]);
  const auto subOpcode = static_cast<uint8_t>(words[0] >> 8);
  auto complete = [&](size_t length) {
    if (length <= available)
      return true;
    unknown(words, "is cut short by the end of what was submitted");
    return false;
  };
  switch (opcode) {
  case kNop:
    return 1 + ((words[0] >> 16) & 0x3fff);
  case kCopy:
    if (subOpcode == kCopyLinear)
      return complete(7) && copyLinear(words) ? 7 : 0;
    if (subOpcode == kCopyLinearRect)
      return complete(13) && copyRect(words) ? 13 : 0;
    break;
  case kFence: {
    if (!complete(4))
      return 0;
    std::byte *at = access(address64(words + 1), sizeof(uint32_t), true, "a fence");
    if (!at)
      return 0;
    shared(*reinterpret_cast<uint32_t *>(at)).store(words[3], std::memory_order_release);
    host().activity().notify();
    return 4;
  }
  case kTrap:
    if (!complete(2))
      return 0;
    host().signalEvent(words[1] & 0xfffffff);
    return 2;
  case kPollRegMem:
    return complete(6) && pollMemory(words) ? 6 : 0;
  case kAtomic:
    return complete(8) && atomic(words) ? 8 : 0;
  case kConstFill:
    return complete(5) && fill(words) ? 5 : 0;
  case kTimestamp: {
    if (subOpcode != kTimestampGlobal || !complete(3))
      break;
    std::byte *at = access(address64(words + 1), sizeof(uint64_t), true, "a timestamp");
    if (!at)
      return 0;
    shared(*reinterpret_cast<uint64_t *>(at)).store(Device::clock(), std::memory_order_release);
    return 3;
  }
  case kGcr: // cache control; there are no caches
    return complete(5) ? 5 : 0;
  default:
    break;
  }
  unknown(words, "is not implemented");
  return 0;
}

bool SdmaQueue::copyLinear(const uint32_t *words) {
  if (words[0] >> 16) {
    unknown(words, "asks for a copy variant that is not implemented");
    return false;
  }
  const uint64_t size = uint64_t{words[1] & 0x3fffff} + 1;
  const std::byte *source = access(address64(words + 3), size, false, "the source of a copy");
  std::byte *target = source ? access(address64(words + 5), size, true, "the destination of a copy") : nullptr;
  if (!target)
    return false;
  std::memmove(target, source, size);
  return true;
}

// COPY_LINEAR_RECT: a box of elements of 2^n bytes, with a row and a slice pitch on either side.
bool SdmaQueue::copyRect(const uint32_t *words) {
  const unsigned shift = words[0] >> 29;
  struct Side {
    uint64_t base, x, y, z, pitch, slice;
    uint64_t row(uint64_t atY, uint64_t atZ, unsigned elementShift) const {
      return base + ((x + (y + atY) * pitch + (z + atZ) * slice) << elementShift);
    }
  };
  auto side = [&](const uint32_t *at) {
    return Side{address64(at),
                at[2] & 0x3fff,
                (at[2] >> 16) & 0x3fff,
                at[3] & 0x7ff,
                uint64_t{at[3] >> 13} + 1,
                uint64_t{at[4] & 0xfffffff} + 1};
  };
  const Side source = side(words + 1);
  const Side target = side(words + 6);
  const uint64_t width = uint64_t{words[11] & 0x3fff} + 1;
  const uint64_t height = uint64_t{(words[11] >> 16) & 0x3fff} + 1;
  const uint64_t depth = uint64_t{words[12] & 0x7ff} + 1;
  for (uint64_t z = 0; z < depth; ++z)
    for (uint64_t y = 0; y < height; ++y) {
      const std::byte *from =
          access(source.row(y, z, shift), width << shift, false, "the source of a rectangular copy");
      std::byte *to =
          from ? access(target.row(y, z, shift), width << shift, true, "the destination of a rectangular copy")
               : nullptr;
      if (!to)
        return false;
      std::memmove(to, from, width << shift);
    }
  return true;
}

// CONST_FILL: the count is in bytes less one, of which a fill by words ignores the two low bits.
bool SdmaQueue::fill(const uint32_t *words) {
  const unsigned shift = words[0] >> 30;
  const uint64_t count = words[4] & 0x3fffff;
  const uint64_t size = ((count >> shift) + 1) << shift;
  if (shift > 2) {
    unknown(words, "asks for a fill size that does not exist");
    return false;
  }
  std::byte *target = access(address64(words + 1), size, true, "the destination of a fill");
  if (!target)
    return false;
  for (uint64_t at = 0; at < size; at += 1ull << shift)
    std::memcpy(target + at, &words[3], 1ull << shift);
  return true;
}

bool SdmaQueue::pollMemory(const uint32_t *words) {
  if (!(words[0] >> 31)) // a register: the HDP flush, which has nothing to flush here
    return true;
  std::byte *at = access(address64(words + 1), sizeof(uint32_t), false, "a poll");
  if (!at)
    return false;
  const uint32_t reference = words[3], mask = words[4];
  const unsigned function = (words[0] >> 28) & 7;
  return waitUntil([&] {
    return holds(shared(*reinterpret_cast<uint32_t *>(at)).load(std::memory_order_acquire) & mask, function, reference);
  });
}

bool SdmaQueue::atomic(const uint32_t *words) {
  const unsigned operation = words[0] >> 25;
  if (operation != kAtomicAdd64) {
    unknown(words, "asks for an atomic operation that is not implemented");
    return false;
  }
  std::byte *at = access(address64(words + 1), sizeof(uint64_t), true, "an atomic");
  if (!at)
    return false;
  shared(*reinterpret_cast<uint64_t *>(at)).fetch_add(address64(words + 3), std::memory_order_acq_rel);
  host().activity().notify();
  return true;
}

std::byte *SdmaQueue::access(uint64_t address, uint64_t size, bool write, const char *what) {
  const uint64_t plain = address & ~AddressSpace::kUserPointerTag;
  if (device().memory().allows(plain, size, device().mask()))
    return reinterpret_cast<std::byte *>(plain);
  failed_.store(true, std::memory_order_release);
  Fault fault;
  fault.kind = Fault::Kind::Memory;
  fault.write = write;
  fault.address = address;
  for (uint64_t page = plain; page < plain + size;
       page = (page / AddressSpace::kPageSize + 1) * AddressSpace::kPageSize)
    if (!device().memory().allows(page, 1, device().mask())) {
      fault.address = page | (address & AddressSpace::kUserPointerTag);
      break;
    }
  fault.text = fmt::format("SDMA queue {}: {} ({:#x}, {} bytes) is not accessible to this GPU at {:#x}", id(), what,
                           address, size, fault.address);
  host().reportFault(fault.text);
  if (host().raiseMemoryFault(device(), fault))
    waitUntil([] { return false; }, kReactionLimit);
  if (!stopping())
    host().die("nobody handled a memory fault");
  return nullptr;
}

void SdmaQueue::unknown(const uint32_t *words, const char *why) {
  failed_.store(true, std::memory_order_release);
  host().reportFault(fmt::format("SDMA queue {}: packet {:#010x} (opcode {}, sub-opcode {}) {}", id(), words[0],
                                 words[0] & 0xff, (words[0] >> 8) & 0xff, why));
  host().die("an SDMA queue cannot go on");
}

} // namespace luthier::vgpu
