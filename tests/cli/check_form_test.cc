#include "cli/check_form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace luthier::cli {
namespace {

using testing::HasSubstr;

TEST(CheckForm, VirtualGpuChecksUnlessHooksAreAskedFor) {
  EXPECT_FALSE(*checksByHooks(*check::Checks::parse("all"), {}));
  EXPECT_TRUE(*checksByHooks(*check::Checks::parse("memory"), {.asked = true}));
  const auto others = checksByHooks(*check::Checks::parse("wait,memory,race"), {.asked = true});
  ASSERT_FALSE(others);
  EXPECT_EQ(others.error().message(), "race, wait have no instrumented form so far, only memory has: leave "
                                      "--instrument out, to check on the virtual GPU");
}

TEST(CheckForm, OnRealGpusHooksDo) {
  EXPECT_TRUE(*checksByHooks(*check::Checks::parse("memory"), {.realGpu = true}));
  const auto other = checksByHooks(*check::Checks::parse("init"), {.realGpu = true});
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message(), HasSubstr("init has no instrumented form so far, only memory has: to check on a "
                                                 "virtual GPU, add --gpu"));
}

} // namespace
} // namespace luthier::cli
