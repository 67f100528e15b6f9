#include "check/suppressions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace luthier::check {
namespace {

Finding storeFinding() {
  Finding finding;
  finding.rule = rule::kOutOfBounds;
  finding.message = "text";
  finding.kernel = "store(float*, int)";
  finding.symbol = "_Z5storePfi";
  finding.source = {{"/home/me/store.hip", 12, 0, ""}};
  return finding;
}

bool covers(std::string_view text) {
  const auto parsed = Suppressions::parse(text, "file");
  EXPECT_TRUE(parsed);
  return parsed && parsed->covers(storeFinding());
}

TEST(Suppressions, NameKernelsAndSource) {
  EXPECT_TRUE(covers("out-of-bounds:store*"));
  EXPECT_TRUE(covers("out-of-bounds:_Z5storePfi"));
  EXPECT_TRUE(covers("*:*"));
  EXPECT_TRUE(covers("out-of-bounds:*/store.hip"));
  EXPECT_TRUE(covers("out-of-bounds:/home/me/store.hip:12"));
  EXPECT_FALSE(covers("out-of-bounds:/home/me/store.hip:13"));
  EXPECT_FALSE(covers("out-of-bounds:store"));
  EXPECT_FALSE(covers("use-after-free:store*"));
  EXPECT_FALSE(covers(""));
}

TEST(Suppressions, HaveComments) {
  EXPECT_TRUE(covers("# all of these are known\n\n  leak:*\r\nout-of-bounds:store*   # ticket 12\n"));
  EXPECT_FALSE(covers("#out-of-bounds:store*\n"));
}

TEST(Suppressions, NameTheLineThatIsWrong) {
  const auto unknown = Suppressions::parse("leak:*\nleaks:*\n", "known.txt");
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message(), testing::StartsWith("known.txt:2: there is no class 'leaks'"));
  const auto bare = Suppressions::parse("leak", "known.txt");
  ASSERT_FALSE(bare);
  EXPECT_THAT(bare.error().message(), testing::HasSubstr("known.txt:1: 'leak' is not of the form RULE:PATTERN"));
}

} // namespace
} // namespace luthier::check
