#include "support/access_sum.h"

#include <gtest/gtest.h>

#include <set>

namespace luthier {
namespace {

struct Access {
  uint64_t mask = ~0ull;
  uint64_t addresses[64] = {};
  Access() {
    for (unsigned lane = 0; lane < 64; ++lane)
      addresses[lane] = 0x7f00'0000'0000 + 4 * lane;
  }
};

AccessSum sumOf(std::initializer_list<Access> accesses) {
  AccessSum sum;
  for (const Access &access : accesses)
    sum.add(access.mask, access.addresses);
  return sum;
}

TEST(AccessSum, OrderDoesNotMatter) {
  Access a, b, c;
  b.addresses[5] = 1;
  c.mask = 0xf0;
  EXPECT_EQ(sumOf({a, b, c, c}), sumOf({c, b, c, a}));
  AccessSum parts = sumOf({a, c});
  parts.add(sumOf({c, b}));
  EXPECT_EQ(parts, sumOf({a, b, c, c}));
  EXPECT_EQ(parts.executed, 4u);
  EXPECT_EQ(parts.lanes, 64u + 64 + 4 + 4);
}

TEST(AccessSum, EveryAddressCounts) {
  std::set<uint64_t> seen = {sumOf({Access()}).addresses};
  for (unsigned lane = 0; lane < 64; ++lane)
    for (unsigned bit = 0; bit < 64; ++bit) {
      Access other;
      other.addresses[lane] ^= 1ull << bit;
      const AccessSum sum = sumOf({other});
      EXPECT_TRUE(seen.insert(sum.addresses).second) << lane << " " << bit;
      EXPECT_EQ(sum.masks, sumOf({Access()}).masks);
    }
}

TEST(AccessSum, LanesAreNotInterchangeable) {
  Access swapped;
  std::swap(swapped.addresses[3], swapped.addresses[4]);
  EXPECT_NE(sumOf({swapped}).addresses, sumOf({Access()}).addresses);
  // Nor are those of two accesses, lane by lane.
  Access a, b, c, d;
  a.addresses[0] = c.addresses[0] = 1;
  a.addresses[1] = d.addresses[1] = 1;
  EXPECT_NE(sumOf({a, b}).addresses, sumOf({c, d}).addresses);
}

TEST(AccessSum, OnlyLanesOfTheMaskCount) {
  Access a, b;
  a.mask = b.mask = 0xffff;
  b.addresses[16] = 0;
  EXPECT_EQ(sumOf({a}), sumOf({b}));
  b.mask = 0x1'ffff;
  EXPECT_NE(sumOf({a}).masks, sumOf({b}).masks);
  EXPECT_NE(sumOf({a}).addresses, sumOf({b}).addresses);
}

} // namespace
} // namespace luthier
