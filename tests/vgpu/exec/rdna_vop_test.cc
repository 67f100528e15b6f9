// Vector ALU of RDNA: lane masks of either size, results of 16 bits that keep the other half, VOP3 with literals,
// relative moves, the minima and maxima of gfx12.

#include "rdna.h"

#include <cmath>
#include <limits>

namespace luthier::vgpu::test {
namespace {

class RdnaVop : public Rdna {};
INSTANTIATE_TEST_SUITE_P(Targets, RdnaVop, kAllWaves, nameOf);

TEST_P(RdnaVop, AMaskHasABitPerLane) {
  setLaneNumbers(1);
  t.setS64(kVcc, 0x1111222233334444);
  t.setS64(10, 0x5555666677778888);
  ASSERT_TRUE(t.run("v_cmp_gt_u32 " + vcc() + ", 5, v1"));
  EXPECT_EQ(t.s64(kVcc), wave32() ? 0x111122220000001full : 0x1full) << "VCC_HI is an SGPR like any other";
  ASSERT_TRUE(t.run("v_cmp_le_u32 " + mask(10) + ", 30, v1"));
  EXPECT_EQ(t.s64(10), wave32() ? 0x55556666c0000000ull : ~0ull << 30);
  t.setVector(2, 100);
  t.setVector(3, 200);
  ASSERT_TRUE(t.run("v_cndmask_b32 v0, v2, v3, " + mask(10)));
  EXPECT_EQ(t.v(0, 29), 100u);
  EXPECT_EQ(t.v(0, 30), 200u);
}

TEST_P(RdnaVop, CarriesComeFromAndGoToMasks) {
  t.setVector(1, ~0u);
  setLaneNumbers(2);
  ASSERT_TRUE(t.run("v_add_co_u32 v0, " + mask(10) +
                    ", v1, v2\n"
                    "v_add_co_ci_u32 v3, " +
                    mask(12) + ", v2, v2, " + mask(10)));
  EXPECT_EQ(maskAt(10), allLanes() & ~1ull) << "all but lane 0 carry";
  EXPECT_EQ(maskAt(12), 0u);
  EXPECT_EQ(t.v(3, 0), 0u);
  EXPECT_EQ(t.v(3, 7), 15u);
}

TEST_P(RdnaVop, CompareXWritesExecOnly) {
  setLaneNumbers(1);
  t.setS64(kVcc, 0x123456789abcdef0);
  ASSERT_TRUE(t.run("v_cmpx_gt_u32 3, v1\nv_mov_b32 v0, 77"));
  EXPECT_EQ(t.exec() & allLanes(), 7u);
  EXPECT_EQ(t.s64(kVcc), 0x123456789abcdef0u);
  EXPECT_EQ(t.v(0, 2), 77u);
  EXPECT_EQ(t.v(0, 3), kPoison);
}

TEST_P(RdnaVop, ResultsOf16BitsKeepTheOtherHalf) {
  t.setVector(0, 0xabcd1234);
  t.setVector(1, f16(1.5f) | 0x77770000);
  t.setVector(2, f16(2.0f) | 0x33330000);
  ASSERT_TRUE(t.run("v_add_f16 v0, v1, v2"));
  EXPECT_EQ(t.v(0, 3), 0xabcd0000u | f16(3.5f));
  ASSERT_TRUE(t.run("v_cvt_f16_f32 v0, 1.0"));
  EXPECT_EQ(t.v(0, 3), 0xabcd0000u | f16(1.0f));
  t.setVector(3, 0x00050007);
  ASSERT_TRUE(t.run("v_mul_lo_u16 v0, v3, v3"));
  EXPECT_EQ(t.v(0, 3), 0xabcd0000u | 49);
  t.exec(2);
  ASSERT_TRUE(t.run("v_max_u16 v0, v3, v3"));
  EXPECT_EQ(t.v(0, 0), 0xabcd0000u | 49);
  EXPECT_EQ(t.v(0, 1), 0xabcd0007u);
  t.exec(allLanes());
  ASSERT_TRUE(t.run("v_add_nc_i16 v0, v3, v3 op_sel:[1,0,1]"));
  EXPECT_EQ(t.v(0, 1), 0x000c0007u);
}

TEST_P(RdnaVop, Vop3HasLiteralsAndTwoScalars) {
  t.s(3) = 10;
  t.s(4) = 20;
  t.setVector(1, 3);
  ASSERT_TRUE(t.run("v_mad_u32_u24 v0, s3, v1, s4"));
  EXPECT_EQ(t.v(0, 0), 50u);
  ASSERT_TRUE(t.run("v_add3_u32 v0, s3, v1, 0x12345"));
  EXPECT_EQ(t.v(0, 31), 0x12345u + 13);
  ASSERT_TRUE(t.run("v_fma_f32 v0, 2.0, 0x40400000, 1.0"));
  EXPECT_EQ(t.v(0, 0), f32(7.0f));
}

/// Two scalar sources whose numbers are the same modulo some power of two: caches must tell them apart.
TEST_P(RdnaVop, TwoScalarsAreTwo) {
  t.setVector(1, 3);
  t.s(kVcc) = 0;
  t.s(10) = 0x01020304;
  ASSERT_TRUE(t.run("v_msad_u8 v0, vcc_lo, s10, 0\nv_sad_u32 v2, s10, vcc_lo, s10"));
  EXPECT_EQ(t.v(0, 0), 10u);
  EXPECT_EQ(t.v(2, 0), 0x02040608u);
  for (const unsigned apart : {4u, 8u, 16u, 32u, 64u})
    for (const uint64_t exec : {allLanes(), uint64_t{5}}) {
      SCOPED_TRACE(apart);
      t.exec(exec);
      t.s(4) = 100;
      t.s(4 + apart) = 7;
      const std::string other = "s" + std::to_string(4 + apart);
      ASSERT_TRUE(t.run("v_mad_u32_u24 v0, s4, v1, " + other + "\nv_mad_u32_u24 v2, " + other + ", s4, s4"));
      EXPECT_EQ(t.v(0, 2), 307u);
      EXPECT_EQ(t.v(2, 2), 800u);
      t.setS64(4, f64(3.0));
      t.setS64(4 + apart, f64(0.5));
      t.setVector64(6, f64(8.0));
      const std::string pair = "s[" + std::to_string(4 + apart) + ":" + std::to_string(5 + apart) + "]";
      ASSERT_TRUE(t.run("v_fma_f64 v[8:9], s[4:5], v[6:7], " + pair));
      EXPECT_EQ(t.v64(8, 2), f64(24.5));
    }
}

TEST_P(RdnaVop, ReadingAndWritingLanes) {
  setLaneNumbers(1);
  t.s(3) = 35;
  ASSERT_TRUE(t.run("v_readlane_b32 s0, v1, s3\nv_writelane_b32 v2, 99, s3"));
  EXPECT_EQ(t.s(0), wave32() ? 3u : 35u);
  EXPECT_EQ(t.v(2, t.s(0)), 99u);
  t.exec(allLanes() & ~0xffull);
  ASSERT_TRUE(t.run("v_readfirstlane_b32 s0, v1"));
  EXPECT_EQ(t.s(0), 8u);
  t.exec(allLanes());
  ASSERT_TRUE(t.run("v_mbcnt_lo_u32_b32 v0, -1, 0\nv_mbcnt_hi_u32_b32 v0, -1, v0"));
  for (unsigned lane = 0; lane < t.lanes(); ++lane)
    EXPECT_EQ(t.v(0, lane), lane);
}

TEST_P(RdnaVop, RelativeMoves) {
  for (unsigned reg = 0; reg < 32; ++reg)
    t.setVector(reg, 100 + reg);
  t.m0(10);
  ASSERT_TRUE(t.run("v_movrels_b32 v0, v7"));
  EXPECT_EQ(t.v(0, 5), 117u);
  ASSERT_TRUE(t.run("v_movreld_b32 v5, v7"));
  EXPECT_EQ(t.v(15, 5), 107u);
  ASSERT_TRUE(t.run("v_movrelsd_b32 v6, v8"));
  EXPECT_EQ(t.v(16, 5), 118u);
  t.m0(20 << 16 | 10);
  ASSERT_TRUE(t.run("v_movrelsd_2_b32 v5, v7"));
  EXPECT_EQ(t.v(25, 5), 117u);
  t.setVector(30, 130);
  t.m0(20 << 16 | 3);
  ASSERT_TRUE(t.run("v_swaprel_b32 v10, v9"));
  EXPECT_EQ(t.v(30, 5), 112u);
  EXPECT_EQ(t.v(12, 5), 130u);
  t.m0(1000);
  ASSERT_TRUE(t.run("v_movrels_b32 v1, v7"));
  EXPECT_EQ(t.v(1, 5), t.v(0, 5)) << "out of range is v0";
  t.s(17) = 0x1717;
  t.m0(20 << 16 | 10);
  ASSERT_TRUE(t.run("s_movrelsd_2_b32 s5, s7"));
  EXPECT_EQ(t.s(25), 0x1717u);
}

TEST_P(RdnaVop, MultiplicationsByTheRulesOfDx9) {
  const bool renamed = isAtLeast("gfx1100");
  t.setVector(1, f32(0.0f));
  t.setVector(2, f32(std::numeric_limits<float>::infinity()));
  t.setVector(3, f32(-0.0f));
  ASSERT_TRUE(t.run(renamed ? "v_mul_dx9_zero_f32 v0, v1, v2" : "v_mul_legacy_f32 v0, v1, v2"));
  EXPECT_EQ(t.v(0, 0), 0u);
  if (isAtLeast("gfx1030")) {
    ASSERT_TRUE(t.run(renamed ? "v_fma_dx9_zero_f32 v0, v1, v2, v3" : "v_fma_legacy_f32 v0, v1, v2, v3"));
    EXPECT_EQ(t.v(0, 0), f32(-0.0f));
    ASSERT_TRUE(t.run(renamed ? "v_fma_dx9_zero_f32 v0, 2.0, 4.0, 1.0" : "v_fma_legacy_f32 v0, 2.0, 4.0, 1.0"));
    EXPECT_EQ(t.v(0, 0), f32(9.0f));
  }
  ASSERT_TRUE(t.run("v_mullit_f32 v0, 2.0, 4.0, 1.0\nv_mullit_f32 v4, 2.0, 4.0, v3"));
  EXPECT_EQ(t.v(0, 0), f32(8.0f));
  EXPECT_EQ(t.v(4, 0), f32(-std::numeric_limits<float>::max()));
}

TEST_P(RdnaVop, FusedMultiplyAddsOfF16) {
  t.setVector(0, pack16(f16(1.0f), 0x7777));
  t.setVector(1, f16(2.0f));
  t.setVector(2, f16(3.0f));
  ASSERT_TRUE(t.run("v_fmac_f16 v0, v1, v2"));
  EXPECT_EQ(t.v(0, 9), pack16(f16(7.0f), 0x7777));
  ASSERT_TRUE(t.run("v_fmamk_f16 v0, v1, 0x4400, v2")); // 4
  EXPECT_EQ(t.v(0, 9), pack16(f16(11.0f), 0x7777));
  ASSERT_TRUE(t.run("v_fmaak_f16 v0, v1, v2, 0x4400"));
  EXPECT_EQ(t.v(0, 9), pack16(f16(10.0f), 0x7777));
  t.setVector(4, 6);
  t.setVector(5, 3);
  t.setVector(6, 9);
  ASSERT_TRUE(t.run("v_xor3_b32 v3, v4, v5, v6"));
  EXPECT_EQ(t.v(3, 0), 6u ^ 3 ^ 9);
}

class Rdna3Vop : public Rdna {};
INSTANTIATE_TEST_SUITE_P(Targets, Rdna3Vop, kRdna3Waves, nameOf);

TEST_P(Rdna3Vop, ShortEncodingsSelectHalves) {
  t.setVector(0, 0x11112222);
  t.setVector(1, pack16(f16(1.0f), f16(10.0f)));
  t.setVector(2, pack16(f16(2.0f), f16(20.0f)));
  // v_add_f16 v0.l, v1.l, v2.h; v0.l, v1.h, v2.l; v0.h, v1.l, v2.h, which LLVM's assembler does not take.
  ASSERT_TRUE(t.run(".long 0x64010501"));
  EXPECT_EQ(t.v(0, 4), pack16(f16(21.0f), 0x1111));
  ASSERT_TRUE(t.run(".long 0x64000581"));
  EXPECT_EQ(t.v(0, 4), pack16(f16(12.0f), 0x1111));
  ASSERT_TRUE(t.run(".long 0x65010501"));
  EXPECT_EQ(t.v(0, 4), pack16(f16(12.0f), f16(21.0f)));
  // v_cvt_f32_f16 v0, v1.h
  ASSERT_TRUE(t.run(".long 0x7e001781"));
  EXPECT_EQ(t.v(0, 4), f32(10.0f));
  // v_cmp_lt_f16 vcc, v1.h, v2.l
  ASSERT_TRUE(t.run(".long 0x7c020581"));
  EXPECT_EQ(maskAt(kVcc), 0u);
  // v_mov_b16 v0.h, v1.l
  ASSERT_TRUE(t.run(".long 0x7f003901"));
  EXPECT_EQ(t.v(0, 4), (f32(10.0f) & 0xffff) | f16(1.0f) << 16);
}

TEST_P(Rdna3Vop, MovesOf16BitsKeepDenormals) {
  t.mode(t.mode() & ~0xf0u); // all denormals are flushed
  t.setVector(0, 0);
  t.setVector(1, 0x0003);
  ASSERT_TRUE(t.run(".long 0x7e003901")); // v_mov_b16 v0.l, v1.l
  EXPECT_EQ(t.v(0, 0), 3u);
  t.setVector(2, 0x0005);
  t.setS64(10, 1);
  ASSERT_TRUE(t.run("v_cndmask_b16 v0, v1, v2, " + mask(10)));
  EXPECT_EQ(t.v(0, 0), 5u);
  EXPECT_EQ(t.v(0, 1), 3u);
}

TEST_P(Rdna3Vop, BitwiseOf16Bits) {
  t.setVector(0, 0xaaaa0000);
  t.setVector(1, 0x12345678);
  t.setVector(2, 0x0000f0f0);
  ASSERT_TRUE(t.run("v_and_b16 v0, v1, v2"));
  EXPECT_EQ(t.v(0, 0), 0xaaaa5070u);
  ASSERT_TRUE(t.run(".long 0xd7644800, 0x00020501")); // v_xor_b16 v0.h, v1.h, v2.l
  EXPECT_EQ(t.v(0, 0), 0xe2c45070u);
}

TEST_P(Rdna3Vop, IntegersOf16BitsBecome32) {
  t.setVector(1, 0xffff8001);
  ASSERT_TRUE(t.run("v_cvt_i32_i16 v0, v1\nv_cvt_u32_u16 v2, v1"));
  EXPECT_EQ(t.v(0, 0), 0xffff8001u);
  EXPECT_EQ(t.v(2, 0), 0x8001u);
  t.setVector(1, f32(-70000.5f));
  t.setVector(2, f32(1234.9f));
  ASSERT_TRUE(t.run("v_cvt_pk_i16_f32 v0, v1, v2\nv_cvt_pk_u16_f32 v3, v1, v2"));
  EXPECT_EQ(t.v(0, 0), pack16(0x8000, 1234));
  EXPECT_EQ(t.v(3, 0), pack16(0, 1234));
}

TEST_P(Rdna3Vop, MinimaOfMaxima) {
  t.setVector(1, static_cast<uint32_t>(-5));
  t.setVector(2, 3);
  t.setVector(3, 1);
  ASSERT_TRUE(t.run("v_maxmin_i32 v0, v1, v2, v3\nv_minmax_u32 v4, v1, v2, v3"));
  EXPECT_EQ(t.v(0, 0), 1u);
  EXPECT_EQ(t.v(4, 0), 3u);
  const bool num = isAtLeast("gfx1200");
  ASSERT_TRUE(t.run(num ? "v_minmax_num_f32 v0, 1.0, 2.0, 4.0" : "v_minmax_f32 v0, 1.0, 2.0, 4.0"));
  EXPECT_EQ(t.v(0, 0), f32(4.0f));
}

class Rdna4Vop : public Rdna {};
INSTANTIATE_TEST_SUITE_P(Targets, Rdna4Vop, kRdna4Waves, nameOf);

TEST_P(Rdna4Vop, NumbersWinOrLoseAgainstWhatIsNone) {
  struct Case {
    uint32_t a, b, minNum, maxNum, minimum, maximum;
  };
  const uint32_t one = f32(1.0f), two = f32(2.0f), zero = f32(0.0f), minusZero = f32(-0.0f);
  const uint32_t quieted = kSignallingNan | 0x400000;
  const Case cases[] = {
      {one, two, one, two, one, two},
      {two, one, one, two, one, two},
      {zero, minusZero, minusZero, zero, minusZero, zero},
      {minusZero, zero, minusZero, zero, minusZero, zero},
      {one, kQuietNan, one, one, kQuietNan, kQuietNan},
      {kQuietNan, one, one, one, kQuietNan, kQuietNan},
      {one, kSignallingNan, one, one, quieted, quieted},
      {kQuietNan, kSignallingNan, kQuietNan, kQuietNan, quieted, quieted},
  };
  for (const Case &c : cases) {
    SCOPED_TRACE(testing::Message() << std::hex << c.a << " " << c.b);
    t.setVector(1, c.a);
    t.setVector(2, c.b);
    ASSERT_TRUE(t.run("v_min_num_f32 v3, v1, v2\nv_max_num_f32 v4, v1, v2\nv_minimum_f32 v5, v1, v2\n"
                      "v_maximum_f32 v6, v1, v2"));
    EXPECT_EQ(t.v(3, 0), c.minNum);
    EXPECT_EQ(t.v(4, 0), c.maxNum);
    EXPECT_EQ(t.v(5, 0), c.minimum);
    EXPECT_EQ(t.v(6, 0), c.maximum);
  }
}

TEST_P(Rdna4Vop, MinimaOfOtherTypes) {
  t.setVector64(2, f64(1.0));
  t.setVector64(4, f64(std::numeric_limits<double>::quiet_NaN()));
  ASSERT_TRUE(t.run("v_min_num_f64 v[6:7], v[2:3], v[4:5]\nv_maximum_f64 v[8:9], v[2:3], v[4:5]"));
  EXPECT_EQ(t.v64(6, 1), f64(1.0));
  EXPECT_TRUE(std::isnan(asF64(t.v64(8, 1))));
  t.setVector(1, pack16(f16(1.0f), f16(-3.0f)));
  t.setVector(2, pack16(0x7e01, f16(2.0f)));
  ASSERT_TRUE(t.run("v_pk_min_num_f16 v3, v1, v2\nv_pk_maximum_f16 v4, v1, v2"));
  EXPECT_EQ(t.v(3, 0), pack16(f16(1.0f), f16(-3.0f)));
  EXPECT_EQ(t.v(4, 0), pack16(0x7e01, f16(2.0f)));
  t.setVector(1, f32(5.0f));
  ASSERT_TRUE(
      t.run("v_med3_num_f32 v3, v1, 2.0, 4.0\nv_minimum3_f32 v4, v1, 2.0, 4.0\nv_max3_num_f32 v5, v1, 2.0, 4.0\n"
            "v_minimummaximum_f32 v6, v1, 2.0, 4.0"));
  EXPECT_EQ(t.v(3, 0), f32(4.0f));
  EXPECT_EQ(t.v(4, 0), f32(2.0f));
  EXPECT_EQ(t.v(5, 0), f32(5.0f));
  EXPECT_EQ(t.v(6, 0), f32(4.0f));
}

TEST_P(Rdna4Vop, VectorFunctionsOfScalars) {
  t.s(3) = f32(4.0f);
  t.exec(0);
  ASSERT_TRUE(t.run("v_s_rcp_f32 s0, s3\nv_s_sqrt_f32 s1, s3\nv_s_exp_f32 s2, -s3\nv_s_log_f32 s4, s3"));
  EXPECT_EQ(t.s(0), f32(0.25f));
  EXPECT_EQ(t.s(1), f32(2.0f));
  EXPECT_EQ(t.s(2), f32(0.0625f));
  EXPECT_EQ(t.s(4), f32(2.0f));
  t.s(3) = 0x77770000 | f16(4.0f);
  ASSERT_TRUE(t.run("v_s_rsq_f16 s0, s3\nv_s_rcp_f16 s1, s3 mul:2"));
  EXPECT_EQ(t.s(0), f16(0.5f));
  EXPECT_EQ(t.s(1), f16(0.5f));
}

TEST_P(Rdna4Vop, OmodAppliesWithDenormalsToo) {
  t.setVector(1, f32(1.5f));
  ASSERT_TRUE(t.run("v_add_f32_e64 v0, v1, v1 mul:4"));
  EXPECT_EQ(t.v(0, 0), f32(12.0f));
}

} // namespace
} // namespace luthier::vgpu::test
