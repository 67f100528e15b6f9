// VOP3-only instructions on floating-point values against the manual's definitions.

#include "vector_cases.h"

#include <cmath>

namespace luthier::vgpu::test {
namespace {

const std::vector<VectorCase> &floats() {
  static const auto cases = operandCases<u32>(kEdgesF32);
  return cases;
}
const std::vector<VectorCase> &doubles() {
  static const auto cases = operandCases<u64>(kEdgesF64);
  return cases;
}
const std::vector<VectorCase> &halves() {
  static const auto cases = operandCases<u16>(kEdgesF16, 2048);
  return cases;
}

std::string three(const std::string &name) { return name + " v10, v2, v4, v6"; }
std::string two(const std::string &name) { return name + " v10, v2, v4"; }

bool nan32(u64 x) { return isNanF32(u32(x)); }
bool nan16(u64 x) { return isNanF16(u32(x) & 0xffff); }

u32 flushF32(u32 x) { return x & 0x7f800000 ? x : x & 0x80000000; }

// The manual's V_MIN_F32 and V_MAX_F32 on any width, in words of the manual.
template <class T, class U> U minMax(U a, U b, bool maximum, U infinity, U quietBit, bool ieee) {
  const U sign = U(U(1) << (8 * sizeof(U) - 1));
  auto nan = [&](U x) { return U(x & U(~sign)) > infinity; };
  auto signalling = [&](U x) { return nan(x) && !(x & quietBit); };
  if (ieee && signalling(a))
    return U(a | quietBit);
  if (ieee && signalling(b))
    return U(b | quietBit);
  if (nan(a))
    return b;
  if (nan(b))
    return a;
  const bool zeros = U(a << 1) == 0 && U(b << 1) == 0;
  if (zeros)
    return maximum ? U(a & b) : U(a | b);
  const T x = std::bit_cast<T>(a), y = std::bit_cast<T>(b);
  return maximum ? (x > y ? a : b) : (x < y ? a : b);
}
u32 minMaxF32(u32 a, u32 b, bool maximum, bool ieee) {
  return minMax<float, u32>(a, b, maximum, 0x7f800000, 0x400000, ieee);
}
u16 minMaxF16(u16 a, u16 b, bool maximum) { return minMax<_Float16, u16>(a, b, maximum, 0x7c00, 0x200, true); }
u64 minMaxF64(u64 a, u64 b, bool maximum) {
  return minMax<double, u64>(a, b, maximum, 0x7ff0000000000000, 0x8000000000000, true);
}

TEST(Vop3Float, MinMaxMedianOfFloats) {
  for (bool ieee : {true, false}) {
    const u32 mode = ieee ? kDefaultMode : kDefaultMode & ~mode::kIeee;
    auto m = [=](u32 a, u32 b, bool maximum) { return minMaxF32(a, b, maximum, ieee); };
    checkVector(
        three("v_min3_f32"), 32, floats(),
        [=](u64 a, u64 b, u64 c) { return u64(m(m(u32(a), u32(b), false), u32(c), false)); }, mode);
    checkVector(
        three("v_max3_f32"), 32, floats(),
        [=](u64 a, u64 b, u64 c) { return u64(m(m(u32(a), u32(b), true), u32(c), true)); }, mode);
    checkVector(
        three("v_med3_f32"), 32, floats(),
        [=](u64 x, u64 y, u64 z) -> u64 {
          const u32 a = u32(x), b = u32(y), c = u32(z);
          if (isNanF32(a) || isNanF32(b) || isNanF32(c))
            return m(m(a, b, false), c, false);
          const float greatest = asF32(m(m(a, b, true), c, true));
          if (greatest == asF32(a))
            return m(b, c, true);
          if (greatest == asF32(b))
            return m(a, c, true);
          return m(a, b, true);
        },
        mode);
  }
  checkVector(three("v_min3_f16"), 32, halves(), [](u64 a, u64 b, u64 c) {
    return u64(minMaxF16(minMaxF16(u16(a), u16(b), false), u16(c), false) | kHigh);
  });
  checkVector(three("v_max3_f16"), 32, halves(), [](u64 a, u64 b, u64 c) {
    return u64(minMaxF16(minMaxF16(u16(a), u16(b), true), u16(c), true) | kHigh);
  });
  checkVector(three("v_med3_f16"), 32, halves(), [](u64 x, u64 y, u64 z) {
    const u16 a = u16(x), b = u16(y), c = u16(z);
    u16 d;
    if (isNanF16(a) || isNanF16(b) || isNanF16(c)) {
      d = minMaxF16(minMaxF16(a, b, false), c, false);
    } else {
      const float greatest = asF16(minMaxF16(minMaxF16(a, b, true), c, true));
      d = greatest == asF16(a)   ? minMaxF16(b, c, true)
          : greatest == asF16(b) ? minMaxF16(a, c, true)
                                 : minMaxF16(a, b, true);
    }
    return u64(d | kHigh);
  });
  checkVector("v_min_f64 v[10:11], v[2:3], v[4:5]", 64, doubles(),
              [](u64 a, u64 b, u64) { return minMaxF64(a, b, false); });
  checkVector("v_max_f64 v[10:11], v[2:3], v[4:5]", 64, doubles(),
              [](u64 a, u64 b, u64) { return minMaxF64(a, b, true); });
}

TEST(Vop3Float, FloatArithmetic) {
  checkArithmetic(
      three("v_fma_f32"), 32, floats(),
      [](u64 a, u64 b, u64 c) { return u64(f32(std::fma(asF32(u32(a)), asF32(u32(b)), asF32(u32(c))))); }, nan32);
  checkArithmetic(
      "v_fma_f32 v10, -v2, |v4|, -|v6|", 32, floats(),
      [](u64 a, u64 b, u64 c) {
        return u64(f32(std::fma(-asF32(u32(a)), std::fabs(asF32(u32(b))), -std::fabs(asF32(u32(c))))));
      },
      nan32);
  checkArithmetic(
      three("v_mad_f32"), 32, floats(),
      [](u64 a, u64 b, u64 c) {
        volatile float product = asF32(flushF32(u32(a))) * asF32(flushF32(u32(b)));
        volatile float sum = asF32(flushF32(f32(product))) + asF32(flushF32(u32(c)));
        return u64(flushF32(f32(sum)));
      },
      nan32);
  checkArithmetic(
      "v_fma_f64 v[10:11], v[2:3], v[4:5], v[6:7]", 64, doubles(),
      [](u64 a, u64 b, u64 c) { return f64(std::fma(asF64(a), asF64(b), asF64(c))); }, isNanF64);
  checkArithmetic(
      "v_add_f64 v[10:11], v[2:3], v[4:5]", 64, doubles(), [](u64 a, u64 b, u64) { return f64(asF64(a) + asF64(b)); },
      isNanF64);
  checkArithmetic(
      "v_mul_f64 v[10:11], v[2:3], -v[4:5]", 64, doubles(), [](u64 a, u64 b, u64) { return f64(asF64(a) * -asF64(b)); },
      isNanF64);
  checkArithmetic(
      two("v_mul_legacy_f32"), 32, floats(),
      [](u64 a, u64 b, u64) {
        const float x = asF32(u32(a)), y = asF32(u32(b));
        return u64(f32(x == 0 || y == 0 ? 0.0f : x * y));
      },
      nan32);
}

TEST(Vop3Float, HalfArithmetic) {
  checkArithmetic(
      three("v_fma_f16"), 32, halves(),
      [](u64 a, u64 b, u64 c) { return u64(f16FusedMultiplyAdd(u32(a), u32(b), u32(c)) | kHigh); }, nan16);
  checkArithmetic(
      three("v_fma_legacy_f16"), 32, halves(),
      [](u64 a, u64 b, u64 c) { return u64(f16FusedMultiplyAdd(u32(a), u32(b), u32(c))); }, nan16);
  // Where rounding through f32 would go wrong: just beside a midpoint of f16.
  std::vector<VectorCase> hard;
  for (u32 a = 0x3c01; a < 0x4400; a += 37)
    for (u32 b : {0x3c01u, 0x3fffu, 0x2801u, 0xbd55u})
      for (u32 c : {0x0001u, 0x8001u, 0x1400u, 0x9400u, 0x6bffu, 0x7bffu})
        hard.push_back({{a, b, c}});
  checkArithmetic(
      three("v_fma_f16"), 32, hard,
      [](u64 a, u64 b, u64 c) { return u64(f16FusedMultiplyAdd(u32(a), u32(b), u32(c)) | kHigh); }, nan16);

  ExecTest t;
  t.setVector(2, pack16(f16(2.0f), f16(3.0f)));
  t.setVector(4, pack16(f16(5.0f), f16(7.0f)));
  t.setVector(6, pack16(f16(0.5f), f16(0.25f)));
  ASSERT_TRUE(t.run("v_fma_f16 v10, v2, v4, v6 op_sel:[1,0,1,0]\n"
                    "v_fma_f16 v11, v2, v4, v6 op_sel:[0,1,0,1]\n"
                    "v_mad_legacy_f16 v12, v2, v4, v6\n"
                    "v_mad_u16 v14, v2, 3, 1\n"
                    "v_mad_legacy_u16 v15, v2, 3, 1\n"
                    "v_pack_b32_f16 v16, -v2, |v4| op_sel:[1,0,0]"));
  EXPECT_EQ(t.v(10, 0), kHigh | f16(15.25f));
  EXPECT_EQ(t.v(11, 0), (kPoison & 0xffff) | f16(14.5f) << 16);
  EXPECT_EQ(t.v(12, 0), f16(10.5f));
  EXPECT_EQ(t.v(14, 0), kHigh | u16(0x4000 * 3 + 1));
  EXPECT_EQ(t.v(15, 0), u32(u16(0x4000 * 3 + 1)));
  EXPECT_EQ(t.v(16, 0), pack16(f16(-3.0f), f16(5.0f)));
}

TEST(Vop3Float, UnfusedMultiplyAdd) {
  // Zero times anything is zero; denormals count as zero.
  checkArithmetic(
      three("v_mad_legacy_f32"), 32, floats(),
      [](u64 a, u64 b, u64 c) {
        const float x = asF32(flushF32(u32(a))), y = asF32(flushF32(u32(b))), z = asF32(flushF32(u32(c)));
        volatile float product = x == 0 || y == 0 ? 0.0f : asF32(flushF32(f32(x * y)));
        volatile float sum = product + z;
        return u64(flushF32(f32(sum)));
      },
      nan32);
  auto flush = [](u32 x) { return x & 0x7c00 ? x : x & 0x8000; };
  checkArithmetic(
      three("v_mad_f16"), 32, halves(),
      [=](u64 a, u64 b, u64 c) {
        const u32 x = flush(u32(a)), y = flush(u32(b));
        u32 product = flush(f16FusedMultiplyAdd(x, y, 0x8000));
        if ((product & 0x7fff) == 0)
          product = (x ^ y) & 0x8000;
        return u64(flush(f16FusedMultiplyAdd(product, 0x3c00, flush(u32(c)))) | kHigh);
      },
      nan16);
}

TEST(Vop3Float, Ldexp) {
  std::vector<VectorCase> cases;
  for (u32 x : kEdgesF32)
    for (i32 n : {0,    1,   -1,   23,  -23,  24,  -24,  100, -100, 126,  -126,  127,       -127,     149,
                  -149, 150, -150, 253, -253, 276, -277, 300, -300, 1000, -1000, INT32_MAX, INT32_MIN})
      cases.push_back({{x, u32(n), 0}});
  checkArithmetic(
      two("v_ldexp_f32"), 32, cases, [](u64 a, u64 b, u64) { return u64(f32(std::ldexp(asF32(u32(a)), i32(b)))); },
      nan32);
  cases.clear();
  for (u64 x : kEdgesF64)
    for (i32 n : {0,    1,     -1,   52,    -52,  53,    1022, -1022, 1023, -1023, 1074,      -1074,
                  1075, -1075, 2045, -2045, 2046, -2046, 2097, -2098, 2200, -2200, INT32_MAX, INT32_MIN})
      cases.push_back({{x, u32(n), 0}});
  cases.push_back({{f64(1.7), u32(-1073), 0}}); // rounds to a denormal once
  checkArithmetic(
      "v_ldexp_f64 v[10:11], v[2:3], v4", 64, cases,
      [](u64 a, u64 b, u64) { return f64(std::ldexp(asF64(a), i32(b))); }, isNanF64);
}

// The division that LLVM emits (SITargetLowering::LowerFDIV32, LowerFDIV64) must round correctly everywhere.
constexpr const char *kDivideF32 = R"(
  v_div_scale_f32 v20, s[20:21], v4, v4, v2
  v_div_scale_f32 v21, vcc, v2, v4, v2
  v_rcp_f32 v22, v20
  v_fma_f32 v23, -v20, v22, 1.0
  v_fma_f32 v22, v23, v22, v22
  v_mul_f32 v23, v21, v22
  v_fma_f32 v24, -v20, v23, v21
  v_fma_f32 v23, v24, v22, v23
  v_fma_f32 v20, -v20, v23, v21
  v_div_fmas_f32 v20, v20, v22, v23
  v_div_fixup_f32 v10, v20, v4, v2
)";
constexpr const char *kDivideF64 = R"(
  v_div_scale_f64 v[20:21], s[20:21], v[4:5], v[4:5], v[2:3]
  v_rcp_f64 v[22:23], v[20:21]
  v_fma_f64 v[24:25], -v[20:21], v[22:23], 1.0
  v_fma_f64 v[22:23], v[22:23], v[24:25], v[22:23]
  v_fma_f64 v[24:25], -v[20:21], v[22:23], 1.0
  v_fma_f64 v[22:23], v[22:23], v[24:25], v[22:23]
  v_div_scale_f64 v[24:25], vcc, v[2:3], v[4:5], v[2:3]
  v_mul_f64 v[26:27], v[24:25], v[22:23]
  v_fma_f64 v[20:21], -v[20:21], v[26:27], v[24:25]
  v_div_fmas_f64 v[20:21], v[20:21], v[22:23], v[26:27]
  v_div_fixup_f64 v[10:11], v[20:21], v[4:5], v[2:3]
)";

