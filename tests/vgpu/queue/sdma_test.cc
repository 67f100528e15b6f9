#include "vgpu/queue/sdma.h"

#include "fixture.h"

#include <numeric>

namespace luthier::vgpu {
namespace {

constexpr uint64_t kRingBytes = 4096;

struct Sdma : QueueTest {
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

TEST_F(Sdma, userPointerTagIsDropped) {
  auto *source = make<uint32_t>(4), *target = make<uint32_t>(4);
  source[0] = 42;
  submit(copy(at(target) | AddressSpace::kUserPointerTag, at(source) | AddressSpace::kUserPointerTag, 4));
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

TEST_F(Sdma, destroyEndsAPoll) {
  auto *flag = make<uint32_t>();
  *flag = 1;
  submit({8 | 3u << 28 | 1u << 31, low(at(flag)), high(at(flag)), 0, ~0u, 4 | 0xfffu << 16});
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

} // namespace
} // namespace luthier::vgpu
