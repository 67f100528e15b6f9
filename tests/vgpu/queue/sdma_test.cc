#include "vgpu/queue/sdma.h"

#include "fixture.h"

#include <bit>
#include <numeric>

namespace luthier::vgpu {
namespace {

constexpr uint64_t kRingBytes = 4096;

struct Sdma : QueueTest {
  using QueueTest::QueueTest;
  char *ring = make<char>(kRingBytes);
  uint64_t *indices = make<uint64_t>(2); // read index, doorbell
  std::unique_ptr<SdmaQueue> queue =
      std::make_unique<SdmaQueue>(1, device, host, ring, kRingBytes, &indices[0], &indices[1]);
  uint64_t written = 0;

  void SetUp() override {
    queue->start();
    poller.add(queue.get());
  }
  void TearDown() override {
    poller.remove(queue.get());
    queue.reset();
  }

  void submit(std::vector<uint32_t> words) {
    ASSERT_TRUE(eventually([&] { return written + words.size() * 4 - readIndex() < kRingBytes; }));
    for (uint32_t word : words) {
      std::memcpy(ring + written % kRingBytes, &word, 4);
      written += 4;
    }
    shared(indices[1]).store(written, std::memory_order_release);
  }
  uint64_t readIndex() { return shared(indices[0]).load(std::memory_order_acquire); }
  bool drained() {
    return eventually([&] { return readIndex() == written; });
  }