TEST(Vop3Float, DivisionF32) {
  auto cases = floats();
  std::mt19937_64 random(7);
  for (unsigned n = 0; n < 20000; ++n) {
    const u64 x = random();
    cases.push_back({{u32(x), u32(x >> 32), 0}});
  }
  // Quotients that are denormal, near the largest number, or tied; operands that are denormal.
  for (unsigned n = 0; n < 20000; ++n) {
    const u64 x = random(), y = random();
    const u32 e = 1 + u32(y % 100);
    cases.push_back(
        {{u32(x & 0x807fffff) | e << 23, u32(x >> 32 & 0x807fffff) | (e + 100 + u32(y >> 8) % 50) << 23, 0}});
    cases.push_back(
        {{u32(x & 0x807fffff) | (e + 150) << 23, u32(x >> 32 & 0x807fffff) | (e + u32(y >> 8) % 50) << 23, 0}});
    cases.push_back({{u32(x & 0x807fffff), u32(x >> 32), 0}});
    cases.push_back({{u32(x), u32(x >> 32 & 0x807fffff), 0}});
    cases.push_back({{u32(x & 0x807fff00) | e << 23, (u32(x >> 32) & 0x80700000) | (e + 140) << 23, 0}});
  }
  checkArithmetic(
      kDivideF32, 32, cases, [](u64 a, u64 b, u64) { return u64(f32(asF32(u32(a)) / asF32(u32(b)))); }, nan32);
}

