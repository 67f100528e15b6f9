#include "memcheck/allocations.h"

#include "vgpu/memory/address_space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace luthier::memcheck {
namespace {

using vgpu::AddressSpace;

constexpr uint64_t kPage = AddressSpace::kPageSize, kBase = 0x7f00'0000'0000;
using Where = Allocations::Neighbour::Where;

class AllocationsTest : public testing::Test {
protected:
  void SetUp() override { space.map(kBase, 64 * kPage, 1); }

  void add(uint64_t begin, uint64_t size, Allocation::Kind kind = Allocation::Kind::Device) {
    Allocation allocation;
    allocation.begin = begin;
    allocation.size = size;
    allocation.kind = kind;
    allocation.mayBeKernarg = kind == Allocation::Kind::Host;
    allocations.add(allocation);
  }
  bool fast(uint64_t page) const { return space.allows(kBase + page * kPage, 1, 1); }
  bool live(uint64_t address, uint64_t bytes) const { return allocations.liveAround(address, bytes).has_value(); }

  struct Guards : PageGuards {
    explicit Guards(AddressSpace &pages) : space(pages) {}
    void guard(uint64_t begin, uint64_t size) override { space.guard(begin, size); }
    void unguard(uint64_t begin, uint64_t size) override { space.unguard(begin, size); }
    AddressSpace &space;
  };