  static uint32_t low(uint64_t value) { return static_cast<uint32_t>(value); }
  static uint32_t high(uint64_t value) { return static_cast<uint32_t>(value >> 32); }
  static uint64_t at(const void *pointer) { return reinterpret_cast<uint64_t>(pointer); }
  static std::vector<uint32_t> copy(uint64_t target, uint64_t source, uint32_t size) {
    return {1, size - 1, 0, low(source), high(source), low(target), high(target)};
  }
};

TEST_F(Sdma, copiesAndSignals) {
  auto *source = make<uint8_t>(10000), *target = make<uint8_t>(10000);
  std::iota(source, source + 10000, 0);
  amd_signal_t *done = makeSignal(1);
  const uint64_t signal = at(const_cast<int64_t *>(&done->value));
  submit(copy(at(target) + 3, at(source) + 1, 9000));
  submit({10 | 47u << 25, low(signal), high(signal), ~0u, ~0u, 0, 0, 0});
  submit({6, 1234});
  ASSERT_TRUE(drained());
  EXPECT_EQ(value(done), 0);
  EXPECT_EQ(std::memcmp(target + 3, source + 1, 9000), 0);
  EXPECT_EQ(target[2], 0);
  EXPECT_EQ(target[9003], 0);
  ASSERT_EQ(host.events.size(), 1u);
  EXPECT_EQ(host.events[0], 1234u);
}

// Older thunks give registered host memory an address of the GPU's own.
TEST_F(Sdma, aliasesAreTranslated) {
  auto *source = make<uint32_t>(4), *target = make<uint32_t>(4);
  source[0] = 42;
  constexpr uint64_t kSource = 0x7ff000010000, kTarget = 0x7ff000020000;
  space.mapAlias(kSource, 4096, at(source), device.mask());
  space.mapAlias(kTarget, 4096, at(target), device.mask());
  submit(copy(kTarget, kSource, 4));
  ASSERT_TRUE(drained());
  EXPECT_EQ(target[0], 42u);
}

TEST_F(Sdma, ringWraps) {
  auto *source = make<uint32_t>(1), *target = make<uint32_t>(1);
  for (uint32_t i = 1; i <= 1000; ++i) {
    ASSERT_TRUE(drained());
    *source = i;
    submit(copy(at(target), at(source), 4));
    submit({0});
  }
  ASSERT_TRUE(drained());
  EXPECT_EQ(*target, 1000u);
}

TEST_F(Sdma, fills) {
  auto *target = make<uint32_t>(1000);
  submit({11 | 2u << 30, low(at(target)), high(at(target)), 0xdeadbeef, (999 - 1) * 4});
  ASSERT_TRUE(drained());
  EXPECT_EQ(target[0], 0xdeadbeef);
  EXPECT_EQ(target[998], 0xdeadbeef);
  EXPECT_EQ(target[999], 0u);
}

TEST_F(Sdma, copiesRectangles) {
  // 5 x 3 elements of 4 bytes, out of rows of 16 and into rows of 8, each at an offset.
  auto *source = make<uint32_t>(16 * 8), *target = make<uint32_t>(8 * 8);
  std::iota(source, source + 16 * 8, 100);
  submit({1 | 4u << 8 | 2u << 29, low(at(source)), high(at(source)), 2 | 1u << 16, 15u << 13, 0, low(at(target)),
          high(at(target)), 1 | 2u << 16, 7u << 13, 0, 4 | 2u << 16, 0});
  ASSERT_TRUE(drained());
  for (uint32_t y = 0; y < 8; ++y)
    for (uint32_t x = 0; x < 8; ++x) {
      const bool inside = x >= 1 && x < 6 && y >= 2 && y < 5;
      EXPECT_EQ(target[y * 8 + x], inside ? 100 + (y - 2 + 1) * 16 + (x - 1 + 2) : 0u) << x << "," << y;
    }
}

struct SdmaGfx12 : Sdma {
  SdmaGfx12() : Sdma("gfx1200") {}
};

// The pitch is where others have bits of Z, which has 14 here.
TEST_F(SdmaGfx12, copiesRectangles) {
  constexpr uint32_t kSlice = 16 * 4;
  auto *source = make<uint32_t>(kSlice * 3), *target = make<uint32_t>(8 * 8);
  std::iota(source, source + kSlice * 3, 100);
  submit({1 | 4u << 8 | 2u << 29, low(at(source)), high(at(source)), 2 | 1u << 16, 2 | 15u << 16, kSlice - 1,
          low(at(target)), high(at(target)), 1 | 2u << 16, 7u << 16, 0, 4 | 2u << 16, 0});
  ASSERT_TRUE(drained());
  for (uint32_t y = 0; y < 8; ++y)
    for (uint32_t x = 0; x < 8; ++x) {
      const bool inside = x >= 1 && x < 6 && y >= 2 && y < 5;
      EXPECT_EQ(target[y * 8 + x], inside ? 100 + 2 * kSlice + (y - 2 + 1) * 16 + (x - 1 + 2) : 0u) << x << "," << y;
    }
}

TEST_F(Sdma, pollWaitsForMemory) {
  auto *flag = make<uint32_t>();
  auto *target = make<uint32_t>();
  *flag = 1;
  submit({8 | 3u << 28 | 1u << 31, low(at(flag)), high(at(flag)), 0, ~0u, 4 | 0xfffu << 16});
  submit({5, low(at(target)), high(at(target)), 77});
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(std::atomic_ref(*target).load(), 0u);
  std::atomic_ref(*flag).store(0);
  ASSERT_TRUE(drained());
  EXPECT_EQ(*target, 77u);
}

TEST_F(Sdma, hdpFlushAndTimestamp) {
  auto *stamp = make<uint64_t>();
  const uint64_t before = Device::clock();
  submit({8, 0, 0x80000000, 0, 0, 0});
  submit({13 | 2u << 8, low(at(stamp)), high(at(stamp))});
  ASSERT_TRUE(drained());
  EXPECT_GE(*stamp, before);
  EXPECT_LE(*stamp, Device::clock());
}

TEST_F(Sdma, faultNamesTheFirstBadByte) {
  auto *source = make<char>(4096), *target = make<char>(8192);
  submit(copy(at(target), at(source) + 4000, 200));
  ASSERT_TRUE(eventually([&] { return host.locked([](auto &h) { return h.memoryFaults == 1; }); }));
  EXPECT_EQ(host.faultAddress, at(source) + 4096);
  EXPECT_EQ(readIndex(), 0u);
}

TEST_F(Sdma, unknownPacketsEndTheProcess) {
  submit({0x7f});
  ASSERT_TRUE(eventually([&] { return host.locked([](auto &h) { return !h.deaths.empty(); }); }));
  EXPECT_NE(host.reports.find("opcode 127"), std::string::npos) << host.reports;
}

// More than the 22 bits of SDMA 4.0: one packet, all of it.
TEST_F(Sdma, gfx90aCountsIn30Bits) {
  constexpr uint32_t kSize = (1u << 22) + 4096;
  auto *source = make<uint8_t>(kSize), *target = make<uint8_t>(kSize);
  std::iota(source, source + kSize, 0);
  submit(copy(at(target), at(source), kSize));
  ASSERT_TRUE(drained());
  EXPECT_EQ(std::memcmp(target, source, kSize), 0);
}

/// The queue refuses `words` with a message that has all of `parts`.
struct SdmaRefuses : Sdma {
  void expectRefused(std::vector<uint32_t> words, std::initializer_list<const char *> parts) {
    host.locked([](auto &h) {
      h.reports.clear();
      h.deaths.clear();
    });
    TearDown();
    indices[0] = indices[1] = written = 0;
    queue = std::make_unique<SdmaQueue>(1, device, host, ring, kRingBytes, &indices[0], &indices[1]);
    SetUp();
    submit(std::move(words));
    ASSERT_TRUE(eventually([&] { return host.locked([](auto &h) { return !h.deaths.empty(); }); })) << *parts.begin();
    const std::string report = host.locked([](auto &h) { return h.reports; });
    for (const char *part : parts)
      EXPECT_NE(report.find(part), std::string::npos) << part << " is not in: " << report;
    EXPECT_EQ(readIndex(), 0u);
  }
};

TEST_F(SdmaRefuses, bitsWithoutAMeaning) {
  auto *memory = make<uint64_t>(512);
  const uint64_t address = at(memory);
  struct Packet {
    const char *name;
    std::vector<uint32_t> words;
    /// By word: bits that must be 0.
    std::vector<std::pair<size_t, uint32_t>> zero;
  };
  const uint32_t lo = low(address), hi = high(address);
  const Packet packets[] = {
      {"COPY_LINEAR", copy(address + 64, address, 8), {{0, 0xffff0000}, {1, 0xc0000000}, {2, 0xffffffff}}},
      {"COPY_LINEAR_RECT",
       {1 | 4u << 8 | 2u << 29, lo, hi, 0, 0, 0, lo, hi, 0, 0, 0, 0, 0},
       {{0, 0x1fff0000},
        {3, 0xc000c000},
        {4, 0x1800},
        {5, 0xf0000000},
        {8, 0xc000c000},
        {9, 0x1800},
        {10, 0xf0000000},
        {11, 0xc000c000},
        {12, 0xfffff800}}},
      {"FENCE", {5, lo, hi, 1}, {{0, 0xfcb00000}}},
      {"TRAP", {6, 1}, {{0, 0xffff0000}, {1, 0xf0000000}}},
      {"POLL_REGMEM", {8 | 3u << 28 | 1u << 31, lo, hi, 0, ~0u, 4 | 0xfffu << 16}, {{0, 0x0fff0000}, {5, 0xf0000000}}},
      {"ATOMIC", {10 | 47u << 25, lo, hi, 1, 0, 0, 0, 0}, {{0, 0x01ff0000}, {7, 0xffffe000}}},
      {"CONST_FILL", {11 | 2u << 30, lo, hi, 7, 60}, {{0, 0x3fff0000}, {4, 0xffc00000}}},
      {"TIMESTAMP", {13 | 2u << 8, lo, hi}, {{0, 0xffff0000}}},
      {"NOP", {0}, {{0, 0xc000ff00}}},
  };
  for (const Packet &packet : packets)
    for (const auto &[word, mask] : packet.zero)
      for (uint32_t rest = mask; rest; rest &= rest - 1) {
        std::vector<uint32_t> words = packet.words;
        words[word] |= rest & -rest;
        expectRefused(words, {packet.name});
        ASSERT_FALSE(HasFailure()) << packet.name << ", word " << word << ", bit " << std::countr_zero(rest);
      }
}

TEST_F(SdmaRefuses, valuesWithoutAMeaning) {
  auto *memory = make<uint64_t>(512);
  const uint64_t address = at(memory);
  const uint32_t lo = low(address), hi = high(address);
  expectRefused(copy(address, address, 1u << 31), {"COPY_LINEAR", "count is 0x7fffffff", "gfx90a has 30 bits"});
  expectRefused({1 | 4u << 8 | 5u << 29, lo, hi, 0, 0, 0, lo, hi, 0, 0, 0, 0, 0}, {"element is 5"});
  expectRefused({11 | 3u << 30, lo, hi, 7, 60}, {"fillsize is 3"});
  expectRefused({11, lo, hi, 0x100, 60}, {"data is 0x100"});
  expectRefused({8 | 7u << 28 | 1u << 31, lo, hi, 0, ~0u, 4 | 0xfffu << 16}, {"func is 7"});
  expectRefused({8 | 3u << 28 | 1u << 31, lo, hi, 0, ~0u, 4 | 7u << 16}, {"retry_count is 0x7"});
  expectRefused({8 | 3u << 28, 0x1234, 0, 0, ~0u, 4 | 0xfffu << 16}, {"register 0x1234"});
  expectRefused({10 | 32u << 25, lo, hi, 1, 0, 0, 0, 0}, {"operation is 32"});
  expectRefused({17 | 1u << 8, 0, 0, 0, 0}, {"opcode 17"}); // of gfx10
  expectRefused({5 | 1u << 8, lo, hi, 1}, {"sub-opcode 1"});
  expectRefused({5, lo | 2, hi, 1}, {"a fence", "multiple of 4"});
  expectRefused({10 | 47u << 25, lo | 4, hi, 1, 0, 0, 0, 0}, {"an atomic", "multiple of 8"});
  expectRefused({1, 7, 0}, {"cut short"});
  expectRefused({3u << 16}, {"cut short"}); // a NOP of 4 words
}

TEST_F(Sdma, doorbellThatNoRingCanHave) {
  shared(indices[1]).store(kRingBytes + 4);
  ASSERT_TRUE(eventually([&] { return host.locked([](auto &h) { return !h.deaths.empty(); }); }));
  EXPECT_NE(host.reports.find("the doorbell is 0x1004"), std::string::npos) << host.reports;
}

TEST_F(Sdma, destroyEndsAPoll) {
  auto *flag = make<uint32_t>();
  *flag = 1;
  submit({8 | 3u << 28 | 1u << 31, low(at(flag)), high(at(flag)), 0, ~0u, 4 | 0xfffu << 16});
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

} // namespace
} // namespace luthier::vgpu
