#include "vgpu/memory/address_space.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

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

TEST(AddressSpace, AliasesAreTranslatedForThoseWhoMay) {
  AddressSpace space;
  constexpr uint64_t kAlias = kBase + 64 * kPage;
  space.map(kBase, 2 * kPage, 3);
  space.mapAlias(kAlias, 2 * kPage, kBase, 1);
  const auto resolved = [&](uint64_t address, uint64_t size, DeviceMask device) {
    return space.resolve(address, size, device) ? address : 0;
  };
  EXPECT_FALSE(space.allows(kAlias, 1, 1)); // the fast way does not know them
  EXPECT_EQ(resolved(kAlias + kPage + 3, 5, 1), kBase + kPage + 3);
  EXPECT_EQ(resolved(kAlias, 2 * kPage, 1), kBase);
  EXPECT_EQ(resolved(kAlias, 2 * kPage + 1, 1), 0u);
  EXPECT_EQ(resolved(kAlias - 1, 2, 1), 0u);
  EXPECT_EQ(resolved(kAlias, 1, 2), 0u);
  EXPECT_EQ(resolved(kBase, 8, 2), kBase);
  space.mapAlias(kAlias, 2 * kPage, kBase, 2);
  EXPECT_EQ(resolved(kAlias, 1, 2), kBase);
  space.unmapAlias(kAlias, 1);
  EXPECT_EQ(resolved(kAlias, 1, 1), 0u);
  EXPECT_EQ(resolved(kAlias, 1, 2), kBase);
  space.unmapAlias(kAlias, 2);
  EXPECT_EQ(resolved(kAlias, 1, 2), 0u);
  space.unmapAlias(kAlias, 2); // nothing left
}

TEST(AddressSpace, GuardedPagesAreRefusedAndStayMapped) {
  AddressSpace space;
  space.map(kBase, 4 * kPage, 3);
  space.guard(kBase + kPage + 5, kPage); // touches two pages
  EXPECT_TRUE(space.allows(kBase, kPage, 1));
  EXPECT_FALSE(space.allows(kBase + kPage, 1, 1));
  EXPECT_FALSE(space.allows(kBase + 3 * kPage - 1, 1, 2));
  EXPECT_TRUE(space.allows(kBase + 3 * kPage, 1, 1));
  EXPECT_TRUE(space.mapped(kBase, 4 * kPage, 3));
  EXPECT_FALSE(space.mapped(kBase, 4 * kPage + 1, 1));
  EXPECT_FALSE(space.mapped(kBase, ~0ull, 1));
  EXPECT_TRUE(space.guarded(kBase, 2 * kPage));
  EXPECT_FALSE(space.guarded(kBase, kPage));
  uint64_t address = kBase + kPage;
  EXPECT_TRUE(space.resolve(address, 8, 1));
  EXPECT_EQ(address, kBase + kPage);
  space.unguard(kBase + kPage, 2 * kPage);
  EXPECT_TRUE(space.allows(kBase, 4 * kPage, 3));
  EXPECT_FALSE(space.guarded(kBase, 4 * kPage));
}

TEST(AddressSpace, MappingsOfGuardedPagesChangeBehindTheGuard) {
  AddressSpace space;
  space.guard(kBase, 2 * kPage); // before there is anything
  space.map(kBase, 2 * kPage, 1);
  EXPECT_FALSE(space.allows(kBase, 1, 1));
  EXPECT_TRUE(space.mapped(kBase, 2 * kPage, 1));
  EXPECT_FALSE(space.mapped(kBase, 1, 2));
  space.map(kBase, kPage, 2);
  space.unmap(kBase, kPage, 1);
  EXPECT_TRUE(space.mapped(kBase, kPage, 2));
  EXPECT_FALSE(space.mapped(kBase, kPage, 1));
  space.unguard(kBase, 2 * kPage);
  EXPECT_TRUE(space.allows(kBase, 1, 2));
  EXPECT_FALSE(space.allows(kBase, 1, 1));
  EXPECT_TRUE(space.allows(kBase + kPage, 1, 1));
  space.guard(kBase + kPage, kPage);
  space.unmap(kBase + kPage, kPage, 1);
  space.unguard(kBase + kPage, kPage);
  EXPECT_FALSE(space.allows(kBase + kPage, 1, 1));
}

TEST(AddressSpace, ThePagerIsAskedForEveryPageThatIsNotThere) {
  AddressSpace space;
  std::vector<uint64_t> asked;
  space.pager = [&](uint64_t address, DeviceMask device) {
    asked.push_back(address);
    if (address >= kBase + 3 * kPage)
      return false;
    space.map(address, 1, device);
    return true;
  };
  space.map(kBase + kPage, kPage, 1);
  uint64_t address = kBase + 8;
  EXPECT_TRUE(space.resolve(address, 3 * kPage - 8, 1));
  EXPECT_EQ(asked, (std::vector<uint64_t>{kBase + 8, kBase + 2 * kPage}));
  EXPECT_FALSE(space.resolve(address, 3 * kPage, 1));
  EXPECT_FALSE(space.resolve(address, ~0ull, 1));
}

} // namespace
} // namespace luthier::vgpu
