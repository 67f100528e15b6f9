#include "isa/target.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace luthier::isa {
namespace {

TEST(Target, IsFoundByName) {
  const Target *target = findTarget("gfx90a");
  ASSERT_NE(target, nullptr);
  EXPECT_EQ(target->name, "gfx90a");
  EXPECT_EQ(target->waveSize, 64);
  EXPECT_EQ(target->vgprs + target->accVgprs, 512);
}

TEST(Target, FeaturesAreIgnored) { EXPECT_EQ(findTarget("gfx90a:sramecc+:xnack-"), findTarget("gfx90a")); }

TEST(Target, UnknownNamesHaveNone) {
  EXPECT_EQ(findTarget(""), nullptr);
  EXPECT_EQ(findTarget("gfx90"), nullptr);
  EXPECT_EQ(findTarget("gfx90aa"), nullptr);
  EXPECT_EQ(findTarget(":gfx90a"), nullptr);
}

TEST(Target, RowsAreSortedAndComplete) {
  EXPECT_TRUE(std::ranges::is_sorted(targets(), {}, &Target::name));
  for (const Target &target : targets()) {
    SCOPED_TRACE(target.name);
    EXPECT_TRUE(target.waveSize == 32 || target.waveSize == 64);
    EXPECT_GT(target.vgprGranule, 0);
    EXPECT_GT(target.maxWorkgroupWaves, 0);
    EXPECT_GT(target.elfMachine, 0);
  }
}

} // namespace
} // namespace luthier::isa
