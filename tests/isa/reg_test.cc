#include "luthier/reg.h"

#include <gtest/gtest.h>

namespace luthier {
namespace {

TEST(Reg, NamesAreThoseOfAssembly) {
  EXPECT_EQ(toString(sgpr(12)), "s12");
  EXPECT_EQ(toString(RegRange{sgpr(4), 4}), "s[4:7]");
  EXPECT_EQ(toString(RegRange{vgpr(0), 1}), "v0");
  EXPECT_EQ(toString(RegRange{vgpr(0), 256}), "v[0:255]");
  EXPECT_EQ(toString(RegRange{agpr(255), 1}), "a255");
  EXPECT_EQ(toString(RegRange{Reg::VccLo, 2}), "vcc");
  EXPECT_EQ(toString(Reg::VccLo), "vcc_lo");
  EXPECT_EQ(toString(Reg::VccHi), "vcc_hi");
  EXPECT_EQ(toString(RegRange{Reg::ExecLo, 2}), "exec");
  EXPECT_EQ(toString(Reg::ExecHi), "exec_hi");
  EXPECT_EQ(toString(RegRange{Reg::FlatScrLo, 2}), "flat_scratch");
  EXPECT_EQ(toString(Reg::FlatScratchHi), "flat_scratch_hi");
  EXPECT_EQ(toString(Reg::XnackMaskLo), "xnack_mask_lo");
  EXPECT_EQ(toString(Reg::M0), "m0");
  EXPECT_EQ(toString(Reg::Null), "null");
  EXPECT_EQ(toString(Reg::Scc), "scc");
  EXPECT_EQ(toString(Reg::Mode), "mode");
  EXPECT_EQ(toString(Reg::Ttmp0), "ttmp0");
  EXPECT_EQ(toString(RegRange{Reg::Ttmp0 + 4, 4}), "ttmp[4:7]");
  EXPECT_EQ(toString(RegRange{}), "none");
}

TEST(RegSet, IsASet) {
  RegSet set;
  EXPECT_TRUE(set.empty());
  set.insert(RegRange{vgpr(0), 256});
  set.insert(Reg::Scc);
  EXPECT_EQ(set.size(), 257u);
  EXPECT_TRUE(set.contains(vgpr(255)));
  EXPECT_FALSE(set.contains(agpr(0)));
  EXPECT_FALSE(set.contains(Reg::Mode));
  set.erase(RegRange{vgpr(1), 255});
  EXPECT_EQ(set.size(), 2u);
  EXPECT_TRUE(set.containsAny({vgpr(0), 4}));
  EXPECT_FALSE(set.containsAny({vgpr(1), 4}));
  RegSet other;
  other.insert(Reg::Scc);
  EXPECT_EQ((set & other).size(), 1u);
  EXPECT_EQ((set - other).size(), 1u);
  EXPECT_EQ(set | other, set);
}

TEST(RegSet, KnowsTheNextMember) {
  RegSet set;
  EXPECT_EQ(set.firstFrom(Reg::S0), Reg::End);
  set.insert(RegRange{vgpr(62), 3});
  EXPECT_EQ(set.firstFrom(Reg::S0), vgpr(62));
  EXPECT_EQ(set.firstFrom(vgpr(63)), vgpr(63));
  EXPECT_EQ(set.firstFrom(vgpr(64)), vgpr(64));
  EXPECT_EQ(set.firstFrom(vgpr(65)), Reg::End);
  EXPECT_TRUE(set.containsAll({vgpr(62), 3}));
  EXPECT_FALSE(set.containsAll({vgpr(61), 3}));
  EXPECT_FALSE(set.containsAll({vgpr(63), 3}));
}

} // namespace
} // namespace luthier
