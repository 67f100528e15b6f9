// The host's end of mem_trace's ring, with what kernels might leave in it.
#include "consumer.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

namespace mem_trace {
namespace {

class RingTest : public testing::Test {
protected:
  static constexpr uint32_t kSlots = 8;
  static constexpr size_t kSites = 3;

  RingTest()
      : memory_(std::calloc(1, sizeof(Ring) + kSlots * sizeof(Slot)), std::free),
        ring_(*static_cast<Ring *>(memory_.get())) {
    ring_.free = kSlots;
  }

  /// As a hook does.
  void put(uint32_t site) {
    --ring_.free;
    const uint32_t ticket = ring_.next++;
    Slot &slot = ring_.slots[ticket % kSlots];
    slot.site = site;
    slot.sequence = ticket + 1;
  }

  std::vector<uint32_t> take(int32_t most = 100) {
    std::vector<uint32_t> sites;
    consumer_.take(kSites, most, [&](const Slot &slot) { sites.push_back(slot.site); });
    return sites;
  }

  std::unique_ptr<void, void (*)(void *)> memory_;
  Ring &ring_;
  Consumer consumer_{ring_, kSlots - 1};
};

TEST_F(RingTest, RecordsComeInOrderAndSlotsAreGivenBack) {
  for (unsigned round = 0; round < 5; ++round) {
    for (uint32_t n = 0; n < kSlots; ++n)
      put(n % kSites);
    EXPECT_EQ(ring_.free, 0);
    EXPECT_EQ(consumer_.outstanding(), kSlots);
    EXPECT_EQ(take(3), (std::vector<uint32_t>{0, 1, 2}));
    EXPECT_EQ(take(), (std::vector<uint32_t>{0, 1, 2, 0, 1}));
    EXPECT_EQ(ring_.free, static_cast<int32_t>(kSlots));
    EXPECT_EQ(consumer_.outstanding(), 0u);
  }
  EXPECT_EQ(consumer_.damaged(), 0u);
}

TEST_F(RingTest, SitesThatDoNotExistAreDamage) {
  for (const uint32_t site : {0u, 3u, 1u, 0xffff'ffffu, 0x8000'0000u, 2u})
    put(site);
  EXPECT_EQ(take(), (std::vector<uint32_t>{0, 1, 2}));
  EXPECT_EQ(consumer_.damaged(), 3u);
  EXPECT_EQ(ring_.free, static_cast<int32_t>(kSlots)) << "hooks must not wait for damaged slots";
}

TEST_F(RingTest, AWrongSequenceIsNeverTaken) {
  for (const uint32_t sequence : {0u, 2u, 100u, 0xffff'ffffu}) {
    SCOPED_TRACE(sequence);
    put(1);
    const uint32_t right = std::exchange(ring_.slots[(ring_.next - 1) % kSlots].sequence, sequence + ring_.next - 1);
    EXPECT_TRUE(take().empty());
    EXPECT_EQ(consumer_.outstanding(), 1u) << "the thread sees that something is missing";
    ring_.slots[(ring_.next - 1) % kSlots].sequence = right;
    EXPECT_EQ(take().size(), 1u);
  }
}

TEST_F(RingTest, StopIsSeenByHooks) {
  EXPECT_EQ(ring_.stopped, 0u);
  consumer_.stop();
  EXPECT_EQ(ring_.stopped, 1u);
}

} // namespace
} // namespace mem_trace
