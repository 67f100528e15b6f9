#include "hostcall/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace luthier::hostcall {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A lane's words: flags, how many data words, and these.
struct Lane {
  uint64_t words[8] = {};
  Lane(uint64_t descriptor, uint64_t flags, std::vector<uint64_t> data) {
    words[0] = (descriptor & ~uint64_t{0xe0}) | flags | data.size() << 5;
    std::copy(data.begin(), data.end(), words + 1);
  }
};
constexpr uint64_t kBegin = 1, kEnd = 2;

TEST(Messages, OnePacket) {
  Messages messages;
  Lane lane(0, kBegin | kEnd, {7, 8, 9});
  auto part = messages.append(lane.words);
  ASSERT_TRUE(part);
  EXPECT_TRUE(part->complete);
  EXPECT_THAT(part->words, ElementsAre(7, 8, 9));
  EXPECT_EQ(messages.open(), 0u);
}

TEST(Messages, PartsOfTwoLanesInTurn) {
  Messages messages;
  Lane a(0, kBegin, {1}), b(0, kBegin, {2, 3});
  EXPECT_FALSE(messages.append(a.words)->complete);
  EXPECT_FALSE(messages.append(b.words)->complete);
  EXPECT_EQ(a.words[0] & kBegin, 0u);
  EXPECT_NE(a.words[0], b.words[0]);
  EXPECT_EQ(messages.open(), 2u);
  Lane a2(a.words[0], 0, {4, 5, 6, 7, 8, 9, 10}), b2(b.words[0], kEnd, {});
  EXPECT_FALSE(messages.append(a2.words)->complete);
  EXPECT_EQ(a2.words[0] >> 8, a.words[0] >> 8);
  EXPECT_THAT(messages.append(b2.words)->words, ElementsAre(2, 3));
  Lane a3(a2.words[0], kEnd, {11});
  EXPECT_THAT(messages.append(a3.words)->words, ElementsAre(1, 4, 5, 6, 7, 8, 9, 10, 11));
  EXPECT_EQ(messages.open(), 0u);
}

TEST(Messages, OldAndInventedIdsFindNothing) {
  Messages messages;
  Lane first(0, kBegin, {1});
  (void)messages.append(first.words);
  Lane end(first.words[0], kEnd, {});
  EXPECT_TRUE(messages.append(end.words)->complete);
  Lane again(first.words[0], kEnd, {});
  EXPECT_THAT(messages.append(again.words).error().message(), HasSubstr("no message"));
  Lane second(0, kBegin, {2}); // the same slot
  (void)messages.append(second.words);
  EXPECT_FALSE(messages.append(again.words));
  Lane invented(uint64_t{12345} << 8, 0, {});
  EXPECT_FALSE(messages.append(invented.words));
  EXPECT_EQ(messages.open(), 1u);
}

TEST(Messages, LimitsHold) {
  Messages messages({.messages = 2, .words = 20, .messageWords = 12});
  Lane a(0, kBegin, {1, 2, 3, 4, 5, 6, 7}), b(0, kBegin, {1, 2, 3, 4, 5, 6, 7});
  EXPECT_TRUE(messages.append(a.words));
  EXPECT_TRUE(messages.append(b.words));
  Lane c(0, kBegin, {});
  EXPECT_THAT(messages.append(c.words).error().message(), HasSubstr("no more can begin"));
  Lane longer(a.words[0], 0, {1, 2, 3, 4, 5, 6, 7}); // 14 words of 12
  EXPECT_THAT(messages.append(longer.words).error().message(), HasSubstr("too long"));
  EXPECT_EQ(messages.open(), 1u);
  Lane d(0, kBegin, {1, 2, 3, 4, 5, 6, 7}), e(b.words[0], 0, {1, 2, 3, 4, 5});
  EXPECT_TRUE(messages.append(d.words));
  EXPECT_TRUE(messages.append(e.words)); // 19 words of 20
  Lane f(d.words[0], 0, {1, 2});
  EXPECT_FALSE(messages.append(f.words));
  Lane g(0, kBegin | kEnd, {1, 2, 3, 4});
  EXPECT_TRUE(messages.append(g.words)) << "what failed is forgotten, with its words";
}

} // namespace
} // namespace luthier::hostcall
