#include "isa/target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace luthier::isa {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Target, IsFoundByName) {
  const Target *target = findTarget("gfx90a");
  ASSERT_NE(target, nullptr);
  EXPECT_EQ(target->name, "gfx90a");
  EXPECT_EQ(target->waveSize, 64);
  EXPECT_EQ(target->vgprs + target->accVgprs, 512);
}

TEST(Target, GenericOnesHaveTheRowOfAMember) {
  EXPECT_EQ(findTarget("gfx9-generic:xnack-"), findTarget("gfx900"));
  EXPECT_EQ(findTarget("gfx9-4-generic"), findTarget("gfx942"));
  EXPECT_EQ(findTarget("gfx10-3-generic"), findTarget("gfx1030"));
  EXPECT_EQ(findTarget("gfx11-generic"), findTarget("gfx1100"));
  EXPECT_EQ(findTarget("gfx8-generic"), nullptr);
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
    EXPECT_EQ(findTarget(target.elfMachine), &target) << "machines are unique";
    EXPECT_EQ(target.vgprFileLanes % target.vgprGranule, 0);
    EXPECT_GE(target.ldsBytes, 65536u);
    EXPECT_EQ(target.maxWorkgroupWaves * target.waveSize, 1024);
    EXPECT_EQ(target.wave32, !target.countsSgprs());
  }
}

TEST(Target, MachinesAreThoseOfElfHeaders) {
  EXPECT_EQ(findTarget(uint8_t{0x3f})->name, "gfx90a");
  EXPECT_EQ(findTarget(uint8_t{0x2a})->name, "gfx803");
  EXPECT_EQ(findTarget(uint8_t{0x36})->name, "gfx1030");
  EXPECT_EQ(findTarget(uint8_t{0}), nullptr);
}

TEST(Target, WritingHalfOfVccSetsVcczFromGfx10On) {
  for (const Target &target : targets())
    EXPECT_EQ(target.partialVccWritesUpdateVccz, target.version.major >= 10) << target.name;
}

TEST(Target, TheVirtualGpuExecutesOne) {
  EXPECT_THAT(virtualTargets(), ElementsAre("gfx90a"));
  ASSERT_TRUE(findVirtualTarget("gfx90a"));
  EXPECT_EQ((*findVirtualTarget("gfx90a"))->name, "gfx90a");
  EXPECT_EQ(findVirtualTarget("gfx77").error().message(), "unknown GPU 'gfx77'; known: gfx90a");
  EXPECT_EQ(findVirtualTarget("gfx1030").error().message(),
            "the virtual GPU does not execute code of gfx1030; known: gfx90a");
}

} // namespace
} // namespace luthier::isa