TEST(Vop3Float, DivisionF64) {
  auto cases = doubles();
  std::mt19937_64 random(8);
  for (unsigned n = 0; n < 20000; ++n) {
    const u64 x = random(), y = random(), z = random();
    const u64 mantissa = 0x800fffffffffffff, e = 1 + z % 900;
    cases.push_back({{x, y, 0}});
    cases.push_back({{(x & mantissa) | e << 52, (y & mantissa) | (e + 950 + (z >> 20) % 140) << 52, 0}});
    cases.push_back({{(x & mantissa) | (e + 1100) << 52, (y & mantissa) | (e + (z >> 20) % 140) << 52, 0}});
    cases.push_back({{x & mantissa, y, 0}});
    cases.push_back({{x, y & mantissa, 0}});
    cases.push_back({{(x & 0x800fffffffff0000) | e << 52, (y & 0x800f000000000000) | (e + 1040) << 52, 0}});
  }
  checkArithmetic(kDivideF64, 64, cases, [](u64 a, u64 b, u64) { return f64(asF64(a) / asF64(b)); }, isNanF64);
}

TEST(Vop3Float, DivFixupF16) {
  checkVector(three("v_div_fixup_f16"), 32, halves(), [](u64 q, u64 d, u64 n) -> u64 {
    const u32 sign = u32((d ^ n) & 0x8000), md = d & 0x7fff, mn = n & 0x7fff;
    u32 r;
    if (mn > 0x7c00)
      r = u32(n) | 0x200;
    else if (md > 0x7c00)
      r = u32(d) | 0x200;
    else if ((md == 0 && mn == 0) || (md == 0x7c00 && mn == 0x7c00))
      r = 0xfe00;
    else if (md == 0 || mn == 0x7c00)
      r = sign | 0x7c00;
    else if (md == 0x7c00 || mn == 0)
      r = sign;
    else
      r = sign | u32(q & 0x7fff);
    return r | kHigh;
  });
}

