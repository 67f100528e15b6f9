#include "isa/target.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace luthier::isa {
namespace {

using testing::Contains;
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
  EXPECT_EQ(findTarget("gfx10-1-generic"), findTarget("gfx1010"));
  EXPECT_EQ(findTarget("gfx11-generic"), findTarget("gfx1100"));
  EXPECT_EQ(findTarget("gfx12-generic"), findTarget("gfx1200"));
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

TEST(Target, HardwareRegistersHaveTheNumbersOfTheirGeneration) {
  const auto reg = [](const char *name, unsigned number) { return (*findTarget(name)->hardwareRegisters)[number]; };
  for (const Target &target : targets())
    EXPECT_EQ((*target.hardwareRegisters)[1], HardwareRegister::Mode) << target.name;
  EXPECT_EQ(reg("gfx90a", 4), HardwareRegister::HardwareId);
  EXPECT_EQ(reg("gfx1010", 4), HardwareRegister::None);
  EXPECT_EQ(reg("gfx1010", 29), HardwareRegister::None);
  EXPECT_EQ(reg("gfx1030", 29), HardwareRegister::ShaderCycles);
  EXPECT_EQ(reg("gfx1100", 21), HardwareRegister::FlatScratchHi);
  EXPECT_EQ(reg("gfx1201", 4), HardwareRegister::StatePrivate);
  EXPECT_EQ(reg("gfx1201", 3), HardwareRegister::None);
  EXPECT_EQ(reg("gfx1201", 30), HardwareRegister::ShaderCyclesHi);
}

TEST(Target, TheVirtualGpuExecutesMost) {
  for (const char *name : {"gfx900", "gfx906", "gfx908", "gfx90a", "gfx942"}) {
    EXPECT_THAT(virtualTargets(), Contains(name));
    ASSERT_TRUE(findVirtualTarget(name));
    EXPECT_EQ((*findVirtualTarget(name))->name, name);
  }
  const std::string known = fmt::format("known: {}", fmt::join(virtualTargets(), ", "));
  EXPECT_EQ(findVirtualTarget("gfx77").error().message(), "unknown GPU 'gfx77'; " + known);
  EXPECT_EQ(findVirtualTarget("gfx803").error().message(), "the virtual GPU does not execute code of gfx803; " + known);
}

} // namespace
} // namespace luthier::isa
