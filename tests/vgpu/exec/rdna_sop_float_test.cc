// Scalar floating point, of gfx1151 and gfx12.

#include "rdna.h"

#include <limits>

namespace luthier::vgpu::test {
namespace {

class ScalarFloat : public testing::TestWithParam<const char *> {
protected:
  /// Runs "name s0, a, b" and returns s0.
  uint32_t operator()(const std::string &name, uint32_t a, uint32_t b = 0, bool binary = true) {
    t.s(8) = a;
    t.s(9) = b;
    t.s(0) = kPoison;
    EXPECT_TRUE(t.run(name + " s0, s8" + (binary ? ", s9" : "")));
    return t.s(0);
  }
  uint32_t one(const std::string &name, uint32_t a) { return (*this)(name, a, 0, false); }
  ExecTest t{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Targets, ScalarFloat, testing::Values("gfx1151", "gfx1201"));

TEST_P(ScalarFloat, Arithmetic) {
  auto &run = *this;
  EXPECT_EQ(run("s_add_f32", f32(1.5f), f32(2.0f)), f32(3.5f));
  EXPECT_EQ(run("s_sub_f32", f32(1.5f), f32(2.0f)), f32(-0.5f));
  EXPECT_EQ(run("s_mul_f32", f32(1.5f), f32(2.0f)), f32(3.0f));
  EXPECT_EQ(run("s_add_f16", 0x77770000 | f16(1.5f), f16(2.0f)), f16(3.5f));
  EXPECT_EQ(run("s_mul_f16", f16(1.5f), f16(2.0f)), f16(3.0f));
  t.s(0) = f32(10.0f);
  ASSERT_TRUE(t.run("s_fmac_f32 s0, 2.0, 4.0"));
  EXPECT_EQ(t.s(0), f32(18.0f));
  ASSERT_TRUE(t.run("s_fmaak_f32 s0, 2.0, 4.0, 0x42c80000\ns_fmamk_f32 s1, 2.0, 0x42c80000, 4.0"));
  EXPECT_EQ(t.s(0), f32(108.0f));
  EXPECT_EQ(t.s(1), f32(204.0f));
  t.s(0) = f16(10.0f);
  ASSERT_TRUE(t.run("s_fmac_f16 s0, 2.0, 4.0"));
  EXPECT_EQ(t.s(0), f16(18.0f)) << "constants are f16 there";
}

TEST_P(ScalarFloat, RoundingAndConversion) {
  EXPECT_EQ(one("s_ceil_f32", f32(-1.5f)), f32(-1.0f));
  EXPECT_EQ(one("s_floor_f32", f32(-1.5f)), f32(-2.0f));
  EXPECT_EQ(one("s_trunc_f32", f32(-1.5f)), f32(-1.0f));
  EXPECT_EQ(one("s_rndne_f32", f32(2.5f)), f32(2.0f));
  EXPECT_EQ(one("s_rndne_f16", f16(3.5f)), f16(4.0f));
  EXPECT_EQ(one("s_cvt_i32_f32", f32(-3.9f)), static_cast<uint32_t>(-3));
  EXPECT_EQ(one("s_cvt_u32_f32", f32(-3.9f)), 0u);
  EXPECT_EQ(one("s_cvt_f32_i32", static_cast<uint32_t>(-7)), f32(-7.0f));
  EXPECT_EQ(one("s_cvt_f32_u32", 0xffffffff), f32(4294967296.0f));
  EXPECT_EQ(one("s_cvt_f16_f32", f32(0.5f)), f16(0.5f));
  EXPECT_EQ(one("s_cvt_f32_f16", 0x77770000 | f16(0.5f)), f32(0.5f));
  EXPECT_EQ(one("s_cvt_hi_f32_f16", f16(0.5f) << 16), f32(0.5f));
  EXPECT_EQ((*this)("s_cvt_pk_rtz_f16_f32", f32(1.0f), f32(65519.0f)), pack16(f16(1.0f), 0x7bff));
}

TEST_P(ScalarFloat, DenormalsAsModeSays) {
  EXPECT_EQ((*this)("s_add_f16", 0x0001, 0x0001), 0x0002u);
  EXPECT_EQ((*this)("s_add_f32", 0x00000001, 0x00000001), 0x00000002u);
  t.mode(t.mode() & ~0xf0u);
  EXPECT_EQ((*this)("s_add_f16", 0x0001, 0x0001), 0u);
  EXPECT_EQ((*this)("s_add_f32", 0x00000001, 0x00000001), 0u);
}

TEST_P(ScalarFloat, Compares) {
  const auto compare = [&](const std::string &name, float a, float b) {
    t.s(8) = f32(a);
    t.s(9) = f32(b);
    t.scc(false);
    EXPECT_TRUE(t.run("s_cmp_" + name + "_f32 s8, s9"));
    const bool single = t.scc();
    t.s(8) = f16(a);
    t.s(9) = f16(b);
    EXPECT_TRUE(t.run("s_cmp_" + name + "_f16 s8, s9"));
    EXPECT_EQ(t.scc(), single);
    return single;
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(compare("lt", 1, 2));
  EXPECT_FALSE(compare("lt", nan, 2));
  EXPECT_TRUE(compare("nge", nan, 2));
  EXPECT_TRUE(compare("nge", 1, 2));
  EXPECT_TRUE(compare("eq", 0.0f, -0.0f));
  EXPECT_TRUE(compare("neq", nan, nan));
  EXPECT_TRUE(compare("lg", 1, 2));
  EXPECT_FALSE(compare("lg", nan, 2));
  EXPECT_TRUE(compare("nlg", nan, 2));
  EXPECT_TRUE(compare("u", nan, 2));
  EXPECT_TRUE(compare("o", 1, 2));
  EXPECT_TRUE(compare("ge", 2, 2));
  EXPECT_TRUE(compare("ngt", 2, 2));
  EXPECT_TRUE(compare("nle", 3, 2));
  EXPECT_TRUE(compare("nlt", 3, 2));
  EXPECT_TRUE(compare("le", 2, 2));
  EXPECT_TRUE(compare("gt", 3, 2));
}

TEST_P(ScalarFloat, MinimaAndMaxima) {
  auto &run = *this;
  if (std::string_view(GetParam()) == "gfx1151") {
    EXPECT_EQ(run("s_min_f32", f32(1.0f), kQuietNan), f32(1.0f));
    EXPECT_EQ(run("s_min_f32", f32(1.0f), kSignallingNan), kSignallingNan | 0x400000) << "IEEE";
    EXPECT_EQ(run("s_max_f16", f16(1.0f), f16(-2.0f)), f16(1.0f));
    return;
  }
  EXPECT_EQ(run("s_min_num_f32", f32(1.0f), kSignallingNan), f32(1.0f));
  EXPECT_EQ(run("s_minimum_f32", f32(1.0f), kQuietNan), kQuietNan);
  EXPECT_EQ(run("s_maximum_f32", f32(-0.0f), f32(0.0f)), f32(0.0f));
  EXPECT_EQ(run("s_max_num_f16", f16(1.0f), 0x7e01), f16(1.0f));
}

} // namespace
} // namespace luthier::vgpu::test
