// VOP1: every instruction against the manual's definition (section 12.8).

#include "valu_cases.h"

#include <algorithm>

namespace luthier::vgpu::test {
namespace {

const Values kF32 = values(kEdgesF32, 200, 0xffffffff);
const Values kF64 = values(kEdgesF64, 200, ~0ull);
const Values kU32 = values(kEdgesU32, 100, 0xffffffff);
constexpr Shape kTo64{Width::W64, Width::W32, Width::W32};
constexpr Shape kFrom64{Width::W32, Width::W64, Width::W32};
constexpr Shape k64{Width::W64, Width::W64, Width::W32};

Values allF16() {
  Values result(0x10000);
  for (unsigned n = 0; n < result.size(); ++n)
    result[n] = n | (n * 0x9e37u) << 16; // the high half does not matter
  return result;
}
/// Values near integers and halves, and where conversions saturate.
Values conversionsF32() {
  Values result = kF32;
  for (float x : {0.25f, 0.49999997f, 0.5f, 0.75f, 0.99999994f, 1.5f, 2.5f, 255.5f, 65535.5f, 65536.0f, 8388607.5f,
                  2147483520.0f, 2147483648.0f, 4294967040.0f, 4294967296.0f, 1e10f})
    for (float sign : {1.0f, -1.0f})
      result.push_back(f32(sign * x));
  return result;
}
Values conversionsF64() {
  Values result = kF64;
  for (double x : {0.5, 0.99999999999999989, 1.5, 2.5, 2147483647.0, 2147483647.5, 2147483648.0, 2147483649.0,
                   4294967295.0, 4294967295.5, 4294967296.0, 1e300})
    for (double sign : {1.0, -1.0})
      result.push_back(f64(sign * x));
  return result;
}

/// Truncates, saturates, NaN is 0.
template <class I> uint64_t saturated(double x) {
  if (std::isnan(x))
    return 0;
  const double low = std::numeric_limits<I>::min(), high = std::numeric_limits<I>::max();
  const double y = std::clamp(std::trunc(x), low, high);
  return static_cast<std::make_unsigned_t<I>>(static_cast<I>(y));
}
float number32(uint64_t x) { return asF32(static_cast<uint32_t>(x)); }
float number16(uint64_t x) { return asF16(static_cast<uint32_t>(x)); }
uint64_t half(double x) { return std::bit_cast<uint16_t>(static_cast<_Float16>(x)); }
uint32_t flush(uint32_t x) { return x & 0x7f800000 ? x : x & 0x80000000; }

TEST(Vop1, Bits) {
  unary("v_mov_b32", {}, kU32, Match::Bits, [](uint64_t a) { return a; });
  unary("v_not_b32", {}, kU32, Match::Bits, [](uint64_t a) { return ~uint32_t(a); });
  unary("v_bfrev_b32", {}, kU32, Match::Bits, [](uint64_t a) {
    uint32_t d = 0;
    for (unsigned n = 0; n < 32; ++n)
      d |= uint32_t(a >> n & 1) << (31 - n);
    return d;
  });
  unary("v_ffbh_u32", {}, kU32, Match::Bits, [](uint64_t a) {
    for (uint32_t n = 0; n < 32; ++n)
      if (a >> (31 - n) & 1)
        return n;
    return ~0u;
  });
  unary("v_ffbl_b32", {}, kU32, Match::Bits, [](uint64_t a) {
    for (uint32_t n = 0; n < 32; ++n)
      if (a >> n & 1)
        return n;
    return ~0u;
  });
  unary("v_ffbh_i32", {}, kU32, Match::Bits, [](uint64_t a) {
    for (uint32_t n = 1; n < 32; ++n)
      if ((a >> (31 - n) & 1) != (a >> 31 & 1))
        return n;
    return ~0u;
  });
  unary("v_sat_pk_u8_i16", {}, kU32, Match::Bits, [](uint64_t a) {
    return uint32_t(std::clamp<int>(int16_t(a), 0, 255) | std::clamp<int>(int16_t(a >> 16), 0, 255) << 8);
  });
}

TEST(Vop1, FloatToInteger) {
  unary("v_cvt_i32_f32", {}, conversionsF32(), Match::Bits, [](uint64_t a) { return saturated<int32_t>(number32(a)); });
  unary("v_cvt_u32_f32", {}, conversionsF32(), Match::Bits,
        [](uint64_t a) { return saturated<uint32_t>(number32(a)); });
  unary("v_cvt_i32_f64", kFrom64, conversionsF64(), Match::Bits,
        [](uint64_t a) { return saturated<int32_t>(asF64(a)); });
  unary("v_cvt_u32_f64", kFrom64, conversionsF64(), Match::Bits,
        [](uint64_t a) { return saturated<uint32_t>(asF64(a)); });
  unary("v_cvt_i16_f16", {}, allF16(), Match::Bits, [](uint64_t a) { return saturated<int16_t>(number16(a)); });
  unary("v_cvt_u16_f16", {}, allF16(), Match::Bits, [](uint64_t a) { return saturated<uint16_t>(number16(a)); });
  unary("v_cvt_rpi_i32_f32", {}, conversionsF32(), Match::Bits,
        [](uint64_t a) { return saturated<int32_t>(std::floor(double(number32(a)) + 0.5)); });
  unary("v_cvt_flr_i32_f32", {}, conversionsF32(), Match::Bits,
        [](uint64_t a) { return saturated<int32_t>(std::floor(number32(a))); });
  ExecTest t;
  t.setVector(1, f32(-3.5f));
  ASSERT_TRUE(t.run("v_cvt_i32_f32_e64 v0, |v1| clamp"));
  EXPECT_EQ(t.v(0, 0), 3u);
}

TEST(Vop1, IntegerToFloat) {
  unary("v_cvt_f32_i32", {}, kU32, Match::Bits, [](uint64_t a) { return f32(float(int32_t(a))); });
  unary("v_cvt_f32_u32", {}, kU32, Match::Bits, [](uint64_t a) { return f32(float(uint32_t(a))); });
  unary("v_cvt_f64_i32", kTo64, kU32, Match::Bits, [](uint64_t a) { return f64(int32_t(a)); });
  unary("v_cvt_f64_u32", kTo64, kU32, Match::Bits, [](uint64_t a) { return f64(uint32_t(a)); });
  unary("v_cvt_f16_i16", {}, kU32, Match::Bits, [](uint64_t a) { return half(int16_t(a)); });
  unary("v_cvt_f16_u16", {}, kU32, Match::Bits, [](uint64_t a) { return half(uint16_t(a)); });
  unary("v_cvt_f32_ubyte0", {}, kU32, Match::Bits, [](uint64_t a) { return f32(float(a & 0xff)); });
  unary("v_cvt_f32_ubyte1", {}, kU32, Match::Bits, [](uint64_t a) { return f32(float(a >> 8 & 0xff)); });
  unary("v_cvt_f32_ubyte2", {}, kU32, Match::Bits, [](uint64_t a) { return f32(float(a >> 16 & 0xff)); });
  unary("v_cvt_f32_ubyte3", {}, kU32, Match::Bits, [](uint64_t a) { return f32(float(a >> 24 & 0xff)); });
  unary("v_cvt_off_f32_i4", {}, kU32, Match::Bits, [](uint64_t a) {
    const float table[] = {0,     0.0625f,  0.125f,  0.1875f,  0.25f,  0.3125f,  0.375f,  0.4375f,
                           -0.5f, -0.4375f, -0.375f, -0.3125f, -0.25f, -0.1875f, -0.125f, -0.0625f};
    return f32(table[a & 15]);
  });
}

TEST(Vop1, FloatToFloat) {
  unary("v_cvt_f32_f64", kFrom64, conversionsF64(), Match::F32, [](uint64_t a) { return f32(float(asF64(a))); });
  unary("v_cvt_f64_f32", kTo64, kF32, Match::F64, [](uint64_t a) { return f64(number32(a)); });
  unary("v_cvt_f16_f32", {}, conversionsF32(), Match::F16, [](uint64_t a) { return half(number32(a)); });
  unary("v_cvt_f32_f16", {}, allF16(), Match::F32, [](uint64_t a) { return f32(number16(a)); });
}

TEST(Vop1, NormalisedF16) {
  // Halfway cases do not occur: no f16 times 32767 or 65535 ends in exactly a half, except 0.5 itself.
  unary("v_cvt_norm_i16_f16", {}, allF16(), Match::Bits, [](uint64_t a) -> uint64_t {
    const double x = number16(a);
    return std::isnan(x) ? 0 : uint16_t(int16_t(std::nearbyint(std::clamp(x, -1.0, 1.0) * 32767)));
  });
  unary("v_cvt_norm_u16_f16", {}, allF16(), Match::Bits, [](uint64_t a) -> uint64_t {
    const double x = number16(a);
    return std::isnan(x) ? 0 : uint16_t(std::nearbyint(std::clamp(x, 0.0, 1.0) * 65535));
  });
}

TEST(Vop1, Rounding) {
  const Values f32s = conversionsF32(), f64s = conversionsF64();
  unary("v_trunc_f32", {}, f32s, Match::F32, [](uint64_t a) { return f32(std::trunc(number32(a))); });
  unary("v_ceil_f32", {}, f32s, Match::F32, [](uint64_t a) { return f32(std::ceil(number32(a))); });
  unary("v_rndne_f32", {}, f32s, Match::F32, [](uint64_t a) { return f32(std::nearbyint(number32(a))); });
  unary("v_floor_f32", {}, f32s, Match::F32, [](uint64_t a) { return f32(std::floor(number32(a))); });
  unary("v_trunc_f64", k64, f64s, Match::F64, [](uint64_t a) { return f64(std::trunc(asF64(a))); });
  unary("v_ceil_f64", k64, f64s, Match::F64, [](uint64_t a) { return f64(std::ceil(asF64(a))); });
  unary("v_rndne_f64", k64, f64s, Match::F64, [](uint64_t a) { return f64(std::nearbyint(asF64(a))); });
  unary("v_floor_f64", k64, f64s, Match::F64, [](uint64_t a) { return f64(std::floor(asF64(a))); });
  unary("v_trunc_f16", {}, allF16(), Match::F16, [](uint64_t a) { return half(std::trunc(number16(a))); });
  unary("v_ceil_f16", {}, allF16(), Match::F16, [](uint64_t a) { return half(std::ceil(number16(a))); });
  unary("v_rndne_f16", {}, allF16(), Match::F16, [](uint64_t a) { return half(std::nearbyint(number16(a))); });
  unary("v_floor_f16", {}, allF16(), Match::F16, [](uint64_t a) { return half(std::floor(number16(a))); });
}

TEST(Vop1, RoundingToIntegersIgnoresTheMode) {
  ExecTest t;
  t.mode(kDefaultMode | 0xf);
  t.setVector(1, {f32(1.5f), f32(2.5f), f32(-0.75f)});
  ASSERT_TRUE(t.run("v_rndne_f32 v0, v1\nv_cvt_rpi_i32_f32 v2, v1"));
  EXPECT_EQ(t.v(0, 0), f32(2.0f));
  EXPECT_EQ(t.v(0, 1), f32(2.0f));
  EXPECT_EQ(t.v(0, 2), f32(-1.0f));
  EXPECT_EQ(t.v(2, 2), ~0u);
}

TEST(Vop1, Fract) {
  // fract never reaches 1: OpenCL's definition, which the hardware has.
  unary("v_fract_f32", {}, conversionsF32(), Match::F32, [](uint64_t a) {
    const float d = number32(a) - std::floor(number32(a));
    return d >= 1 ? 0x3f7fffffu : f32(d);
  });
  unary("v_fract_f64", k64, conversionsF64(), Match::F64, [](uint64_t a) {
    const double d = asF64(a) - std::floor(asF64(a));
    return d >= 1 ? 0x3fefffffffffffffu : f64(d);
  });
  unary("v_fract_f16", {}, allF16(), Match::F16, [](uint64_t a) -> uint64_t {
    const double d = double(number16(a)) - std::floor(double(number16(a)));
    return half(d) == 0x3c00 ? 0x3bff : half(d);
  });
}

TEST(Vop1, Frexp) {
  auto finite = [](double x) { return !std::isnan(x) && !std::isinf(x); };
  unary("v_frexp_exp_i32_f32", {}, kF32, Match::Bits, [=](uint64_t a) {
    int e = 0;
    if (finite(number32(a)))
      std::frexp(number32(a), &e);
    return uint32_t(e);
  });
  unary("v_frexp_mant_f32", {}, kF32, Match::F32, [](uint64_t a) {
    int e;
    return f32(std::frexp(number32(a), &e));
  });
  unary("v_frexp_exp_i32_f64", kFrom64, kF64, Match::Bits, [=](uint64_t a) {
    int e = 0;
    if (finite(asF64(a)))
      std::frexp(asF64(a), &e);
    return uint32_t(e);
  });
  unary("v_frexp_mant_f64", k64, kF64, Match::F64, [](uint64_t a) {
    int e;
    return f64(std::frexp(asF64(a), &e));
  });
  unary("v_frexp_exp_i16_f16", {}, allF16(), Match::Bits, [=](uint64_t a) {
    int e = 0;
    if (finite(number16(a)))
      std::frexp(number16(a), &e);
    return uint16_t(e);
  });
  unary("v_frexp_mant_f16", {}, allF16(), Match::F16, [](uint64_t a) {
    int e;
    return half(std::frexp(number16(a), &e));
  });
}

/// |actual - exact| in units of the last place of f32 around exact; infinities and NaNs must agree.
void expectWithin(double ulps, const char *what, uint32_t a, double exact, uint32_t actual) {
  if (std::isnan(exact)) {
    EXPECT_TRUE(isNanF32(actual)) << what << std::hex << " of " << a;
    return;
  }
  const float nearest = static_cast<float>(exact);
  if (std::isinf(nearest) || nearest == 0) {
    EXPECT_EQ(asF32(actual), nearest) << what << std::hex << " of " << a;
    return;
  }
  int e;
  std::frexp(exact, &e);
  const double ulp = std::ldexp(1.0, std::max(e - 24, -149));
  EXPECT_LE(std::fabs(asF32(actual) - exact), ulps * ulp)
      << what << std::hex << " of " << a << " is " << actual << ", not " << f32(nearest);
}
void approximate(const std::string &mnemonic, const std::vector<uint32_t> &as, double (*exact)(double)) {
  ExecTest t;
  for (size_t first = 0; first < as.size(); first += 64) {
    for (unsigned lane = 0; lane < 64; ++lane)
      t.v(1, lane) = as[(first + lane) % as.size()];
    ASSERT_TRUE(t.run(mnemonic + " v0, v1"));
    for (unsigned lane = 0; lane < 64; ++lane) {
      const uint32_t a = t.v(1, lane);
      // Denormals are flushed on the way in and out.
      double d = exact(asF32(flush(a)));
      if (std::fabs(d) < 0x1p-126)
        d = std::copysign(0.0, d);
      expectWithin(0.51, mnemonic.c_str(), a, d, t.v(0, lane));
    }
  }
}
std::vector<uint32_t> samples(float low, float high, unsigned count) {
  std::vector<uint32_t> result(std::begin(kEdgesF32), std::end(kEdgesF32));
  std::mt19937 engine(3);
  std::uniform_real_distribution<float> distribution(low, high);
  for (unsigned n = 0; n < count; ++n)
    result.push_back(f32(distribution(engine)));
  for (unsigned n = 0; n < count; ++n)
    result.push_back(engine());
  return result;
}

TEST(Vop1, ReciprocalsAndRoots) {
  const auto as = samples(0.1f, 10.0f, 3000);
  approximate("v_rcp_f32", as, [](double x) { return 1 / x; });
  approximate("v_rcp_iflag_f32", as, [](double x) { return 1 / x; });
  approximate("v_rsq_f32", as, [](double x) { return 1 / std::sqrt(x); });
  approximate("v_sqrt_f32", as, [](double x) { return std::sqrt(x); });
  unary("v_rcp_f64", k64, kF64, Match::F64, [](uint64_t a) { return f64(1 / asF64(a)); });
  unary("v_sqrt_f64", k64, kF64, Match::F64, [](uint64_t a) { return f64(std::sqrt(asF64(a))); });
  unary("v_rsq_f64", k64, kF64, Match::F64, [](uint64_t a) { return f64(1 / std::sqrt(asF64(a))); });
  unary("v_rcp_f16", {}, allF16(), Match::F16, [](uint64_t a) { return half(1 / double(number16(a))); });
  unary("v_sqrt_f16", {}, allF16(), Match::F16, [](uint64_t a) { return half(std::sqrt(double(number16(a)))); });
}

TEST(Vop1, ExponentialAndLogarithm) {
  approximate("v_exp_f32", samples(-130.0f, 130.0f, 5000), [](double x) { return std::exp2(x); });
  approximate("v_exp_f32", samples(-1.0f, 1.0f, 5000), [](double x) { return std::exp2(x); });
  approximate("v_log_f32", samples(0.5f, 2.0f, 10000), [](double x) { return std::log2(x); });
  approximate("v_log_f32", samples(0.0f, 1e30f, 5000), [](double x) { return std::log2(x); });
  approximate("v_exp_legacy_f32", samples(-130.0f, 130.0f, 5000), [](double x) { return std::exp2(x); });
  approximate("v_log_legacy_f32", samples(0.0f, 1e30f, 5000), [](double x) { return std::log2(x); });
}

/// sin(2 pi x), with whole revolutions taken off and the rest folded into a quarter, which is exact.
double sine(double x) {
  if (std::isinf(x))
    return NAN;
  double r = x - std::nearbyint(x);
  if (std::fabs(r) > 0.25)
    r = std::copysign(0.5, r) - r;
  return std::sin(2 * M_PI * r);
}
double cosine(double x) {
  if (std::isinf(x))
    return NAN;
  const double r = std::fabs(x - std::nearbyint(x)); // 0 .. 1/2, and cos(2 pi r) = sin(2 pi (1/4 - r))
  return std::sin(2 * M_PI * (0.25 - r));
}

TEST(Vop1, SineAndCosine) {
  for (const auto &as : {samples(-1.0f, 1.0f, 5000), samples(-300.0f, 300.0f, 5000)})
    for (const bool isCosine : {false, true}) {
      ExecTest t;
      for (size_t first = 0; first < as.size(); first += 64) {
        for (unsigned lane = 0; lane < 64; ++lane)
          t.v(1, lane) = as[(first + lane) % as.size()];
        ASSERT_TRUE(t.run(isCosine ? "v_cos_f32 v0, v1" : "v_sin_f32 v0, v1"));
        for (unsigned lane = 0; lane < 64; ++lane) {
          const double x = asF32(t.v(1, lane));
          expectWithin(0.51, isCosine ? "cos" : "sin", t.v(1, lane), isCosine ? cosine(x) : sine(x), t.v(0, lane));
        }
      }
    }
}

TEST(Vop1, F16Transcendentals) {
  // 0.51 ulp: the nearest f16, or its neighbour when the exact value is almost halfway.
  struct Case {
    const char *mnemonic;
    double (*exact)(double);
  };
  const Case cases[] = {{"v_exp_f16", [](double x) { return std::exp2(x); }},
                        {"v_log_f16", [](double x) { return std::log2(x); }},
                        {"v_rsq_f16", [](double x) { return 1 / std::sqrt(x); }},
                        {"v_sin_f16", sine},
                        {"v_cos_f16", cosine}};
  for (const Case &c : cases) {
    ExecTest t;
    for (unsigned first = 0; first < 0x10000; first += 64) {
      for (unsigned lane = 0; lane < 64; ++lane)
        t.v(1, lane) = first + lane;
      ASSERT_TRUE(t.run(std::string(c.mnemonic) + " v0, v1"));
      for (unsigned lane = 0; lane < 64; ++lane) {
        const double d = c.exact(asF16(first + lane));
        const uint32_t actual = t.v(0, lane);
        if (std::isnan(d) || (half(d) & 0x7fff) == 0x7c00 || d == 0) {
          EXPECT_TRUE(matches(Match::F16, half(d), actual) || (d == 0 && (actual & 0x7fff) == 0))
              << c.mnemonic << std::hex << " of " << first + lane << " is " << actual;
          continue;
        }
        int e;
        std::frexp(d, &e);
        EXPECT_LE(std::fabs(asF16(actual) - d), 0.51 * std::ldexp(1.0, std::max(e - 11, -24)))
            << c.mnemonic << std::hex << " of " << first + lane << " is " << actual;
      }
    }
  }
}

/// The examples that the manual prints.
TEST(Vop1, ManualExamples) {
  struct Example {
    const char *mnemonic;
    uint32_t a, d;
  };
  const Example examples[] = {
      {"v_exp_f32", 0xff800000, 0},
      {"v_exp_f32", 0x80000000, 0x3f800000},
      {"v_exp_f32", 0x7f800000, 0x7f800000},
      {"v_log_f32", 0xff800000, 0xffc00000},
      {"v_log_f32", 0xbf800000, 0xffc00000},
      {"v_log_f32", 0x80000000, 0xff800000},
      {"v_log_f32", 0x00000000, 0xff800000},
      {"v_log_f32", 0x3f800000, 0},
      {"v_log_f32", 0x7f800000, 0x7f800000},
      {"v_rcp_f32", 0xff800000, 0x80000000},
      {"v_rcp_f32", 0xc0000000, 0xbf000000},
      {"v_rcp_f32", 0x80000000, 0xff800000},
      {"v_rcp_f32", 0x00000000, 0x7f800000},
      {"v_rcp_f32", 0x7f800000, 0},
      {"v_rsq_f32", 0xff800000, 0xffc00000},
      {"v_rsq_f32", 0x80000000, 0xff800000},
      {"v_rsq_f32", 0x00000000, 0x7f800000},
      {"v_rsq_f32", 0x40800000, 0x3f000000},
      {"v_rsq_f32", 0x7f800000, 0},
      {"v_sqrt_f32", 0xff800000, 0xffc00000},
      {"v_sqrt_f32", 0x80000000, 0x80000000},
      {"v_sqrt_f32", 0x40800000, 0x40000000},
      {"v_sqrt_f32", 0x7f800000, 0x7f800000},
      {"v_sin_f32", 0xff800000, 0xffc00000},
      {"v_sin_f32", 0xff7fffff, 0},
      {"v_sin_f32", 0x80000000, 0x80000000},
      {"v_sin_f32", 0x3e800000, 0x3f800000},
      {"v_sin_f32", 0x7f800000, 0xffc00000},
      {"v_cos_f32", 0xff800000, 0xffc00000},
      {"v_cos_f32", 0xff7fffff, 0x3f800000},
      {"v_cos_f32", 0x80000000, 0x3f800000},
      {"v_cos_f32", 0x3e800000, 0},
      {"v_cos_f32", 0x7f800000, 0xffc00000},
      {"v_rcp_f16", 0xfc00, 0x8000},
      {"v_rcp_f16", 0xc000, 0xb800},
      {"v_rcp_f16", 0x8000, 0xfc00},
      {"v_rcp_f16", 0x0000, 0x7c00},
      {"v_sqrt_f16", 0xfc00, 0xfe00},
      {"v_sqrt_f16", 0x8000, 0x8000},
      {"v_sqrt_f16", 0x4400, 0x4000},
      {"v_rsq_f16", 0xfc00, 0xfe00},
      {"v_rsq_f16", 0x8000, 0xfc00},
      {"v_rsq_f16", 0x4400, 0x3800},
      {"v_rsq_f16", 0x7c00, 0},
      {"v_log_f16", 0xbc00, 0xfe00},
      {"v_log_f16", 0x8000, 0xfc00},
      {"v_log_f16", 0x3c00, 0},
      {"v_exp_f16", 0xfc00, 0},
      {"v_exp_f16", 0x8000, 0x3c00},
      {"v_exp_f16", 0x7c00, 0x7c00},
      {"v_sin_f16", 0xfbff, 0},
      {"v_sin_f16", 0x8000, 0x8000},
      {"v_sin_f16", 0x3400, 0x3c00},
      {"v_sin_f16", 0x7c00, 0xfe00},
      {"v_cos_f16", 0x3400, 0},
      {"v_cos_f16", 0x7bff, 0x3c00},
      {"v_ffbh_u32", 0x100000ff, 3},
      {"v_ffbl_b32", 0xff000008, 3},
      {"v_ffbh_i32", 0x40000000, 1},
      {"v_ffbh_i32", 0x80000000, 1},
      {"v_ffbh_i32", 0x0fffffff, 4},
      {"v_ffbh_i32", 0xfffffffe, 31},
  };
  ExecTest t;
  for (const Example &example : examples) {
    t.setVector(1, example.a);
    ASSERT_TRUE(t.run(std::string(example.mnemonic) + " v0, v1"));
    EXPECT_EQ(t.v(0, 0), example.d) << example.mnemonic << std::hex << " of " << example.a;
    EXPECT_EQ(t.v(0, 63), example.d);
  }
}

TEST(Vop1, SignallingNansArePreservedByMoves) {
  ExecTest t;
  t.setVector(1, 0x7f800001);
  ASSERT_TRUE(t.run("v_mov_b32 v0, v1"));
  EXPECT_EQ(t.v(0, 17), 0x7f800001u);
}

TEST(Vop1, Readfirstlane) {
  ExecTest t;
  for (unsigned lane = 0; lane < 64; ++lane)
    t.v(1, lane) = lane + 100;
  t.exec(0xf0);
  ASSERT_TRUE(t.run("v_readfirstlane_b32 s5, v1\nv_readfirstlane_b32 m0, v1\nv_readfirstlane_b32 vcc_hi, v1"));
  EXPECT_EQ(t.s(5), 104u);
  EXPECT_EQ(t.m0(), 104u);
  EXPECT_EQ(t.vcc(), 104ull << 32);
  t.exec(0);
  ASSERT_TRUE(t.run("v_readfirstlane_b32 s5, v1"));
  EXPECT_EQ(t.s(5), 100u);
}

TEST(Vop1, SwapAndAccumulators) {
  ExecTest t;
  t.setVector(1, 1);
  t.setVector(2, 2);
  t.exec(5);
  ASSERT_TRUE(t.run("v_swap_b32 v1, v2"));
  EXPECT_EQ(t.v(1, 0), 2u);
  EXPECT_EQ(t.v(2, 0), 1u);
  EXPECT_EQ(t.v(1, 1), 1u);
  EXPECT_EQ(t.v(2, 1), 2u);
  t.acc(3, 0) = 77;
  t.acc(3, 1) = 78;
  ASSERT_TRUE(t.run("v_accvgpr_mov_b32 a4, a3\nv_nop\nv_clrexcp"));
  EXPECT_EQ(t.acc(4, 0), 77u);
  EXPECT_EQ(t.acc(4, 1), kPoison);
  EXPECT_EQ(t.v(4, 0), kPoison);
}

TEST(Vop1, MoveFromEverySource) {
  ExecTest t;
  t.s(9) = 42;
  t.vcc(0);
  t.scc(true);
  t.exec(0x8000000000000001);
  ASSERT_TRUE(t.run("v_mov_b32 v0, s9\nv_mov_b32 v1, 64\nv_mov_b32 v2, 0xcafe1234\nv_mov_b32 v3, src_vccz\n"
                    "v_mov_b32 v4, src_scc\nv_mov_b32 v5, exec_hi\nv_mov_b32 v6, 1.0\nv_mov_b32 v7, src_shared_base"));
  const uint32_t expected[] = {42, 64, 0xcafe1234, 1, 1, 0x80000000, f32(1.0f), uint32_t(t.sharedAperture())};
  for (unsigned reg = 0; reg < 8; ++reg) {
    EXPECT_EQ(t.v(reg, 0), expected[reg]) << reg;
    EXPECT_EQ(t.v(reg, 63), expected[reg]) << reg;
    EXPECT_EQ(t.v(reg, 1), kPoison) << reg;
  }
}

TEST(Vop1, Move64) {
  ExecTest t("gfx942");
  for (unsigned lane = 0; lane < kMaxLanes; ++lane)
    t.setV64(2, lane, 0x123456789abcdef0 * (lane + 1));
  t.setS64(4, 0xfedcba9876543210);
  t.exec(0xffffffff0000ffff);
  ASSERT_TRUE(t.run("v_mov_b64 v[6:7], v[2:3]\n"
                    "v_mov_b64 v[8:9], s[4:5]\n"
                    "v_mov_b64 v[10:11], 1.0\n"
                    "v_mov_b64 v[12:13], -3\n"
                    "v_mov_b64 v[14:15], 0x12345678\n"
                    "v_mov_b64 v[2:3], v[2:3] row_newbcast:5"));
  for (unsigned lane = 0; lane < kMaxLanes; ++lane) {
    const bool active = t.exec() >> lane & 1;
    const uint64_t poison = kPoison | uint64_t{kPoison} << 32;
    EXPECT_EQ(t.v64(6, lane), active ? 0x123456789abcdef0 * (lane + 1) : poison);
    EXPECT_EQ(t.v64(8, lane), active ? 0xfedcba9876543210 : poison);
    EXPECT_EQ(t.v64(10, lane), active ? f64(1.0) : poison);
    EXPECT_EQ(t.v64(12, lane), active ? ~2ull : poison);
    EXPECT_EQ(t.v64(14, lane), active ? 0x12345678 : poison);
    EXPECT_EQ(t.v64(2, lane), 0x123456789abcdef0 * ((active ? lane / 16 * 16 + 5 : lane) + 1));
  }
}

TEST(Vop1, MoveWithDppAndSdwa) {
  ExecTest t;
  for (unsigned lane = 0; lane < 64; ++lane)
    t.v(1, lane) = lane;
  ASSERT_TRUE(t.run("v_mov_b32_dpp v0, v1 row_shr:1 row_mask:0xf bank_mask:0xf"));
  EXPECT_EQ(t.v(0, 16), kPoison);
  EXPECT_EQ(t.v(0, 17), 16u);
  t.setVector(1, 0x1234fe80);
  ASSERT_TRUE(t.run("v_cvt_f32_i32_sdwa v0, sext(v1) dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1\n"
                    "v_cvt_f16_f32_sdwa v2, v0 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:DWORD"));
  EXPECT_EQ(t.v(0, 0), f32(-2.0f));
  EXPECT_EQ(t.v(2, 0), f16(-2.0f) << 16 | (kPoison & 0xffff));
}

// The manual's table, a hexadecimal digit per select.
TEST(Vop1, ScreenPartition) {
  constexpr std::string_view kTable = "137f5fff7ffffffff26efafffbffffffdf4cff5fffdfffff9bf8fffafffeffff"
                                      "ffff4cdf6fffeffffffff89bf99ffdffffff7f13ff9fffbfffff6ef26ff6fff7"
                                      "bfffffff23bfaffff7fffffff19df5ffffefffffef8cffaffffdffff67f4fff5"
                                      "9fffdfffffff8ceff66ffefffffff467ff6fff7fffffbf239ff9fffbffff9df1";
  ExecTest t;
  for (unsigned first = 0; first < 256; first += 64) {
    for (unsigned lane = 0; lane < 64; ++lane)
      t.v(1, lane) = (first + lane) | 0xabcdef00;
    ASSERT_TRUE(t.run("v_screen_partition_4se_b32 v0, v1"));
    for (unsigned lane = 0; lane < 64; ++lane)
      EXPECT_EQ(t.v(0, lane), std::stoul(std::string(kTable.substr(first + lane, 1)), nullptr, 16)) << first + lane;
  }
}

} // namespace
} // namespace luthier::vgpu::test