TEST(Vop3Float, Cube) {
  auto face = [](float x, float y, float z) {
    if (std::fabs(z) >= std::fabs(x) && std::fabs(z) >= std::fabs(y))
      return z < 0 ? 5 : 4;
    if (std::fabs(y) >= std::fabs(x))
      return y < 0 ? 3 : 2;
    return x < 0 ? 1 : 0;
  };
  static const float values[] = {0.0f, -0.0f, 1.0f, -1.0f, 2.5f, -2.5f, 1e-40f, INFINITY, -INFINITY};
  std::vector<VectorCase> cases;
  for (float x : values)
    for (float y : values)
      for (float z : values)
        cases.push_back({{f32(x), f32(y), f32(z)}});
  auto check = [&](const std::string &name, std::function<float(float, float, float)> rule) {
    checkArithmetic(
        three(name), 32, cases,
        [=](u64 x, u64 y, u64 z) { return u64(f32(rule(asF32(u32(x)), asF32(u32(y)), asF32(u32(z))))); }, nan32);
  };
  check("v_cubeid_f32", [=](float x, float y, float z) { return float(face(x, y, z)); });
  check("v_cubesc_f32", [=](float x, float y, float z) {
    const float sc[] = {-z, z, x, x, x, -x};
    return sc[face(x, y, z)];
  });
  check("v_cubetc_f32", [=](float x, float y, float z) {
    const float tc[] = {-y, -y, z, -z, -y, -y};
    return tc[face(x, y, z)];
  });
  check("v_cubema_f32", [=](float x, float y, float z) {
    const float ma[] = {x, x, y, y, z, z};
    return 2 * ma[face(x, y, z)];
  });
}

