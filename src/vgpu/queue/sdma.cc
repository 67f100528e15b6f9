#include "vgpu/queue/sdma.h"

#include "vgpu/memory/guest_access.h"
#include "vgpu/queue/activity.h"
#include "vgpu/queue/signal.h"
#include "vgpu/wave/device.h"
#include "vgpu/wave/init_check.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fmt/core.h>
#include <iterator>

namespace luthier::vgpu {

namespace {

constexpr unsigned kAtomicAdd64 = 47;
constexpr uint32_t kRetryForEver = 0xfff;
constexpr std::chrono::milliseconds kReactionLimit(5000);

/// Bits of a packet's word.
struct Field {
  uint8_t word = 0, shift = 0, width = 0;
  const char *name = nullptr;

  constexpr uint32_t mask() const { return static_cast<uint32_t>(((uint64_t{1} << width) - 1) << shift); }
  constexpr uint32_t get(const uint32_t *words) const { return (words[word] & mask()) >> shift; }
};

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
  default: // 0: always; 7 is refused
    return true;
  }
}

} // namespace

/// A packet: its header, its length, and the fields that must be 0, because they are reserved or because what they ask
/// for is not implemented. (AMD publishes the layouts in ROCr's sdma_registers.h and in the Linux driver's
/// sdma_pkt_open headers.)
struct SdmaQueue::Format {
  uint8_t opcode, subOpcode;
  const char *name;
  uint8_t words;
  uint8_t firstVersion, lastVersion; ///< of SDMA that have it
  bool (SdmaQueue::*run)(const uint32_t *words);
  std::array<Field, 16> mustBeZero; ///< as many as have a width
};

namespace {
constexpr uint8_t kLatest = 0xff;
} // namespace

constexpr SdmaQueue::Format SdmaQueue::kFormats[] = {
    {1,
     0,
     "COPY_LINEAR",
     7,
     40,
     kLatest,
     &SdmaQueue::copyLinear,
     {{{0, 16, 16, "extra_info"},
       {2, 0, 16, "reserved"},
       {2, 16, 2, "dst_swap"},
       {2, 18, 6, "reserved"},
       {2, 24, 2, "src_swap"},
       {2, 26, 6, "reserved"}}}},
    {1,
     4,
     "COPY_LINEAR_RECT",
     13,
     40,
     69,
     &SdmaQueue::copyRect<RectLayout{11, 13}>,
     {{{0, 16, 13, "reserved"},
       {3, 14, 2, "reserved"},
       {3, 30, 2, "reserved"},
       {4, 11, 2, "reserved"},
       {5, 28, 4, "reserved"},
       {8, 14, 2, "reserved"},
       {8, 30, 2, "reserved"},
       {9, 11, 2, "reserved"},
       {10, 28, 4, "reserved"},
       {11, 14, 2, "reserved"},
       {11, 30, 2, "reserved"},
       {12, 11, 5, "reserved"},
       {12, 16, 2, "dst_swap"},
       {12, 18, 6, "reserved"},
       {12, 24, 2, "src_swap"},
       {12, 26, 6, "reserved"}}}},
    // The same with fields of other widths.
    {1,
     4,
     "COPY_LINEAR_RECT",
     13,
     70,
     kLatest,
     &SdmaQueue::copyRect<RectLayout{14, 16}>,
     {{{0, 16, 13, "reserved"},
       {4, 14, 2, "reserved"},
       {9, 14, 2, "reserved"},
       {12, 14, 6, "reserved"},
       {12, 20, 3, "dst_cache_policy"},
       {12, 23, 5, "reserved"},
       {12, 28, 3, "src_cache_policy"},
       {12, 31, 1, "reserved"}}}},
    // MTYPE, GCC, SNP and L2_POLICY say how to cache the write; there are no caches.
    {5,
     0,
     "FENCE",
     4,
     40,
     kLatest,
     &SdmaQueue::fence,
     {{{0, 20, 1, "sys"}, {0, 21, 1, "reserved"}, {0, 23, 1, "gpa"}, {0, 26, 6, "reserved"}}}},
    {6, 0, "TRAP", 2, 40, kLatest, &SdmaQueue::trap, {{{0, 16, 16, "reserved"}, {1, 28, 4, "reserved"}}}},
    {8,
     0,
     "POLL_REGMEM",
     6,
     40,
     kLatest,
     &SdmaQueue::pollMemory,
     {{{0, 16, 10, "reserved"}, {0, 27, 1, "reserved"}, {5, 28, 4, "reserved"}}}},
    {10,
     0,
     "ATOMIC",
     8,
     40,
     kLatest,
     &SdmaQueue::atomic,
     {{{0, 16, 1, "loop"}, {0, 17, 8, "reserved"}, {7, 13, 19, "reserved"}}}},
    {11,
     0,
     "CONST_FILL",
     5,
     40,
     kLatest,
     &SdmaQueue::fill,
     {{{0, 16, 2, "sw"}, {0, 18, 12, "reserved"}, {4, 22, 10, "reserved bits above count"}}}},
    {13, 2, "TIMESTAMP", 3, 40, kLatest, &SdmaQueue::timestamp, {{{0, 16, 16, "reserved"}}}},
    {17,
     1,
     "GCR",
     5,
     50,
     kLatest,
     &SdmaQueue::cacheControl,
     {{{0, 16, 16, "reserved"},
       {1, 0, 7, "reserved"},
       {3, 3, 4, "reserved"},
       {4, 16, 8, "reserved"},
       {4, 28, 4, "reserved"}}}},
};

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
    if (announced % sizeof(uint32_t) != 0 || announced - at > ringBytes_) {
      end(fmt::format("SDMA queue {}: the doorbell is {:#x}; expected a multiple of 4 that is at most the ring's {:#x} "
                      "bytes beyond the read index {:#x}",
                      id(), announced, ringBytes_, at));
      return;
    }
    seeMappings(&device().memory());
    const uint64_t available = (announced - at) / sizeof(uint32_t);
    uint32_t words[kMaxWords] = {};
    for (size_t i = 0; i < std::min<uint64_t>(available, kMaxWords); ++i)
      std::memcpy(&words[i], ring_ + (at + i * sizeof(uint32_t)) % ringBytes_, sizeof(uint32_t));
    const uint64_t length = process(words, available);
    if (length == 0)
      return;
    next_.store(at + length * sizeof(uint32_t), std::memory_order_relaxed);
    shared(*readIndex_).store(at + length * sizeof(uint32_t), std::memory_order_release);
  }
}

