#include "isa/access_units.h"

#include <gtest/gtest.h>

namespace luthier::isa {
namespace {

AccessUnits of(std::string_view name) { return accessUnits(*findTarget(name)); }

TEST(AccessUnits, LinesGrewWithCdna3AndRdna) {
  for (const char *name : {"gfx900", "gfx906", "gfx908", "gfx90a"})
    EXPECT_EQ(of(name).cacheLine, 64) << name;
  for (const char *name : {"gfx940", "gfx942", "gfx1010", "gfx1030", "gfx1100", "gfx1201"})
    EXPECT_EQ(of(name).cacheLine, 128) << name;
}

TEST(AccessUnits, LdsGives128BytesPerCycle) {
  for (const Target &target : targets())
    EXPECT_EQ(accessUnits(target).ldsBanks * accessUnits(target).ldsBankBytes, 128) << target.name;
}

TEST(AccessUnits, OnlyCdnaInterleavesWideReads) {
  EXPECT_TRUE(of("gfx90a").ldsWideReadsInterleave);
  EXPECT_TRUE(of("gfx942").ldsWideReadsInterleave);
  EXPECT_FALSE(of("gfx900").ldsWideReadsInterleave);
  EXPECT_FALSE(of("gfx1030").ldsWideReadsInterleave);
}

} // namespace
} // namespace luthier::isa