TEST(Vop3Float, PackingConversions) {
  auto snorm = [](float x) -> u32 {
    return std::isnan(x) ? 0 : u16(i32(std::nearbyint(std::clamp(double(x), -1.0, 1.0) * 32767)));
  };
  auto unorm = [](float x) -> u32 {
    return std::isnan(x) ? 0 : u16(i32(std::nearbyint(std::clamp(double(x), 0.0, 1.0) * 65535)));
  };
  auto cases = floats();
  for (int n = -40; n < 40; ++n)
    cases.push_back({{f32(float(n) / 32767.0f / 2), f32(float(n) / 37), 0}});
  checkVector(two("v_cvt_pknorm_i16_f32"), 32, cases,
              [=](u64 a, u64 b, u64) { return u64(pack16(snorm(asF32(u32(a))), snorm(asF32(u32(b))))); });
  checkVector(two("v_cvt_pknorm_u16_f32"), 32, cases,
              [=](u64 a, u64 b, u64) { return u64(pack16(unorm(asF32(u32(a))), unorm(asF32(u32(b))))); });
  checkVector(two("v_cvt_pknorm_i16_f16"), 32, halves(),
              [=](u64 a, u64 b, u64) { return u64(pack16(snorm(asF16(u32(a))), snorm(asF16(u32(b))))); });
  checkVector(two("v_cvt_pknorm_u16_f16"), 32, halves(),
              [=](u64 a, u64 b, u64) { return u64(pack16(unorm(asF16(u32(a))), unorm(asF16(u32(b))))); });
  // Toward zero: the f16 of greatest magnitude that is not beyond the value.
  auto towardZero = [](u32 x) -> u32 {
    const u32 sign = x >> 16 & 0x8000;
    const float m = asF32(x & 0x7fffffff);
    if (std::isnan(m))
      return sign | 0x7e00 | (x >> 13 & 0x1ff);
    if (std::isinf(m))
      return sign | 0x7c00;
    u32 best = 0;
    for (u32 bit = 0x4000; bit; bit >>= 1)
      if ((best | bit) < 0x7c00 && asF16(best | bit) <= m)
        best |= bit;
    return sign | best;
  };
  for (float x : {65504.0f, 65519.0f, 65520.0f, 1e6f, 6e-8f, 5.9e-8f, 1e-10f, 0.1f, -0.1f, 3.14159f})
    cases.push_back({{f32(x), f32(-x), 0}});
  checkVector(two("v_cvt_pkrtz_f16_f32"), 32, cases,
              [=](u64 a, u64 b, u64) { return u64(pack16(towardZero(u32(a)), towardZero(u32(b)))); });
  auto check2 = [](const std::string &name, std::function<u32(u32, u32)> rule) {
    checkVector(two(name), 32, operandCases<u32>(kEdgesU32),
                [=](u64 a, u64 b, u64) { return u64(rule(u32(a), u32(b))); });
  };
  check2("v_cvt_pk_u16_u32", [](u32 a, u32 b) { return pack16(std::min(a, 0xffffu), std::min(b, 0xffffu)); });
  check2("v_cvt_pk_i16_i32", [](u32 a, u32 b) {
    return pack16(u32(std::clamp(i32(a), -0x8000, 0x7fff)), u32(std::clamp(i32(b), -0x8000, 0x7fff)));
  });
  auto byte = [](float x) { return std::isnan(x) || x < 0 ? 0u : x > 255 ? 255u : u32(x); };
  checkVector(three("v_cvt_pk_u8_f32"), 32, cases, [=](u64 a, u64 b, u64 c) {
    const unsigned shift = 8 * (b & 3);
    return u64((u32(c) & ~(0xffu << shift)) | byte(asF32(u32(a))) << shift);
  });
  checkVector(two("v_cvt_pkaccum_u8_f32"), 32, cases, [=](u64 a, u64 b, u64) {
    const unsigned shift = 8 * (b & 3);
    return u64((kPoison & ~(0xffu << shift)) | byte(asF32(u32(a))) << shift);
  });
}

