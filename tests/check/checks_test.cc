#include "check/checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace luthier::check {
namespace {

using testing::HasSubstr;

TEST(Checks, AreChosenByName) {
  const auto checks = Checks::parse(" memory ");
  ASSERT_TRUE(checks);
  EXPECT_TRUE(checks->has(Check::Memory));
  EXPECT_EQ(checks->names(), std::vector<std::string_view>{"memory"});
}

TEST(Checks, AllIsEveryOne) {
  const auto checks = Checks::parse("all");
  ASSERT_TRUE(checks);
  EXPECT_EQ(checks->names(), std::vector<std::string_view>(checkNames().begin(), checkNames().end()));
}

TEST(Checks, AreKnownAndNotEmpty) {
  EXPECT_THAT(Checks::parse("memory,speed").error().message(),
              HasSubstr("there is no check 'speed'; expected one of: memory"));
  EXPECT_FALSE(Checks::parse("memory,,"));
  EXPECT_FALSE(Checks::parse(""));
}

} // namespace
} // namespace luthier::check
