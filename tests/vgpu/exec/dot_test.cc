// Dot products of all generations. Values marked so are what others have measured on hardware.

#include "one_instruction.h"

#include <cmath>

namespace luthier::vgpu::test {
namespace {

/// The result in lane 0 of v0 of an instruction that reads v1, v2 and v3.
uint32_t dot(const char *target, const std::string &text, uint32_t a, uint32_t b, uint32_t c, unsigned lanes = 0) {
  const isa::Target *row = isa::findTarget(target);
  LoneWave lone(lanes ? lanes : row->waveSize);
  Wave &w = *lone.wave;
  for (unsigned lane = 0; lane < kMaxLanes; ++lane) {
    w.v[0][lane] = c;
    w.v[1][lane] = a;
    w.v[2][lane] = b;
    w.v[3][lane] = c;
  }
  execute(target, lone, text);
  return w.v[0][0];
}
uint32_t pack(float low, float high) { return f16Bits(low) | f16Bits(high) << 16; }
uint32_t packBf16(float low, float high) { return f32Bits(low) >> 16 | (f32Bits(high) & 0xffff0000); }

TEST(Dot, HalvesOnEveryTarget) {
  for (const char *target : {"gfx906", "gfx908", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1151", "gfx1200"})
    EXPECT_EQ(f32Of(dot(target, "v_dot2_f32_f16 v0, v1, v2, v3", pack(1, 2), pack(3, 4), f32Bits(5))), 16.0f) << target;
  for (const char *target : {"gfx1100", "gfx1200"}) {
    EXPECT_EQ(f32Of(dot(target, "v_dot2_f32_bf16 v0, v1, v2, v3", packBf16(1, 1), packBf16(1, 2), 0)), 3.0f) << target;
    EXPECT_EQ(f32Of(dot(target, "v_dot2_f32_bf16 v0, v1, 2.0, v3", packBf16(1, 3), 0, 0)), 8.0f) << target;
    EXPECT_EQ(dot(target, "v_dot2_f16_f16 v0, v1, v2, v3", pack(1, 2), pack(2, 3), 0x12340000) & 0xffff, f16Bits(8));
    // op_sel: the half of source 2, and that of the result; the other one stays
    EXPECT_EQ(dot(target, "v_dot2_f16_f16 v0, v1, v2, v3 op_sel:[0,0,1,0]", pack(1, 1), pack(1, 1), pack(7, 3)),
              f16Bits(5) | f16Bits(3) << 16);
    EXPECT_EQ(dot(target, "v_dot2_f16_f16 v0, v1, v2, v3 op_sel:[0,0,0,1]", pack(1, 1), pack(1, 1), pack(7, 3)),
              f16Bits(7) | f16Bits(9) << 16);
    EXPECT_EQ(dot(target, "v_dot2_bf16_bf16 v0, v1, v2, v3", packBf16(1, 2), packBf16(2, 3), packBf16(1, 7)),
              packBf16(9, 7));
  }
  EXPECT_EQ(f32Of(dot("gfx1100", "v_dot2acc_f32_f16 v0, v1, v2", pack(1, 2), pack(3, 4), f32Bits(5))), 16.0f);
  EXPECT_EQ(f32Of(dot("gfx1100", "v_dual_dot2acc_f32_f16 v0, v1, v2 :: v_dual_mov_b32 v7, v4", pack(1, 2), pack(3, 4),
                      f32Bits(5))),
            16.0f);
  EXPECT_EQ(f32Of(dot("gfx1030", "v_dot2c_f32_f16 v0, v1, v2", pack(1, 2), pack(3, 4), f32Bits(5))), 16.0f);
}

/// Inline constants of packed sources. VOP3P has op_sel_hi for them; the others have both halves from gfx11 on (RDNA 3
/// manual, 7.5.1 and 7.2.2; for v_pk_fmac_f16 LLVM, getPKFMACF16InlineEncoding).
TEST(Dot, ConstantsFillBothHalves) {
  const float five = 5;
  EXPECT_EQ(f32Of(dot("gfx1100", "v_dot2acc_f32_f16 v0, 2.0, v2", 0, pack(3, 4), f32Bits(five))), 19.0f);
  EXPECT_EQ(f32Of(dot("gfx1100", "v_dual_dot2acc_f32_f16 v0, 2.0, v2 :: v_dual_mov_b32 v7, v4", 0, pack(3, 4),
                      f32Bits(five))),
            19.0f);
  EXPECT_EQ(f32Of(dot("gfx1030", "v_dot2c_f32_f16 v0, 2.0, v2", 0, pack(3, 4), f32Bits(five))), 11.0f);
  for (const char *target : {"gfx1100", "gfx1201"}) {
    EXPECT_EQ(dot(target, "v_dot2_f16_f16 v0, v1, 2.0, v3", pack(3, 4), 0, pack(5, 0)) & 0xffff, f16Bits(19)) << target;
    EXPECT_EQ(dot(target, "v_pk_fmac_f16 v0, 2.0, v2", 0, pack(3, 4), pack(1, 1)), pack(7, 9)) << target;
    // a number is the same 16 bits in both
    EXPECT_EQ(dot(target, "v_pk_fmac_f16 v0, 1, v2", 0, pack(0x1p10f, 0x1p11f), 0), pack(0x1p-14f, 0x1p-13f)) << target;
    EXPECT_EQ(dot(target, "v_pk_fmac_f16 v0, 0x40004400, v2", 0, pack(3, 4), 0), pack(12, 8))
        << "a literal is as it is";
  }
  EXPECT_EQ(dot("gfx1030", "v_pk_fmac_f16 v0, 2.0, v2", 0, pack(3, 4), pack(1, 1)), pack(7, 1));
  // VOP3P says itself.
  EXPECT_EQ(dot("gfx1100", "v_pk_mul_f16 v0, 2.0, v2", 0, pack(3, 4), 0), pack(6, 0));
  EXPECT_EQ(dot("gfx1100", "v_pk_mul_f16 v0, 2.0, v2 op_sel_hi:[0,1]", 0, pack(3, 4), 0), pack(6, 8));
}

TEST(Dot, WavesOf64) {
  for (const char *target : {"gfx1030", "gfx1100", "gfx1200"})
    EXPECT_EQ(f32Of(dot(target, "v_dot2_f32_f16 v0, v1, v2, v3", pack(1, 2), pack(3, 4), f32Bits(5), 64)), 16.0f);
}

TEST(Dot, SelectsAndNegatesHalves) {
  for (const char *target : {"gfx90a", "gfx1030", "gfx1200"}) {
    EXPECT_EQ(f32Of(dot(target, "v_dot2_f32_f16 v0, v1, v2, v3 op_sel:[1,0,0] op_sel_hi:[0,1,1]", pack(1, 2),
                        pack(10, 100), 0)),
              120.0f);
    EXPECT_EQ(
        f32Of(dot(target, "v_dot2_f32_f16 v0, v1, v2, v3 neg_lo:[1,0,0] neg_hi:[0,0,0]", pack(1, 2), pack(10, 100), 0)),
        190.0f);
  }
}

/// ROCm/rocm-systems issue 12056, measured on a gfx1151; the second is tinygrad's of a gfx1100, which it expects to be
/// within one unit of 4.
TEST(Dot, SumsOfGfx11) {
  for (const char *target : {"gfx1100", "gfx1151"}) {
    EXPECT_EQ(f32Of(dot(target, "v_dot2_f32_f16 v0, v1, v2, v3", pack(32, 24), pack(1, 1), f32Bits(-1))), 55.0000038f);
    EXPECT_EQ(dot(target, "v_dot2_f32_f16 v0, v1, v2, v3", pack(3, -2), pack(2, 1), 0), f32Bits(4) - 1);
    EXPECT_EQ(f32Of(dot(target, "v_dot2_f32_f16 v0, v1, v2, v3", pack(32, 24), pack(1, 1), f32Bits(1))), 57.0f);
    // bf16 flushes its inputs, not its products
    EXPECT_EQ(dot(target, "v_dot2_f32_bf16 v0, v1, v2, v3", 0x0001, 0x4980, 0), 0u);
    EXPECT_EQ(dot(target, "v_dot2_f32_bf16 v0, v1, v2, v3", 0x0700, 0x3f80, 0), 0x07000000u);
    // of f16, subnormals count
    EXPECT_EQ(f32Of(dot(target, "v_dot2_f32_f16 v0, v1, v2, v3", 0x0001, f16Bits(2), 0)), 0x1p-23f);
    // what is cut off: 24 bits below the greatest exponent
    EXPECT_EQ(f32Of(dot(target, "v_dot2_f32_f16 v0, v1, v2, v3", pack(1, 0), pack(0x1p-14f, 0), f32Bits(0x1p12f))),
              0x1p12f);
    EXPECT_TRUE(std::isnan(f32Of(dot(target, "v_dot2_f32_f16 v0, v1, v2, v3", pack(INFINITY, 1), pack(0, 1), 0))));
    EXPECT_EQ(f32Of(dot(target, "v_dot2_f32_f16 v0, v1, v2, v3", pack(INFINITY, 1), pack(1, 1), 0)), INFINITY);
  }
}

/// gfx9 and gfx10 flush subnormals (measured on gfx90a: llvm/llvm-project pull request 205101).
TEST(Dot, SubnormalsOfGfx90a) {
  EXPECT_EQ(dot("gfx90a", "v_dot2_f32_f16 v0, v1, v2, v3", 0x8001, 0x0400, 0), 0u);
  EXPECT_EQ(f32Of(dot("gfx1200", "v_dot2_f32_f16 v0, v1, v2, v3", 0x8001, 0x0400, 0)), -0x1p-38f);
}

/// triton-lang/triton issue 11227: gfx1200 cuts off.
TEST(Dot, RoundingOfBf16) {
  const uint32_t a = packBf16(1, 0x1p-8f), b = packBf16(1.5f, 1.875f); // 1.5 and a little less than half a unit more
  EXPECT_EQ(dot("gfx1200", "v_dot2_bf16_bf16 v0, v1, v2, v3", a, b, 0) & 0xffff, f32Bits(1.5f) >> 16);
  EXPECT_EQ(dot("gfx1100", "v_dot2_bf16_bf16 v0, v1, v2, v3", a, b, 0) & 0xffff, (f32Bits(1.5f) >> 16) + 1);
}

/// tinygrad's tests of an RDNA3 card.
TEST(Dot, IntegersWithSignsInNeg) {
  for (const char *target : {"gfx1100", "gfx1200"}) {
    const auto iu8 = [&](uint32_t a, uint32_t b, const char *neg) {
      return int(dot(target, std::string("v_dot4_i32_iu8 v0, v1, v2, v3 ") + neg, a, b, 0));
    };
    EXPECT_EQ(iu8(0xfffe0304, 0x01010101, "neg_lo:[1,1,0]"), 4);
    EXPECT_EQ(iu8(0xffffffff, 0x02020202, "neg_lo:[1,0,0]"), -8);
    EXPECT_EQ(iu8(0x02020202, 0xffffffff, "neg_lo:[0,1,0]"), -8);
    EXPECT_EQ(iu8(0xffffffff, 0x01010101, ""), 1020);
    const auto iu4 = [&](uint32_t a, uint32_t b, const char *neg) {
      return int(dot(target, std::string("v_dot8_i32_iu4 v0, v1, v2, v3 ") + neg, a, b, 0));
    };
    EXPECT_EQ(iu4(0xfe34fe34, 0x11111111, "neg_lo:[1,1,0]"), 8);
    EXPECT_EQ(iu4(0xffffffff, 0x11111111, "neg_lo:[1,1,0]"), -8);
    EXPECT_EQ(iu4(0xffffffff, 0x11111111, ""), 120);
    EXPECT_EQ(dot(target, "v_dot4_i32_iu8 v0, v1, v2, v3 clamp", ~0u, ~0u, 0x7fffffff), 0x7fffffffu);
    EXPECT_EQ(dot(target, "v_dot4_i32_iu8 v0, v1, v2, v3", ~0u, ~0u, 0x7fffffff), 0x7fffffffu + 4 * 255 * 255);
    EXPECT_EQ(dot(target, "v_dot4_u32_u8 v0, v1, v2, v3", ~0u, 0x01010101, 5), 1025u);
  }
  EXPECT_EQ(int(dot("gfx1030", "v_dot4_i32_i8 v0, v1, v2, v3", 0xfffe0304, 0x01010101, 0)), 4);
  EXPECT_EQ(int(dot("gfx1030", "v_dot4c_i32_i8 v0, v1, v2", 0xfffe0304, 0x01010101, 6)), 10);
  EXPECT_EQ(int(dot("gfx1030", "v_dot8_i32_i4 v0, v1, v2, v3", 0xffffffff, 0x11111111, 0)), -8);
  EXPECT_EQ(int(dot("gfx1030", "v_dot2_i32_i16 v0, v1, v2, v3", 0xffff0002, 0x00030004, 1)), 6);
}

TEST(Dot, EightBits) {
  const uint32_t a = 0xb84038b8, b = 0x40404040; // fp8: -1, 1, 2, -1; bf8: -0.5, 0.5, 2, -0.5; 2 in both
  EXPECT_EQ(f32Of(dot("gfx1200", "v_dot4_f32_fp8_fp8 v0, v1, v2, v3", a, b, f32Bits(10))), 12.0f);
  EXPECT_EQ(f32Of(dot("gfx1200", "v_dot4_f32_fp8_bf8 v0, v1, v2, v3", a, b, f32Bits(10))), 12.0f);
  EXPECT_EQ(f32Of(dot("gfx1200", "v_dot4_f32_bf8_fp8 v0, v1, v2, v3", a, b, f32Bits(10))), 13.0f);
  EXPECT_EQ(f32Of(dot("gfx1200", "v_dot4_f32_bf8_bf8 v0, v1, v2, v3 neg_lo:[0,0,1]", a, b, f32Bits(10))), -7.0f);
  EXPECT_EQ(f32Of(dot("gfx1200", "v_dot4_f32_bf8_bf8 v0, v1, v2, v3 neg_hi:[0,0,1]", a, b, f32Bits(-10))), 13.0f);
}

} // namespace
} // namespace luthier::vgpu::test