uint64_t SdmaQueue::process(const uint32_t (&words)[kMaxWords], uint64_t available) {
  const auto opcode = static_cast<uint8_t>(words[0]);
  const auto subOpcode = static_cast<uint8_t>(words[0] >> 8);
  constexpr const char *kCutShort = "is cut short by the end of what was submitted";
  constexpr uint8_t kNop = 0;
  if (opcode == kNop) { // with any number of words that mean nothing
    constexpr Field kSubOpcode{0, 8, 8, "sub_op"}, kCount{0, 16, 14, "count"}, kReserved{0, 30, 2, "reserved"};
    for (const Field &field : {kSubOpcode, kReserved})
      if (field.get(words)) {
        refuse(words, fmt::format("NOP: {} is {:#x}; expected 0", field.name, field.get(words)));
        return 0;
      }
    const uint64_t length = 1 + kCount.get(words);
    return length <= available || refuse(words, kCutShort) ? length : 0;
  }
  const auto format = std::ranges::find_if(kFormats, [&](const Format &known) {
    return known.opcode == opcode && known.subOpcode == subOpcode &&
           device().target().sdmaVersion >= known.firstVersion && device().target().sdmaVersion <= known.lastVersion;
  });
  if (format == std::end(kFormats)) {
    refuse(words, "is not implemented");
    return 0;
  }
  static_assert(kMaxWords >= 13);
  if (format->words > available) {
    refuse(words, kCutShort);
    return 0;
  }
  for (const Field &field : format->mustBeZero)
    if (field.width && field.get(words)) {
      refuse(words, fmt::format("{}: {} (bits {} to {} of word {}) is {:#x}; only 0 is implemented", format->name,
                                field.name, field.shift, field.shift + field.width - 1, field.word, field.get(words)));
      return 0;
    }
  return (this->*format->run)(words) ? format->words : 0;
}

