#include "vgpu/memory/address_space.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace luthier::vgpu {
namespace {

constexpr uint64_t kPage = AddressSpace::kPageSize;
constexpr uint64_t kBase = 0x7f0000000000;

TEST(AddressSpace, NothingIsMappedAtFirst) {
  const AddressSpace space;
  EXPECT_FALSE(space.allows(0, 1, 1));
  EXPECT_FALSE(space.allows(kBase, 4, 1));
  EXPECT_FALSE(space.allows(~0ull, 1, 1));
}

TEST(AddressSpace, MapsWholePages) {
  AddressSpace space;
  space.map(kBase + 100, 1, 1);
  EXPECT_TRUE(space.allows(kBase, kPage, 1));
  EXPECT_FALSE(space.allows(kBase - 1, 1, 1));
  EXPECT_FALSE(space.allows(kBase + kPage, 1, 1));
  EXPECT_FALSE(space.allows(kBase + kPage - 1, 2, 1));
}

TEST(AddressSpace, ARangeTouchesThePagesOfItsFirstAndLastByte) {
  AddressSpace space;
  space.map(kBase + kPage - 1, 2, 1);
  EXPECT_TRUE(space.allows(kBase, 2 * kPage, 1));
  EXPECT_FALSE(space.allows(kBase, 2 * kPage + 1, 1));
}

TEST(AddressSpace, GpusAreApart) {
  AddressSpace space;
  space.map(kBase, kPage, 1);
  space.map(kBase, kPage, 4);
  EXPECT_TRUE(space.allows(kBase, 4, 1));
  EXPECT_FALSE(space.allows(kBase, 4, 2));
  EXPECT_TRUE(space.allows(kBase, 4, 4));
  EXPECT_TRUE(space.allows(kBase, 4, 5));
  EXPECT_FALSE(space.allows(kBase, 4, 3));
  space.unmap(kBase, kPage, 1);
  EXPECT_FALSE(space.allows(kBase, 4, 1));
  EXPECT_TRUE(space.allows(kBase, 4, 4));
}

TEST(AddressSpace, CrossesTableBoundaries) {
  AddressSpace space;
  // 2^24 bytes per leaf, 2^36 per node.
  for (const uint64_t boundary : {uint64_t{1} << 24, uint64_t{1} << 36, uint64_t{3} << 36}) {
    space.map(boundary - kPage, 2 * kPage, 1);
    EXPECT_TRUE(space.allows(boundary - 4, 8, 1));
    EXPECT_FALSE(space.allows(boundary + kPage - 4, 8, 1));
    EXPECT_FALSE(space.allows(boundary - kPage - 4, 8, 1));
  }
}

TEST(AddressSpace, AddressesBeyond48BitsAreNeverMapped) {
  AddressSpace space;
  space.map(kBase, kPage, 1);
  EXPECT_FALSE(space.allows(kBase | 1ull << 48, 4, 1));
  EXPECT_FALSE(space.allows(kBase | 1ull << 63, 4, 1));
}

TEST(AddressSpace, RangesThatWrapAroundAreRefused) {
  AddressSpace space;
  space.map(0, kPage, 1);
  EXPECT_FALSE(space.allows(~0ull - 3, 8, 1));
  EXPECT_FALSE(space.allows(kBase, ~0ull - 10, 1));
  const AddressSpace::Range range{0, kPage};
  EXPECT_FALSE(range.contains(~0ull - 3, 8));
  EXPECT_FALSE(range.contains(8, ~0ull));
  EXPECT_TRUE(range.contains(kPage - 8, 8));
  EXPECT_FALSE(range.contains(kPage - 8, 9));
  EXPECT_FALSE(range.contains(kPage, 1));
  EXPECT_FALSE(AddressSpace::Range().contains(0, 4));
}

TEST(AddressSpace, RangeAroundIsContiguous) {
  AddressSpace space;
  space.map(kBase, 3 * kPage, 1);
  space.map(kBase + 3 * kPage, kPage, 2);
  space.map(kBase + 4 * kPage, kPage, 1);
  const auto range = space.rangeAround(kBase + kPage + 17, 1);
  EXPECT_EQ(range.begin, kBase);
  EXPECT_EQ(range.end, kBase + 3 * kPage);
  const auto none = space.rangeAround(kBase + 3 * kPage, 1);
  EXPECT_EQ(none.begin, none.end);
}

TEST(AddressSpace, RangeAroundIsBounded) {
  AddressSpace space;
  const uint64_t size = 1ull << 28;
  space.map(kBase, size, 1);
  const uint64_t middle = kBase + size / 2;
  const auto range = space.rangeAround(middle, 1);
  EXPECT_TRUE(range.contains(middle, 1 << 20));
  EXPECT_LT(range.end - range.begin, size);
}

TEST(AddressSpace, OnlyUnmappingChangesTheEpoch) {
  AddressSpace space;
  const uint64_t before = space.epoch();
  space.map(kBase, kPage, 1);
  EXPECT_EQ(space.epoch(), before);
  space.unmap(kBase, kPage, 1);
  EXPECT_GT(space.epoch(), before);
}

TEST(AddressSpace, NothingOfSizeZero) {
  AddressSpace space;
  space.map(kBase, 0, 1);
  EXPECT_FALSE(space.allows(kBase, 1, 1));
  space.map(kBase, kPage, 1);
  space.unmap(kBase, 0, 1);
  EXPECT_TRUE(space.allows(kBase, 1, 1));
}

TEST(AddressSpace, LookUpsRunBesideChanges) {
  AddressSpace space;
  space.map(kBase, 16 * kPage, 1);
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> wrong{0};
  std::thread reader([&] {
    while (!stop)
      wrong += !space.allows(kBase + 5 * kPage, 64, 1);
  });
  for (uint64_t n = 0; n < 200; ++n) {
    const uint64_t other = (n + 1) << 30;
    space.map(other, kPage, 1);
    space.unmap(other, kPage, 1);
    EXPECT_FALSE(space.allows(other, 4, 1));
  }
  stop = true;
  reader.join();
  EXPECT_EQ(wrong, 0u);
}

} // namespace
} // namespace luthier::vgpu
