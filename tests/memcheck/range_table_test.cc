#include "memcheck/hooks/range_table.h"

#include <gtest/gtest.h>

#include <memory>

namespace luthier::memcheck {
namespace {

using memory_check::Shared;

struct NoGuards : PageGuards {
  void guard(uint64_t, uint64_t) override {}
  void unguard(uint64_t, uint64_t) override {}
};

class RangeTableTest : public testing::Test {
protected:
  void add(uint64_t begin, uint64_t size, Allocation::Kind kind = Allocation::Kind::Device) {
    Allocation allocation;
    allocation.begin = begin;
    allocation.size = size;
    allocation.kind = kind;
    allocation.mayBeKernarg = kind == Allocation::Kind::Host;
    allocations.add(std::move(allocation));
  }
  /// What hooks see.
  const memory_check::Table &seen() const { return *reinterpret_cast<const memory_check::Table *>(shared->current); }

  NoGuards guards;
  Allocations allocations{guards};
  std::unique_ptr<Shared> shared = std::make_unique<Shared>();
  RangeTable table{*shared, allocations};
};

TEST_F(RangeTableTest, HasLiveAllocationsInOrder) {
  add(0x5000, 100);
  add(0x1000, 50, Allocation::Kind::Host);
  EXPECT_TRUE(table.refresh());
  ASSERT_EQ(seen().count, 2u);
  EXPECT_EQ(seen().ranges[0].begin, 0x1000u);
  EXPECT_EQ(seen().ranges[0].end, 0x1032u);
  EXPECT_EQ(seen().ranges[0].arguments, 1u);
  EXPECT_EQ(seen().ranges[1].end, 0x5064u);
  EXPECT_EQ(seen().ranges[1].arguments, 0u);
  allocations.claim(0x1000); // the application's own: no arguments are there
  EXPECT_TRUE(table.refresh());
  EXPECT_EQ(seen().ranges[0].arguments, 0u);
}

TEST_F(RangeTableTest, NothingIsFoundWhereSomethingWasFreed) {
  for (uint64_t n = 1; n <= 3; ++n)
    add(n << 16, 64);
  EXPECT_TRUE(table.refresh());
  EXPECT_TRUE(table.refresh()); // both tables have it
  allocations.free(2 << 16, {});
  allocations.free(3 << 16, {});
  EXPECT_TRUE(table.refresh());
  ASSERT_EQ(seen().count, 1u);
  EXPECT_EQ(seen().ranges[0].begin, 1u << 16);
  for (unsigned n = 1; n < 3; ++n) // a hint may still lead there
    EXPECT_EQ(seen().ranges[n].end, 0u) << n;
}

TEST_F(RangeTableTest, RegisteredMemoryThatOverlapsIsOneRange) {
  add(0x1000, 0x100, Allocation::Kind::Registered);
  add(0x1080, 0x200, Allocation::Kind::Registered);
  add(0x1090, 0x10, Allocation::Kind::Registered);
  EXPECT_TRUE(table.refresh());
  ASSERT_EQ(seen().count, 1u);
  EXPECT_EQ(seen().ranges[0].end, 0x1280u);
}

TEST_F(RangeTableTest, RuntimesOwnMemoryIsAllowed) {
  add(0x9000, 16);
  EXPECT_FALSE(table.allows(0x2000));
  table.allow(0x2000, 0x3000);
  EXPECT_TRUE(table.allows(0x2000));
  EXPECT_TRUE(table.allows(0x2fff));
  EXPECT_FALSE(table.allows(0x3000));
  EXPECT_TRUE(table.refresh());
  ASSERT_EQ(seen().count, 2u);
  EXPECT_EQ(seen().ranges[0].begin, 0x2000u);
}

TEST_F(RangeTableTest, AllowedMemoryThatTheApplicationGetsIsNothingElse) {
  table.allow(0x2000, 0x8000);
  add(0x9000, 16); // beside it
  EXPECT_TRUE(table.refresh());
  EXPECT_TRUE(table.allows(0x2000));
  add(0x4000, 16);
  EXPECT_TRUE(table.refresh());
  EXPECT_FALSE(table.allows(0x2000));
  ASSERT_EQ(seen().count, 2u);
  EXPECT_EQ(seen().ranges[0].begin, 0x4000u);
  EXPECT_EQ(seen().ranges[0].end, 0x4010u);
}

TEST_F(RangeTableTest, WhatIsAllowedForNowEndsWhereAllocationsBegin) {
  add(0x10010, 16, Allocation::Kind::Registered);
  add(0x20010, 16, Allocation::Kind::Registered);
  table.allowForNow(0x18000, 0x8000, 0x40000);
  EXPECT_TRUE(table.refresh());
  ASSERT_EQ(seen().count, 3u);
  EXPECT_EQ(seen().ranges[1].begin, 0x11000u);
  EXPECT_EQ(seen().ranges[1].end, 0x20000u);
  EXPECT_TRUE(table.forget());
  EXPECT_FALSE(table.forget());
  EXPECT_FALSE(table.allows(0x18000));
  EXPECT_TRUE(table.refresh());
  EXPECT_EQ(seen().count, 2u);
}

TEST_F(RangeTableTest, SaysWhenItIsFull) {
  for (uint64_t n = 1; n <= memory_check::kMostRanges; ++n)
    add(n << 16, 8);
  EXPECT_TRUE(table.refresh());
  add(uint64_t{memory_check::kMostRanges + 1} << 16, 8);
  EXPECT_FALSE(table.refresh());
  EXPECT_EQ(seen().count, memory_check::kMostRanges);
}

} // namespace
} // namespace luthier::memcheck