bool SdmaQueue::copyLinear(const uint32_t *words) {
  const unsigned countBits = device().target().copyCountBits;
  if (words[1] >> countBits)
    return refuse(
        words, fmt::format("COPY_LINEAR: count is {:#x}; {} has {} bits", words[1], device().target().name, countBits));
  const uint64_t size = uint64_t{words[1]} + 1;
  const std::byte *source = access(address64(words + 3), size, false, "the source of a copy");
  std::byte *target = source ? access(address64(words + 5), size, true, "the destination of a copy") : nullptr;
  if (!target)
    return false;
  const GuestCopy guest;
  std::memmove(target, source, size);
  if (InitCheck *init = device().initCheck.get())
    init->memory.copy(address64(words + 5), address64(words + 3), size);
  return true;
}

bool SdmaQueue::fence(const uint32_t *words) {
  auto *at = accessValue<uint32_t>(words, address64(words + 1), true, "a fence");
  if (!at)
    return false;
  shared(*at).store(words[3], std::memory_order_release);
  host().activity().notify();
  return true;
}

bool SdmaQueue::trap(const uint32_t *words) {
  host().signalEvent(words[1]);
  return true;
}

bool SdmaQueue::timestamp(const uint32_t *words) {
  auto *at = accessValue<uint64_t>(words, address64(words + 1), true, "a timestamp");
  if (!at)
    return false;
  shared(*at).store(Device::clock(), std::memory_order_release);
  return true;
}

bool SdmaQueue::cacheControl(const uint32_t *) { return true; } // there are no caches

// COPY_LINEAR_RECT: a box of elements of 2^n bytes, with a row and a slice pitch on either side.
template <SdmaQueue::RectLayout Layout> bool SdmaQueue::copyRect(const uint32_t *words) {
  const unsigned shift = words[0] >> 29;
  constexpr unsigned kLargestElement = 4;
  if (shift > kLargestElement)
    return refuse(words, fmt::format("COPY_LINEAR_RECT: element is {}; expected at most {}", shift, kLargestElement));
  struct Side {
    uint64_t base, x, y, z, pitch, slice;
    uint64_t row(uint64_t atY, uint64_t atZ, unsigned elementShift) const {
      return base + ((x + (y + atY) * pitch + (z + atZ) * slice) << elementShift);
    }
  };
  // All bits but these were checked to be 0.
  auto side = [&](const uint32_t *at) {
    return Side{address64(at),
                at[2] & 0xffff,
                at[2] >> 16,
                at[3] & ((1u << Layout.depthBits) - 1),
                uint64_t{at[3] >> Layout.pitchShift} + 1,
                uint64_t{at[4]} + 1};
  };
  const Side source = side(words + 1);
  const Side target = side(words + 6);
  const uint64_t width = uint64_t{words[11] & 0xffff} + 1;
  const uint64_t height = uint64_t{words[11] >> 16} + 1;
  const uint64_t depth = uint64_t{words[12]} + 1;
  for (uint64_t z = 0; z < depth; ++z)
    for (uint64_t y = 0; y < height; ++y) {
      if (stopping())
        return false;
      const std::byte *from =
          access(source.row(y, z, shift), width << shift, false, "the source of a rectangular copy");
      std::byte *to =
          from ? access(target.row(y, z, shift), width << shift, true, "the destination of a rectangular copy")
               : nullptr;
      if (!to)
        return false;
      const GuestCopy guest;
      std::memmove(to, from, width << shift);
      if (InitCheck *init = device().initCheck.get())
        init->memory.copy(target.row(y, z, shift), source.row(y, z, shift), width << shift);
    }
  return true;
}

// CONST_FILL: the count is in bytes less one, of which a fill by words ignores the two low bits.
bool SdmaQueue::fill(const uint32_t *words) {
  const unsigned shift = words[0] >> 30;
  if (shift > 2)
    return refuse(words, fmt::format("CONST_FILL: fillsize is {}; expected 0, 1 or 2", shift));
  if (shift < 2 && words[3] >> (8u << shift))
    return refuse(
        words, fmt::format("CONST_FILL: data is {:#x}, more than the {} bytes of an element", words[3], 1u << shift));
  const uint64_t size = ((uint64_t{words[4]} >> shift) + 1) << shift;
  std::byte *target = access(address64(words + 1), size, true, "the destination of a fill");
  if (!target)
    return false;
  const GuestCopy guest;
  for (uint64_t at = 0; at < size; at += 1ull << shift)
    std::memcpy(target + at, &words[3], 1ull << shift);
  if (InitCheck *init = device().initCheck.get())
    init->memory.define(address64(words + 1), size);
  return true;
}

