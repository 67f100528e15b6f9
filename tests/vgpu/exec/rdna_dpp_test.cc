// Lanes that read other lanes: DPP8, DPP16, DPP in VOP3, v_permlane.

#include "rdna.h"

namespace luthier::vgpu::test {
namespace {

class RdnaDpp : public Rdna {};
INSTANTIATE_TEST_SUITE_P(Targets, RdnaDpp, kAllWaves, nameOf);

TEST_P(RdnaDpp, Dpp8ReadsAnyLaneOfEight) {
  setLaneNumbers(1);
  t.exec(allLanes() & ~4ull);
  t.setVector(0, kPoison);
  ASSERT_TRUE(t.run("v_mov_b32_dpp v0, v1 dpp8:[7,2,1,0,3,4,5,6]"));
  constexpr unsigned kSelect[] = {7, 2, 1, 0, 3, 4, 5, 6};
  for (unsigned lane = 0; lane < t.lanes(); ++lane) {
    const unsigned from = (lane & ~7u) + kSelect[lane & 7];
    EXPECT_EQ(t.v(0, lane), lane == 2 ? kPoison : from == 2 ? 0 : from) << lane;
  }
  ASSERT_TRUE(t.run("v_mov_b32_dpp v0, v1 dpp8:[7,2,1,0,3,4,5,6] fi:1"));
  EXPECT_EQ(t.v(0, 1), 2u) << "fetches inactive lanes";
}

TEST_P(RdnaDpp, Dpp16SharesAndMasks) {
  setLaneNumbers(1);
  t.setVector(0, kPoison);
  ASSERT_TRUE(t.run("v_mov_b32_dpp v0, v1 row_share:3 row_mask:0xf bank_mask:0xf"));
  for (unsigned lane = 0; lane < t.lanes(); ++lane)
    EXPECT_EQ(t.v(0, lane), (lane & ~15u) + 3);
  ASSERT_TRUE(t.run("v_mov_b32_dpp v0, v1 row_xmask:5 row_mask:0xf bank_mask:0xf"));
  for (unsigned lane = 0; lane < t.lanes(); ++lane)
    EXPECT_EQ(t.v(0, lane), lane ^ 5);
  t.exec(allLanes() & ~2ull);
  t.setVector(0, kPoison);
  ASSERT_TRUE(t.run("v_mov_b32_dpp v0, v1 row_shr:1 row_mask:0xf bank_mask:0xf"));
  EXPECT_EQ(t.v(0, 0), kPoison) << "outside";
  EXPECT_EQ(t.v(0, 2), kPoison) << "from an inactive lane";
  EXPECT_EQ(t.v(0, 3), 2u);
  ASSERT_TRUE(t.run("v_mov_b32_dpp v0, v1 row_shr:1 row_mask:0xf bank_mask:0xf fi:1"));
  EXPECT_EQ(t.v(0, 0), kPoison);
  EXPECT_EQ(t.v(0, 2), 1u);
}

TEST_P(RdnaDpp, PermutationsWithinRows) {
  setLaneNumbers(1);
  t.s(2) = 0x87654321;
  t.s(3) = 0x0fedcba9;
  ASSERT_TRUE(t.run("v_permlane16_b32 v0, v1, s2, s3"));
  for (unsigned lane = 0; lane < t.lanes(); ++lane)
    EXPECT_EQ(t.v(0, lane), (lane & ~15u) + ((lane + 1) & 15));
  ASSERT_TRUE(t.run("v_permlanex16_b32 v0, v1, s2, s3"));
  for (unsigned lane = 0; lane < t.lanes(); ++lane)
    EXPECT_EQ(t.v(0, lane), ((lane & ~15u) ^ 16) + ((lane + 1) & 15));
  // Inactive lanes: not written; read as what was there, as 0, or as they are.
  t.exec(allLanes() & ~2ull);
  for (const auto &[options, expected] :
       {std::pair("", kPoison), std::pair(" op_sel:[0,1]", 0u), {" op_sel:[1,0]", 1u}}) {
    t.setVector(0, kPoison);
    ASSERT_TRUE(t.run(std::string("v_permlane16_b32 v0, v1, s2, s3") + options));
    EXPECT_EQ(t.v(0, 0), expected) << options;
    EXPECT_EQ(t.v(0, 1), kPoison) << options;
  }
}

TEST_P(RdnaDpp, PermutationsOfLaterGenerations) {
  setLaneNumbers(1);
  if (isAtLeast("gfx1100")) {
    t.setVector(0, kPoison);
    t.exec(allLanes() & ~2ull);
    ASSERT_TRUE(t.run("v_permlane64_b32 v0, v1"));
    EXPECT_EQ(t.v(0, 0), wave32() ? kPoison : 32u);
    EXPECT_EQ(t.v(0, 1), kPoison);
    if (!wave32()) {
      EXPECT_EQ(t.v(0, 33), 1u) << "of an inactive lane";
    }
    t.exec(allLanes());
  }
  if (isAtLeast("gfx1200")) {
    for (unsigned lane = 0; lane < t.lanes(); ++lane)
      t.v(2, lane) = lane * 7 + 16 * lane;
    ASSERT_TRUE(t.run("v_permlane16_var_b32 v0, v1, v2\nv_permlanex16_var_b32 v3, v1, v2"));
    for (unsigned lane = 0; lane < t.lanes(); ++lane) {
      EXPECT_EQ(t.v(0, lane), (lane & ~15u) + (lane * 7 & 15));
      EXPECT_EQ(t.v(3, lane), ((lane & ~15u) ^ 16) + (lane * 7 & 15));
    }
  }
}

class Rdna3Dpp : public Rdna {};
INSTANTIATE_TEST_SUITE_P(Targets, Rdna3Dpp, kRdna3Waves, nameOf);

TEST_P(Rdna3Dpp, Vop3HasDpp) {
  setLaneNumbers(1);
  t.setVector(0, kPoison);
  t.setVector(2, 100);
  t.setVector(3, 1000);
  ASSERT_TRUE(t.run("v_add3_u32_e64_dpp v0, v1, v2, v3 row_ror:1 row_mask:0xf bank_mask:0xf"));
  for (unsigned lane = 0; lane < t.lanes(); ++lane)
    EXPECT_EQ(t.v(0, lane), (lane & ~15u) + ((lane - 1) & 15) + 1100);
  ASSERT_TRUE(t.run("v_add3_u32_e64_dpp v0, v1, v2, v3 dpp8:[1,0,3,2,5,4,7,6]"));
  for (unsigned lane = 0; lane < t.lanes(); ++lane)
    EXPECT_EQ(t.v(0, lane), (lane ^ 1) + 1100);
  for (unsigned lane = 0; lane < kMaxLanes; ++lane)
    t.v(4, lane) = f32(static_cast<float>(lane));
  ASSERT_TRUE(t.run("v_add_f32_e64_dpp v0, -v4, |v4| row_xmask:1 row_mask:0xf bank_mask:0xf"));
  EXPECT_EQ(t.v(0, 4), f32(4.0f - 5.0f));
  ASSERT_TRUE(t.run("v_fma_mix_f32_e64_dpp v0, v4, v4, v4 row_xmask:1 row_mask:0xf bank_mask:0xf"));
  EXPECT_EQ(t.v(0, 4), f32(5.0f * 4 + 4));
  ASSERT_TRUE(t.run("v_cmp_eq_u32_e64_dpp " + mask(10) + ", v1, v1 row_share:2 row_mask:0xf bank_mask:0xf"));
  EXPECT_EQ(maskAt(10), 0x0004000400040004ull & allLanes());
}

} // namespace
} // namespace luthier::vgpu::test
