// VOPD: two instructions in one, of which neither sees what the other writes.

#include "rdna.h"

namespace luthier::vgpu::test {
namespace {

class Vopd : public testing::TestWithParam<const char *> {
protected:
  ExecTest t{GetParam(), 32};
};
INSTANTIATE_TEST_SUITE_P(Targets, Vopd, testing::Values("gfx1100", "gfx1151", "gfx1201"));

TEST_P(Vopd, BothHalvesReadWhatWasThere) {
  t.setVector(0, 10);
  t.setVector(1, 11);
  t.setVector(2, 12);
  t.setVector(3, 13);
  ASSERT_TRUE(t.run("v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v1, v0"));
  EXPECT_EQ(t.v(0, 31), 11u);
  EXPECT_EQ(t.v(1, 31), 10u);
  EXPECT_EQ(t.executed(), 2u) << "one instruction, and s_endpgm";
  ASSERT_TRUE(t.run("v_dual_mov_b32 v0, v3 :: v_dual_mov_b32 v1, v0")); // the second reads the first's result
  EXPECT_EQ(t.v(0, 0), 13u);
  EXPECT_EQ(t.v(1, 0), 11u);
  ASSERT_TRUE(t.run("v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v1, v2")); // the first reads the second's
  EXPECT_EQ(t.v(0, 0), 11u);
  EXPECT_EQ(t.v(1, 0), 12u);
}

TEST_P(Vopd, OnlyActiveLanesAreWritten) {
  t.setVector(0, 10);
  t.setVector(1, 11);
  t.exec(0x0000ff01);
  ASSERT_TRUE(t.run("v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v1, v0"));
  for (unsigned lane = 0; lane < 32; ++lane) {
    const bool active = 0x0000ff01u >> lane & 1;
    EXPECT_EQ(t.v(0, lane), active ? 11u : 10u);
    EXPECT_EQ(t.v(1, lane), active ? 10u : 11u);
  }
}

TEST_P(Vopd, ArithmeticOfBothHalves) {
  const auto set = [&](unsigned reg, float value) { t.setVector(reg, f32(value)); };
  const auto at = [&](unsigned reg) { return asF32(t.v(reg, 17)); };
  const auto reset = [&] {
    for (unsigned reg = 0; reg < 8; ++reg)
      set(reg, static_cast<float>(reg + 1));
  };
  reset();
  ASSERT_TRUE(t.run("v_dual_fmac_f32 v0, v1, v2 :: v_dual_mul_f32 v3, v4, v5"));
  EXPECT_EQ(at(0), 1.0f + 2 * 3);
  EXPECT_EQ(at(3), 30.0f);
  reset();
  ASSERT_TRUE(t.run("v_dual_add_f32 v0, v1, v2 :: v_dual_sub_f32 v3, v4, v5"));
  EXPECT_EQ(at(0), 5.0f);
  EXPECT_EQ(at(3), -1.0f);
  ASSERT_TRUE(t.run("v_dual_subrev_f32 v0, v1, v2 :: v_dual_mul_dx9_zero_f32 v3, v4, v5"));
  EXPECT_EQ(at(0), 1.0f);
  EXPECT_EQ(at(3), 30.0f);
  reset();
  ASSERT_TRUE(t.run("v_dual_fmaak_f32 v0, v1, v2, 0x42c80000 :: v_dual_fmamk_f32 v3, v4, 0x42c80000, v5")); // 100
  EXPECT_EQ(at(0), 106.0f);
  EXPECT_EQ(at(3), 506.0f);
  reset();
  t.s(3) = f32(50.0f);
  t.vcc(0x20000);
  ASSERT_TRUE(t.run("v_dual_cndmask_b32 v0, s3, v2 :: v_dual_add_f32 v3, 1.0, v5"));
  EXPECT_EQ(t.v(0, 17), f32(3.0f));
  EXPECT_EQ(t.v(0, 16), f32(50.0f));
  EXPECT_EQ(at(3), 7.0f);
  const bool num = std::string_view(GetParam()) == "gfx1201";
  ASSERT_TRUE(t.run(num ? "v_dual_max_num_f32 v0, v1, v2 :: v_dual_min_num_f32 v3, v4, v5"
                        : "v_dual_max_f32 v0, v1, v2 :: v_dual_min_f32 v3, v4, v5"));
  EXPECT_EQ(at(0), 3.0f);
  EXPECT_EQ(at(3), 5.0f);
}

TEST_P(Vopd, IntegersInTheSecondHalf) {
  t.setVector(1, 5);
  t.setVector(5, 7);
  ASSERT_TRUE(t.run("v_dual_mov_b32 v0, 0x12345 :: v_dual_add_nc_u32 v3, 0x12345, v5"));
  EXPECT_EQ(t.v(0, 0), 0x12345u);
  EXPECT_EQ(t.v(3, 0), 0x12345u + 7);
  ASSERT_TRUE(t.run("v_dual_mov_b32 v0, v1 :: v_dual_lshlrev_b32 v3, 4, v5"));
  EXPECT_EQ(t.v(3, 0), 7u << 4);
  ASSERT_TRUE(t.run("v_dual_mov_b32 v0, v1 :: v_dual_and_b32 v3, 3, v5"));
  EXPECT_EQ(t.v(3, 0), 3u);
  EXPECT_EQ(t.v(0, 0), 5u);
}

} // namespace
} // namespace luthier::vgpu::test
