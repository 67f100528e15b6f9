#include "isa/target_id.h"

#include <gtest/gtest.h>

namespace luthier::isa {
namespace {

std::string canonical(std::string_view text) {
  auto id = TargetId::parse(text);
  return id ? id->text() : id.error().message();
}

bool runsOn(std::string_view code, std::string_view agent) {
  return compatible(*TargetId::parse(code), *TargetId::parse(agent));
}

TEST(TargetId, CanonicalSpelling) {
  EXPECT_EQ(canonical("gfx90a"), "gfx90a");
  EXPECT_EQ(canonical("gfx90a:xnack-:sramecc+"), "gfx90a:sramecc+:xnack-");
  EXPECT_EQ(canonical("gfx906+sram-ecc-xnack"), "gfx906:sramecc+:xnack-");
  EXPECT_EQ(canonical("gfx906-xnack"), "gfx906:xnack-");
  EXPECT_EQ(canonical("gfx9-generic:xnack+"), "gfx9-generic:xnack+");
  EXPECT_EQ(canonical("gfx11-generic"), "gfx11-generic");
}

TEST(TargetId, RefusesWhatIsNone) {
  for (const char *text :
       {"", "sm_70", "gfx90a:", "gfx90a:xnack", "gfx90a:other+", "gfx90a::", "gfx90a:xnack+:", "gfx 90a"})
    EXPECT_FALSE(TargetId::parse(text)) << text;
}

TEST(TargetId, FeaturesThatAreNotNamedFitBoth) {
  EXPECT_TRUE(runsOn("gfx90a", "gfx90a:xnack+"));
  EXPECT_TRUE(runsOn("gfx90a", "gfx90a:sramecc-:xnack-"));
  EXPECT_TRUE(runsOn("gfx90a:xnack+", "gfx90a:sramecc+:xnack+"));
  EXPECT_TRUE(runsOn("gfx90a:xnack+", "gfx90a")); // a request that leaves it open
  EXPECT_FALSE(runsOn("gfx90a:xnack+", "gfx90a:xnack-"));
  EXPECT_FALSE(runsOn("gfx90a:sramecc+", "gfx90a:sramecc-:xnack-"));
  EXPECT_FALSE(runsOn("gfx90a", "gfx908"));
}

TEST(TargetId, GenericCodeRunsOnItsMembers) {
  EXPECT_TRUE(runsOn("gfx9-generic", "gfx900"));
  EXPECT_TRUE(runsOn("gfx9-generic", "gfx906:sramecc+:xnack-"));
  EXPECT_TRUE(runsOn("gfx9-generic:xnack-", "gfx90c:xnack-"));
  EXPECT_FALSE(runsOn("gfx9-generic:xnack+", "gfx906:xnack-"));
  EXPECT_TRUE(runsOn("gfx9-4-generic", "gfx942:sramecc+:xnack-"));
  EXPECT_TRUE(runsOn("gfx9-4-generic", "gfx950"));
  EXPECT_TRUE(runsOn("gfx10-1-generic", "gfx1013"));
  EXPECT_TRUE(runsOn("gfx10-3-generic", "gfx1030"));
  EXPECT_TRUE(runsOn("gfx11-generic", "gfx1151"));
  EXPECT_TRUE(runsOn("gfx12-generic", "gfx1201"));
  EXPECT_TRUE(runsOn("gfx11-generic", "gfx11-generic"));
  // Matrix instructions are what gfx9-generic has not, and those of gfx908 and gfx90a are not those of gfx9-4-generic.
  for (const char *code : {"gfx9-generic", "gfx9-4-generic"})
    for (const char *agent : {"gfx908", "gfx90a", "gfx90a:sramecc+:xnack-", "gfx1030"})
      EXPECT_FALSE(runsOn(code, agent)) << code << ' ' << agent;
  EXPECT_FALSE(runsOn("gfx9-generic", "gfx942"));
  EXPECT_FALSE(runsOn("gfx9-4-generic", "gfx900"));
  EXPECT_FALSE(runsOn("gfx10-1-generic", "gfx1030"));
  EXPECT_FALSE(runsOn("gfx10-3-generic", "gfx1010"));
  EXPECT_FALSE(runsOn("gfx11-generic", "gfx1200"));
  EXPECT_FALSE(runsOn("gfx12-generic", "gfx1250"));
  EXPECT_FALSE(runsOn("gfx900", "gfx9-generic")) << "code for a member is no generic code";
}

TEST(TargetId, FlagsOfTheElfHeader) {
  EXPECT_EQ(TargetId::fromElf(0x3f, 4).text(), "gfx90a");
  EXPECT_EQ(TargetId::fromElf(0x53f, 4).text(), "gfx90a"); // both any
  EXPECT_EQ(TargetId::fromElf(0xe3f, 4).text(), "gfx90a:sramecc+:xnack-");
  EXPECT_EQ(TargetId::fromElf(0xb3f, 5).text(), "gfx90a:sramecc-:xnack+");
  EXPECT_EQ(TargetId::fromElf(0x33f, 3).text(), "gfx90a:sramecc+:xnack+");
  EXPECT_EQ(TargetId::fromElf(0x03f, 3).text(), "gfx90a:sramecc-:xnack-");
  EXPECT_EQ(TargetId::fromElf(0x036, 3).text(), "gfx1030"); // has neither feature
  EXPECT_EQ(TargetId::fromElf(0xff, 5).text(), "gfx-machine-0xff");
  EXPECT_EQ(TargetId::fromElf(0x1000054, 6).text(), "gfx11-generic");
  EXPECT_EQ(TargetId::fromElf(0x100055f, 6).text(), "gfx9-4-generic");
  EXPECT_EQ(TargetId::fromElf(0x1000351, 6).text(), "gfx9-generic:xnack+");
  EXPECT_EQ(TargetId::fromElf(0x54f, 5).text(), "gfx950");
}

} // namespace
} // namespace luthier::isa