  AddressSpace space;
  Guards guards{space};
  Allocations allocations{guards};
};

TEST_F(AllocationsTest, OnlyPagesAtTheEndsAreGuarded) {
  add(kBase + 100, 4 * kPage); // begins in page 0, ends in page 4
  EXPECT_FALSE(fast(0));
  EXPECT_TRUE(fast(1));
  EXPECT_TRUE(fast(3));
  EXPECT_FALSE(fast(4));
  EXPECT_TRUE(fast(5));
  add(kBase + 8 * kPage, 2 * kPage); // whole pages
  EXPECT_TRUE(fast(8));
  EXPECT_TRUE(fast(9));
}

TEST_F(AllocationsTest, BytesDecide) {
  add(kBase, 1000);
  EXPECT_TRUE(live(kBase, 1000));
  EXPECT_TRUE(live(kBase + 996, 4));
  EXPECT_FALSE(live(kBase + 997, 4));
  EXPECT_FALSE(live(kBase + 1000, 1));
  EXPECT_FALSE(live(kBase - 1, 1));
  EXPECT_FALSE(live(kBase + 10, ~0ull));
  add(kBase + 1024, 8); // in the same page
  EXPECT_TRUE(live(kBase + 1024, 8));
  EXPECT_FALSE(live(kBase + 1020, 8));
}

TEST_F(AllocationsTest, FreedMemoryIsGuardedUntilItIsForgotten) {
  add(kBase, 4 * kPage);
  const uint64_t before = allocations.generation();
  EXPECT_TRUE(allocations.free(kBase, {1, 2}));
  EXPECT_NE(allocations.generation(), before);
  EXPECT_FALSE(allocations.free(kBase, {}));
  for (uint64_t page = 0; page < 4; ++page)
    EXPECT_FALSE(fast(page));
  EXPECT_FALSE(live(kBase, 4));
  const auto near = allocations.nearest(kBase + 20, 4);
  ASSERT_TRUE(near);
  EXPECT_TRUE(near->freed);
  EXPECT_EQ(near->where, Where::Inside);
  EXPECT_EQ(near->distance, 20u);
  EXPECT_EQ(near->allocation.freedAt, (HostStack{1, 2}));
  allocations.forget(kBase);
  EXPECT_TRUE(fast(0)); // whoever has the pages now decides
  EXPECT_TRUE(allocations.nearest(kBase + 20, 4)->freed);
  add(kBase, 4 * kPage);
  EXPECT_TRUE(live(kBase, 4));
  EXPECT_TRUE(fast(2));
  EXPECT_FALSE(allocations.nearest(kBase + 20, 4)->freed);
}

TEST_F(AllocationsTest, AddressesThatAreUsedAgainAreTheNewAllocations) {
  add(kBase, 3 * kPage);
  add(kBase + kPage, 100);
  EXPECT_FALSE(live(kBase, 4)); // the old one is no longer there
  EXPECT_TRUE(live(kBase + kPage + 96, 4));
  EXPECT_FALSE(live(kBase + kPage + 97, 4));
  // And what was guarded for its sake is not any more.
  add(kBase + 16 * kPage, 3 * kPage + 100);
  EXPECT_FALSE(fast(19));
  add(kBase + 16 * kPage, kPage);
  EXPECT_TRUE(fast(19));
  add(kBase + 24 * kPage, 3 * kPage);
  allocations.free(kBase + 24 * kPage, {});
  EXPECT_FALSE(fast(26));
  add(kBase + 24 * kPage, kPage);
  EXPECT_TRUE(fast(26));
}

TEST_F(AllocationsTest, NearestIsTheOneMeant) {
  add(kBase, 1000);
  add(kBase + 4 * kPage, 1000);
  auto near = allocations.nearest(kBase + 1004, 4);
  ASSERT_TRUE(near);
  EXPECT_EQ(near->where, Where::Behind);
  EXPECT_EQ(near->distance, 4u);
  EXPECT_EQ(near->allocation.begin, kBase);
  near = allocations.nearest(kBase + 998, 4); // begins within
  EXPECT_EQ(near->where, Where::Behind);
  EXPECT_EQ(near->distance, 0u);
  near = allocations.nearest(kBase + 4 * kPage - 8, 8);
  EXPECT_EQ(near->where, Where::Before);
  EXPECT_EQ(near->distance, 8u);
  EXPECT_EQ(near->allocation.begin, kBase + 4 * kPage);
  EXPECT_EQ(near->allocation.number, 2u);
}

TEST_F(AllocationsTest, RegisteredMemoryMayOverlap) {
  add(kBase + 64, 100, Allocation::Kind::Registered);
  add(kBase + 128, 1000, Allocation::Kind::Registered);
  EXPECT_TRUE(live(kBase + 64, 100));
  EXPECT_TRUE(live(kBase + 200, 900));
  EXPECT_FALSE(live(kBase, 8));
  EXPECT_FALSE(fast(0));
  EXPECT_TRUE(allocations.registeredNear(kBase + 2000, 4));
  EXPECT_FALSE(allocations.registeredNear(kBase + kPage, 4));
  EXPECT_TRUE(allocations.free(kBase + 64, {}));
  EXPECT_FALSE(live(kBase + 64, 8));
  EXPECT_TRUE(live(kBase + 200, 900));
  EXPECT_FALSE(fast(0));
  EXPECT_TRUE(allocations.free(kBase + 128, {}));
  EXPECT_TRUE(fast(0));
}

TEST_F(AllocationsTest, MemoryOfArgumentsIsKnownOnceItIsUsed) {
  add(kBase, 4 * kPage, Allocation::Kind::Host);
  add(kBase + 8 * kPage, 4 * kPage);
  EXPECT_EQ(allocations.liveAround(kBase + kPage, 8)->kind, Allocation::Kind::Host);
  allocations.useForArguments(kBase + kPage + 64);
  allocations.useForArguments(kBase + 9 * kPage); // not from a pool for arguments
  allocations.useForArguments(kBase + 32 * kPage);
  EXPECT_EQ(allocations.liveAround(kBase + kPage, 8)->kind, Allocation::Kind::Kernarg);
  EXPECT_EQ(allocations.liveAround(kBase + 9 * kPage, 8)->kind, Allocation::Kind::Device);
  EXPECT_TRUE(fast(1)); // every kernel reads its arguments
}

TEST_F(AllocationsTest, LiveOnesAreListedInOrder) {
  add(kBase + 8 * kPage, 10);
  add(kBase, 20);
  add(kBase + 16 * kPage, 30, Allocation::Kind::Registered);
  allocations.claim(kBase);
  allocations.free(kBase + 8 * kPage, {});
  const auto left = allocations.live();
  ASSERT_EQ(left.size(), 2u);
  EXPECT_EQ(left[0].size, 20u);
  EXPECT_TRUE(left[0].claimed);
  EXPECT_EQ(left[1].size, 30u);
  EXPECT_FALSE(left[1].claimed);
}

TEST_F(AllocationsTest, NearestIsTheApplicationsOwnRatherThanItsRuntimes) {
  add(kBase, kPage);
  add(kBase + 2 * kPage, kPage);
  allocations.claim(kBase);
  EXPECT_EQ(allocations.nearest(kBase + 2 * kPage - 8, 4)->allocation.begin, kBase);
  EXPECT_EQ(allocations.nearest(kBase + 2 * kPage + 8, 4)->allocation.begin, kBase + 2 * kPage); // within it
  // But only near it.
  add(kBase + (1ull << 30), kPage);
  EXPECT_EQ(allocations.nearest(kBase + (1ull << 30) - 8, 4)->allocation.begin, kBase + (1ull << 30));
}

TEST_F(AllocationsTest, RangesAreAllThatIsLive) {
  add(kBase + 8 * kPage, 100);
  add(kBase, 50, Allocation::Kind::Host);
  add(kBase + 4 * kPage, 50);
  allocations.free(kBase + 4 * kPage, {});
  const auto ranges = allocations.ranges();
  ASSERT_EQ(ranges.size(), 2u);
  EXPECT_EQ(ranges[0].end, kBase + 50);
  EXPECT_TRUE(ranges[0].mayBeKernarg);
  EXPECT_EQ(ranges[1].begin, kBase + 8 * kPage);
  // Bytes of these pages are somebody's, and not others'.
  EXPECT_TRUE(allocations.guards(kBase + 60, 4));
  EXPECT_TRUE(allocations.guards(kBase + 4 * kPage, 1)); // freed
  EXPECT_TRUE(allocations.guards(kBase - 4, 8));         // the second page
  EXPECT_FALSE(allocations.guards(kBase + 5 * kPage, 4));
}

} // namespace
} // namespace luthier::memcheck