TEST(Vop3Float, TrigPreop) {
  // Values that LLVM folds llvm.amdgcn.trig.preop to.
  const struct {
    double x;
    u32 segment;
    u64 expected;
  } cases[] = {
      {1.0, 0, 0x3fe45f306dc9c882},
      {1.0, 1, 0x3c94a7f09d5f47d4},
      {1.0, 5, 0x2f42371d2126e970},
      {1e200, 0, 0x198a99cfa4e422f0},
      {1e200, 2, 0x13212fffbc0b301f},
      {1e300, 1, 0x09a7cbe2f67a0e72},
      {asF64(0x7fefffffffffffff), 0, 0x0b43dd63f5f2f8bc},
      {asF64(0x7fefffffffffffff), 2, 0x04b2ea6bfb5fb11f},
      {1.0, 31, 0},
      {1.0, 20, f64(5.222270e-320)},
  };
  ExecTest t;
  for (const auto &c : cases) {
    t.setVector64(2, f64(c.x));
    t.setVector(4, c.segment);
    ASSERT_TRUE(t.run("v_trig_preop_f64 v[10:11], v[2:3], v4"));
    EXPECT_EQ(t.v64(10, 5), c.expected) << c.x << ' ' << c.segment;
  }
}

} // namespace
} // namespace luthier::vgpu::test
