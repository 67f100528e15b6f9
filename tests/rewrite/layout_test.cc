// Branches that reach, whatever lies between: with a reach of a few instructions, every branch needs islands.
#include "emit_fixture.h"
#include "rewrite/layout.h"

#include <cstring>
#include <random>

namespace luthier::rewrite::test {
namespace {

constexpr uint32_t kBranch = 0xbf820000, kConditional = 0xbf850000;
constexpr uint64_t kReach = 2048;

std::span<const uint8_t> bytesOf(const uint32_t &word) { return {reinterpret_cast<const uint8_t *>(&word), 4}; }
uint32_t wordAt(const Layout::Result &laid, uint64_t at) {
  uint32_t word = 0;
  memcpy(&word, laid.code.data() + at, sizeof word);
  return word;
}
uint64_t targetOf(uint32_t word, uint64_t at) {
  return at + 4 + static_cast<uint64_t>(int64_t{static_cast<int16_t>(word & 0xffff)} * 4);
}
/// Where control ends up from a branch, through islands; no hop goes farther than it may.
uint64_t follow(const Layout::Result &laid, uint64_t at, unsigned &hops) {
  uint64_t to = targetOf(wordAt(laid, at), at);
  const auto inIsland = [&](uint64_t place) {
    return std::ranges::any_of(laid.ranges, [&](const CodeRange &range) {
      return range.kind == CodeRange::Kind::Island && place >= range.offset && place < range.offset + range.size;
    });
  };
  while (inIsland(to)) {
    const auto distance = static_cast<int64_t>(to) - static_cast<int64_t>(at) - 4;
    EXPECT_LE(std::abs(distance), static_cast<int64_t>(kReach));
    EXPECT_EQ(wordAt(laid, to) & 0xffff0000, kBranch);
    at = to;
    to = targetOf(wordAt(laid, at), at);
    if (++hops > 1000)
      return UINT64_MAX;
  }
  return to;
}

TEST(LayoutTest, BranchesReachThroughIslands) {
  for (const unsigned seed : {1u, 2u, 3u, 4u}) {
    std::mt19937 random(seed);
    constexpr unsigned kItems = 1200;
    Layout layout;
    std::vector<Layout::Label> labels;
    for (unsigned n = 0; n < kItems; ++n)
      labels.push_back(layout.newLabel());
    struct Branch {
      Layout::Label at, to;
    };
    std::vector<Branch> branches;
    std::vector<Layout::Label> glued; ///< pieces in pairs that nothing may come between
    for (uint32_t n = 0; n < kItems; ++n) {
      layout.bind(labels[n]);
      layout.add(bytesOf(n), CodeRange::Kind::Original, 8 * n);
      if (random() % 12 == 0) {
        const Layout::Label to = labels[random() % kItems];
        branches.push_back({layout.newLabel(), to});
        layout.bind(branches.back().at);
        layout.addBranch(bytesOf(kConditional), to, CodeRange::Kind::Glue, 8 * n, n);
      }
      if (random() % 3 == 0)
        for (unsigned half = 0; half < 2; ++half) {
          glued.push_back(layout.newLabel());
          layout.bind(glued.back());
          layout.add(bytesOf(0x40000000), CodeRange::Kind::Glue, 8 * n, n);
          if (!half)
            layout.glue();
        }
      if (n % 50 == 0) {
        layout.add(bytesOf(0x80000000 + n), CodeRange::Kind::Glue, 8 * n, 99);
        layout.addRelocation({.addend = n}, -4);
      }
    }
    const Layout::Result laid = must(layout.finish(kBranch, kReach));
    unsigned hops = 0, islands = 0;
    for (uint32_t n = 0; n < kItems; ++n)
      ASSERT_EQ(wordAt(laid, laid.labels[n]), n) << "what comes behind a label is at it";
    for (size_t n = 0; n < glued.size(); n += 2)
      ASSERT_EQ(laid.labels[glued[n]] + 4, laid.labels[glued[n + 1]]);
    for (const Branch &branch : branches) {
      const uint64_t at = laid.labels[branch.at];
      ASSERT_EQ(wordAt(laid, at) & 0xffff0000, kConditional);
      EXPECT_EQ(follow(laid, at, hops), laid.labels[branch.to]);
    }
    EXPECT_GT(hops, 50u);
    // Control that falls into an island jumps over it; ranges have no holes.
    uint64_t expected = 0;
    for (const CodeRange &range : laid.ranges) {
      ASSERT_EQ(range.offset, expected);
      expected += range.size;
      if (range.kind == CodeRange::Kind::Island) {
        EXPECT_EQ(targetOf(wordAt(laid, range.offset), range.offset), range.offset + range.size);
        ++islands;
      }
    }
    EXPECT_EQ(expected, laid.code.size());
    EXPECT_GT(islands, 2u);
    for (const CodeRelocation &relocation : laid.relocations)
      EXPECT_EQ(wordAt(laid, relocation.offset), 0x80000000 + relocation.addend);
    EXPECT_EQ(laid.relocations.size(), kItems / 50);
  }
}

TEST(LayoutTest, ChainsOfManyHops) {
  // Up and down past hundreds of islands.
  Layout layout;
  const Layout::Label begin = layout.newLabel(), end = layout.newLabel(), down = layout.newLabel();
  layout.bind(begin);
  layout.addBranch(bytesOf(kBranch), end, CodeRange::Kind::Glue, 0);
  constexpr uint32_t kItems = 200 * kReach / 4;
  for (uint32_t n = 0; n < kItems; ++n)
    layout.add(bytesOf(n), CodeRange::Kind::Original, 4 * n);
  layout.bind(down);
  layout.addBranch(bytesOf(kBranch), begin, CodeRange::Kind::Glue, 0);
  layout.bind(end);
  layout.add(bytesOf(kItems), CodeRange::Kind::Original, 4 * kItems);
  const Layout::Result laid = must(layout.finish(kBranch, kReach));
  for (const auto &[from, to] : {std::pair(begin, end), std::pair(down, begin)}) {
    unsigned hops = 0;
    EXPECT_EQ(follow(laid, laid.labels[from], hops), laid.labels[to]);
    EXPECT_GE(hops, 190u);
  }
}

TEST(LayoutTest, NoIslandWhereNoneIsNeeded) {
  Layout layout;
  const Layout::Label start = layout.newLabel();
  layout.bind(start);
  for (uint32_t n = 0; n < 100; ++n)
    layout.add(bytesOf(n), CodeRange::Kind::Original, 4 * n);
  layout.addBranch(bytesOf(kConditional), start, CodeRange::Kind::Glue, 400);
  const Layout::Result laid = must(layout.finish(kBranch, kReach));
  EXPECT_EQ(laid.code.size(), 404u);
  EXPECT_EQ(targetOf(wordAt(laid, 400), 400), 0u);
}

TEST(LayoutTest, WhatCannotBe) {
  Layout nowhere;
  nowhere.addBranch(bytesOf(kConditional), nowhere.newLabel(), CodeRange::Kind::Glue, 0x1234);
  const auto lost = nowhere.finish(kBranch, kReach);
  ASSERT_FALSE(lost);
  EXPECT_THAT(lost.error().message(), testing::HasSubstr("0x1234"));

  // One piece that is longer than branches reach leaves no place for an island.
  Layout wide;
  const Layout::Label end = wide.newLabel();
  wide.addBranch(bytesOf(kConditional), end, CodeRange::Kind::Glue, 0x4321);
  const std::vector<uint8_t> piece(3 * kReach);
  wide.add(piece, CodeRange::Kind::Original, 0);
  wide.bind(end);
  wide.add(bytesOf(kBranch), CodeRange::Kind::Original, 3 * kReach);
  const auto far = wide.finish(kBranch, kReach);
  ASSERT_FALSE(far);
  EXPECT_THAT(far.error().message(), testing::HasSubstr("0x4321"));
}

/// gfx1010 cannot branch by 0x3f dwords.
TEST(LayoutTest, NoBranchHasAForbiddenDistance) {
  constexpr uint32_t kForbidden = 0x3f;
  std::mt19937 random(1);
  constexpr unsigned kItems = 3000;
  Layout layout;
  std::vector<Layout::Label> labels, branches;
  for (unsigned n = 0; n < kItems; ++n)
    labels.push_back(layout.newLabel());
  std::vector<Layout::Label> targets;
  for (uint32_t n = 0; n < kItems; ++n) {
    layout.bind(labels[n]);
    layout.add(bytesOf(n), CodeRange::Kind::Original, 4 * n);
    if (n % 5 == 0 && n + 80 < kItems) { // about so far
      targets.push_back(labels[n + 45 + random() % 20]);
      branches.push_back(layout.newLabel());
      layout.bind(branches.back());
      layout.addBranch(bytesOf(kConditional), targets.back(), CodeRange::Kind::Glue, 4 * n, n);
    }
  }
  const auto distances = [&](const Layout::Result &laid) {
    unsigned forbidden = 0;
    for (size_t n = 0; n < branches.size(); ++n) {
      const uint64_t at = laid.labels[branches[n]];
      EXPECT_EQ(targetOf(wordAt(laid, at), at), laid.labels[targets[n]]);
      forbidden += (wordAt(laid, at) & 0xffff) == kForbidden;
    }
    return forbidden;
  };
  Layout copy = layout;
  EXPECT_GT(distances(must(copy.finish(kBranch))), 5u);
  const Layout::Result laid = must(layout.finish(kBranch, Layout::kReach, kForbidden));
  EXPECT_EQ(distances(laid), 0u);
  uint64_t end = 0;
  for (const CodeRange &range : laid.ranges) {
    EXPECT_EQ(range.offset, end);
    end = range.offset + range.size;
    for (uint64_t at = range.offset; range.kind == CodeRange::Kind::Island && at < end; at += 4)
      EXPECT_EQ(wordAt(laid, at), 0xbf800000u);
  }
  EXPECT_EQ(end, laid.code.size());
}

} // namespace
} // namespace luthier::rewrite::test