bool SdmaQueue::pollMemory(const uint32_t *words) {
  constexpr Field kFlush{0, 26, 1, "hdp_flush"}, kFunction{0, 28, 3, "func"}, kMemory{0, 31, 1, "mem_poll"},
      kRetries{5, 16, 12, "retry_count"};
  // The HDP flush, which has nothing to flush here, in its two forms: a bit, or a register that ROCr knows.
  constexpr uint32_t kFlushRegister[] = {0, 0x80000000, 0, 0, 0};
  if (!kMemory.get(words) && (kFlush.get(words) || std::equal(words + 1, words + 6, kFlushRegister)))
    return true;
  if (!kMemory.get(words))
    return refuse(words, fmt::format("POLL_REGMEM: register {:#x} is not modelled", address64(words + 1)));
  if (kFlush.get(words))
    return refuse(words, "POLL_REGMEM: hdp_flush and mem_poll are both set");
  constexpr unsigned kNoFunction = 7;
  const unsigned function = kFunction.get(words);
  if (function == kNoFunction)
    return refuse(words, fmt::format("POLL_REGMEM: func is {}; expected 0 to 6", function));
  if (kRetries.get(words) != kRetryForEver)
    return refuse(words, fmt::format("POLL_REGMEM: retry_count is {:#x}; only {:#x}, for ever, is implemented",
                                     kRetries.get(words), kRetryForEver));
  auto *at = accessValue<uint32_t>(words, address64(words + 1), false, "a poll");
  if (!at)
    return false;
  const uint32_t reference = words[3], mask = words[4];
  return waitUntil([&] { return holds(shared(*at).load(std::memory_order_acquire) & mask, function, reference); });
}

bool SdmaQueue::atomic(const uint32_t *words) {
  const unsigned operation = words[0] >> 25;
  if (operation != kAtomicAdd64)
    return refuse(words,
                  fmt::format("ATOMIC: operation is {}; only {}, add64, is implemented", operation, kAtomicAdd64));
  auto *at = accessValue<uint64_t>(words, address64(words + 1), true, "an atomic");
  if (!at)
    return false;
  shared(*at).fetch_add(address64(words + 3), std::memory_order_acq_rel);
  host().activity().notify();
  return true;
}

template <typename T> T *SdmaQueue::accessValue(const uint32_t *words, uint64_t address, bool write, const char *what) {
  if (address % sizeof(T) != 0) {
    refuse(words, fmt::format("has {} at {:#x}; expected a multiple of {}", what, address, sizeof(T)));
    return nullptr;
  }
  return reinterpret_cast<T *>(access(address, sizeof(T), write, what));
}

std::byte *SdmaQueue::access(uint64_t address, uint64_t size, bool write, const char *what) {
  uint64_t at = address;
  AddressSpace &memory = device().memory();
  if (memory.mapped(at, size, device().mask()) || memory.resolve(at, size, device().mask()))
    return reinterpret_cast<std::byte *>(at);
  failed_.store(true, std::memory_order_release);
  Fault fault;
  fault.kind = Fault::Kind::Memory;
  fault.write = write;
  fault.address = address;
  while (fault.address < address + size && memory.mapped(fault.address, 1, device().mask()))
    fault.address = (fault.address / AddressSpace::kPageSize + 1) * AddressSpace::kPageSize;
  fault.text = fmt::format("SDMA queue {}: {} ({:#x}, {} bytes) is not accessible to this GPU at {:#x}", id(), what,
                           address, size, fault.address);
  host().reportFault(fault.text);
  if (host().raiseMemoryFault(device(), fault))
    waitUntil([] { return false; }, kReactionLimit);
  if (!stopping())
    host().die("nobody handled a memory fault");
  return nullptr;
}

bool SdmaQueue::refuse(const uint32_t *words, std::string_view why) {
  end(fmt::format("SDMA queue {}: packet {:#010x} (opcode {}, sub-opcode {}) {}", id(), words[0], words[0] & 0xff,
                  (words[0] >> 8) & 0xff, why));
  return false;
}

void SdmaQueue::end(std::string_view text) {
  failed_.store(true, std::memory_order_release);
  host().reportFault(text);
  host().die("an SDMA queue cannot go on");
}

} // namespace luthier::vgpu
