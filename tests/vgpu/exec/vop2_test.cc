// VOP2: every instruction against the manual's definition (section 12.7), and what SDWA, DPP and modifiers add.

#include "valu_cases.h"

#include <algorithm>
#include <cfenv>

namespace luthier::vgpu::test {
namespace {

const Values kF32 = values(kEdgesF32, 20, 0xffffffff);
const Values kF16 = values(kEdgesF16, 20, 0xffff);
const Values kF64 = values(kEdgesF64, 10, ~0ull);
const Values kU32 = values(kEdgesU32, 20, 0xffffffff);
constexpr Shape k64{Width::W64, Width::W64, Width::W64};

using F32 = float (*)(float, float);
void arithmeticF32(const char *mnemonic, F32 f) {
  binary(mnemonic, {}, kF32, kF32, Match::F32, [=](uint64_t a, uint64_t b, uint64_t) {
    return f32(f(asF32(static_cast<uint32_t>(a)), asF32(static_cast<uint32_t>(b))));
  });
}
/// In double, where one f16 operation is exact or its rounding to f16 is the only one that counts.
void arithmeticF16(const char *mnemonic, double (*f)(double, double)) {
  binary(mnemonic, {}, kF16, kF16, Match::F16, [=](uint64_t a, uint64_t b, uint64_t) {
    const double d = f(asF16(static_cast<uint32_t>(a)), asF16(static_cast<uint32_t>(b)));
    return std::bit_cast<uint16_t>(static_cast<_Float16>(d));
  });
}
void integer(const char *mnemonic, uint32_t (*f)(uint32_t, uint32_t)) {
  binary(mnemonic, {}, kU32, kU32, Match::Bits,
         [=](uint64_t a, uint64_t b, uint64_t) { return f(static_cast<uint32_t>(a), static_cast<uint32_t>(b)); });
}

TEST(Vop2, F32Arithmetic) {
  arithmeticF32("v_add_f32", [](float a, float b) { return a + b; });
  arithmeticF32("v_sub_f32", [](float a, float b) { return a - b; });
  arithmeticF32("v_subrev_f32", [](float a, float b) { return b - a; });
  arithmeticF32("v_mul_f32", [](float a, float b) { return a * b; });
}

TEST(Vop2, F16Arithmetic) {
  arithmeticF16("v_add_f16", [](double a, double b) { return a + b; });
  arithmeticF16("v_sub_f16", [](double a, double b) { return a - b; });
  arithmeticF16("v_subrev_f16", [](double a, double b) { return b - a; });
  arithmeticF16("v_mul_f16", [](double a, double b) { return a * b; });
}

TEST(Vop2, FusedMultiplyAdd) {
  const Values few(kF32.begin(), kF32.begin() + 34);
  binary("v_fmac_f32", {}, few, few, Match::F32,
         [](uint64_t a, uint64_t b, uint64_t c) {
           return f32(std::fma(asF32(uint32_t(a)), asF32(uint32_t(b)), asF32(uint32_t(c))));
         },
         {f32(1.0f), f32(-0.0f), 0x00000001, f32(-1.0000002f), 0x7f800000});
  binary("v_fmac_f64", k64, kF64, kF64, Match::F64,
         [](uint64_t a, uint64_t b, uint64_t c) { return f64(std::fma(asF64(a), asF64(b), asF64(c))); },
         {f64(1.0), f64(-0.0), 1, f64(-1.0000000000000002)});
}

uint32_t flush(uint32_t x) { return x & 0x7f800000 ? x : x & 0x80000000; }

TEST(Vop2, MacRoundsTheProductAndFlushesDenormals) {
  binary("v_mac_f32", {}, kF32, kF32, Match::F32,
         [](uint64_t a, uint64_t b, uint64_t c) {
           const float product = asF32(flush(uint32_t(a))) * asF32(flush(uint32_t(b)));
           return flush(f32(asF32(flush(f32(product))) + asF32(flush(uint32_t(c)))));
         },
         {f32(1.0f), 0x00000001, f32(-1.0000002f)});
}

TEST(Vop2, LiteralMultiplyAdd) {
  ExecTest t;
  t.setVector(1, f32(3.0f));
  t.setVector(2, f32(10.0f));
  ASSERT_TRUE(t.run("v_madmk_f32 v0, v1, 0x42c80000, v2"));
  EXPECT_EQ(t.v(0, 5), f32(310.0f)); // 3 * 100 + 10
  ASSERT_TRUE(t.run("v_madak_f32 v0, v1, v2, 0x42c80000"));
  EXPECT_EQ(t.v(0, 5), f32(130.0f)); // 3 * 10 + 100
  t.setVector(1, f16(3.0f) | 0xabcd0000);
  t.setVector(2, f16(10.0f));
  ASSERT_TRUE(t.run("v_madmk_f16 v0, v1, 0x5640, v2"));
  EXPECT_EQ(t.v(0, 5), f16(310.0f));
  ASSERT_TRUE(t.run("v_madak_f16 v0, v1, v2, 0x5640"));
  EXPECT_EQ(t.v(0, 5), f16(130.0f));
  t.setVector(0, f16(1.0f));
  ASSERT_TRUE(t.run("v_mac_f16 v0, v1, v2"));
  EXPECT_EQ(t.v(0, 5), f16(31.0f));
}

/// The manual's text, case by case. Bits are those of f32 or f16.
struct MinMax {
  uint32_t quietBit, infinity, sign;
  bool nan(uint32_t x) const { return (x & ~sign) > infinity; }
  bool signalling(uint32_t x) const { return nan(x) && !(x & quietBit); }
  float number(uint32_t x) const { return quietBit == 0x200 ? asF16(x) : asF32(x); }
  uint32_t operator()(bool max, bool ieee, uint32_t a, uint32_t b) const {
    if (ieee && signalling(a))
      return a | quietBit;
    if (ieee && signalling(b))
      return b | quietBit;
    if (nan(a))
      return b;
    if (nan(b))
      return a;
    if (a == 0 && b == sign)
      return max ? a : b;
    if (a == sign && b == 0)
      return max ? b : a;
    if (max)
      return number(a) >= number(b) ? a : b;
    return number(a) < number(b) ? a : b;
  }
};
constexpr MinMax kMinMaxF32{0x400000, 0x7f800000, 0x80000000};
constexpr MinMax kMinMaxF16{0x200, 0x7c00, 0x8000};

TEST(Vop2, MinMaxF32) {
  for (const uint32_t mode : {kDefaultMode, kDefaultMode & ~uint32_t(mode::kIeee)})
    for (const bool max : {false, true})
      binary(
          max ? "v_max_f32" : "v_min_f32", {}, kF32, kF32, Match::Bits,
          [=](uint64_t a, uint64_t b, uint64_t) {
            return kMinMaxF32(max, mode & mode::kIeee, uint32_t(a), uint32_t(b));
          },
          {0}, mode);
}

TEST(Vop2, MinMaxF16) {
  for (const uint32_t mode : {kDefaultMode, kDefaultMode & ~uint32_t(mode::kIeee)})
    for (const bool max : {false, true})
      binary(
          max ? "v_max_f16" : "v_min_f16", {}, kF16, kF16, Match::Bits,
          [=](uint64_t a, uint64_t b, uint64_t) {
            return kMinMaxF16(max, mode & mode::kIeee, uint32_t(a), uint32_t(b));
          },
          {0}, mode);
}

TEST(Vop2, MinMaxFlushWhenTheModeDoes) {
  ExecTest t;
  t.mode(kDefaultMode & ~uint32_t(mode::kDenormF32));
  t.setVector(1, {0x00000001, 0x807fffff, 0x00800000, 0x80000001, 0x00000003});
  t.setVector(2, {0x00000001, 0x807fffff, 0x00800000, 0x00000001, 0x00000002});
  ASSERT_TRUE(t.run("v_max_f32 v0, v1, v2"));
  const uint32_t expected[] = {0, 0x80000000, 0x00800000, 0, 0};
  for (unsigned lane = 0; lane < 5; ++lane)
    EXPECT_EQ(t.v(0, lane), expected[lane]) << lane;
}

TEST(Vop2, LdexpF16) {
  const Values exponents = {0, 1, 5, 15, 16, 30, 40, 41, 100, 0x7fff, 0xffff, 0xfff6, 0xfff1, 0xffe8, 0xffd8, 0x8000};
  binary("v_ldexp_f16", {}, kF16, exponents, Match::F16, [](uint64_t a, uint64_t b, uint64_t) {
    const double d = std::ldexp(static_cast<double>(asF16(uint32_t(a))), static_cast<int16_t>(b));
    return std::bit_cast<uint16_t>(static_cast<_Float16>(d));
  });
}

TEST(Vop2, Bitwise) {
  integer("v_and_b32", [](uint32_t a, uint32_t b) { return a & b; });
  integer("v_or_b32", [](uint32_t a, uint32_t b) { return a | b; });
  integer("v_xor_b32", [](uint32_t a, uint32_t b) { return a ^ b; });
  integer("v_xnor_b32", [](uint32_t a, uint32_t b) { return ~(a ^ b); });
}

TEST(Vop2, Shifts) {
  integer("v_lshrrev_b32", [](uint32_t a, uint32_t b) { return b >> (a % 32); });
  integer("v_lshlrev_b32", [](uint32_t a, uint32_t b) { return b << (a % 32); });
  integer("v_ashrrev_i32", [](uint32_t a, uint32_t b) { return uint32_t(int32_t(b) >> (a % 32)); });
  integer("v_lshrrev_b16", [](uint32_t a, uint32_t b) { return (b & 0xffff) >> (a % 16); });
  integer("v_lshlrev_b16", [](uint32_t a, uint32_t b) { return b << (a % 16) & 0xffff; });
  integer("v_ashrrev_i16", [](uint32_t a, uint32_t b) { return uint32_t(int16_t(b) >> (a % 16)) & 0xffff; });
}

TEST(Vop2, IntegerArithmetic) {
  integer("v_add_u32", [](uint32_t a, uint32_t b) { return a + b; });
  integer("v_sub_u32", [](uint32_t a, uint32_t b) { return a - b; });
  integer("v_subrev_u32", [](uint32_t a, uint32_t b) { return b - a; });
  integer("v_add_u16", [](uint32_t a, uint32_t b) { return (a + b) & 0xffff; });
  integer("v_sub_u16", [](uint32_t a, uint32_t b) { return (a - b) & 0xffff; });
  integer("v_subrev_u16", [](uint32_t a, uint32_t b) { return (b - a) & 0xffff; });
  integer("v_mul_lo_u16", [](uint32_t a, uint32_t b) { return (a * b) & 0xffff; });
  integer("v_min_i32", [](uint32_t a, uint32_t b) { return uint32_t(std::min(int32_t(a), int32_t(b))); });
  integer("v_max_i32", [](uint32_t a, uint32_t b) { return uint32_t(std::max(int32_t(a), int32_t(b))); });
  integer("v_min_u32", [](uint32_t a, uint32_t b) { return std::min(a, b); });
  integer("v_max_u32", [](uint32_t a, uint32_t b) { return std::max(a, b); });
  integer("v_min_i16", [](uint32_t a, uint32_t b) { return uint32_t(uint16_t(std::min(int16_t(a), int16_t(b)))); });
  integer("v_max_i16", [](uint32_t a, uint32_t b) { return uint32_t(uint16_t(std::max(int16_t(a), int16_t(b)))); });
  integer("v_min_u16", [](uint32_t a, uint32_t b) { return std::min(a & 0xffff, b & 0xffff); });
  integer("v_max_u16", [](uint32_t a, uint32_t b) { return std::max(a & 0xffff, b & 0xffff); });
}

int64_t signed24(uint32_t x) { return (int64_t(x & 0xffffff) ^ 0x800000) - 0x800000; }

TEST(Vop2, Multiply24) {
  integer("v_mul_u32_u24", [](uint32_t a, uint32_t b) { return uint32_t(uint64_t(a & 0xffffff) * (b & 0xffffff)); });
  integer("v_mul_hi_u32_u24",
          [](uint32_t a, uint32_t b) { return uint32_t(uint64_t(a & 0xffffff) * (b & 0xffffff) >> 32); });
  integer("v_mul_i32_i24", [](uint32_t a, uint32_t b) { return uint32_t(signed24(a) * signed24(b)); });
  integer("v_mul_hi_i32_i24", [](uint32_t a, uint32_t b) { return uint32_t(signed24(a) * signed24(b) >> 32); });
}

TEST(Vop2, Clamp) {
  ExecTest t;
  t.setVector(1, {0xfffffff0, 5, 0x7fffffff, 0x00ffffff});
  t.setVector(2, {0x20, 7, 0x7fffffff, 0x00ffffff});
  ASSERT_TRUE(
      t.run("v_add_u32_e64 v0, v1, v2 clamp\nv_sub_u32_e64 v3, v1, v2 clamp\nv_subrev_u32_e64 v4, v1, v2 clamp\n"
            "v_mul_u32_u24_e64 v5, v1, v2 clamp\nv_add_u16_e64 v6, v1, v2 clamp\n"
            "v_add_co_u32_e64 v7, s[4:5], v1, v2 clamp\nv_mul_i32_i24_e64 v8, v1, v2 clamp"));
  EXPECT_EQ(t.v(0, 0), 0xffffffffu);
  EXPECT_EQ(t.v(0, 1), 12u);
  EXPECT_EQ(t.v(3, 0), 0xffffffd0u);
  EXPECT_EQ(t.v(3, 1), 0u);
  EXPECT_EQ(t.v(4, 0), 0u);
  EXPECT_EQ(t.v(4, 1), 2u);
  EXPECT_EQ(t.v(5, 3), 0xffffffffu);
  EXPECT_EQ(t.v(5, 1), 35u);
  EXPECT_EQ(t.v(6, 0), 0xffffu);
  EXPECT_EQ(t.v(6, 1), 12u);
  EXPECT_EQ(t.v(7, 0), 0xffffffffu);
  EXPECT_EQ(t.s64(4) & 15, 1u);
  EXPECT_EQ(t.v(8, 3), 1u); // -1 * -1
}

TEST(Vop2, CarryOut) {
  ExecTest t;
  t.setVector(0, 0);
  for (unsigned lane = 0; lane < 64; ++lane) {
    t.v(1, lane) = lane % 2 ? 0xffffffff : 5;
    t.v(2, lane) = lane;
  }
  t.exec(0xffffffff0000ffff);
  ASSERT_TRUE(t.run("v_add_co_u32 v3, vcc, v1, v2"));
  for (unsigned lane = 0; lane < 64; ++lane)
    if (t.exec() >> lane & 1) {
      EXPECT_EQ(t.v(3, lane), t.v(1, lane) + lane);
      EXPECT_EQ(t.vcc() >> lane & 1, uint64_t(t.v(1, lane)) + lane > 0xffffffff) << lane;
    } else {
      EXPECT_EQ(t.v(3, lane), kPoison);
      EXPECT_EQ(t.vcc() >> lane & 1, 0u);
    }
  ASSERT_TRUE(t.run("v_sub_co_u32_e64 v4, s[10:11], v1, v2\nv_subrev_co_u32_e64 v5, s[12:13], v1, v2"));
  for (unsigned lane = 0; lane < 16; ++lane) {
    EXPECT_EQ(t.v(4, lane), t.v(1, lane) - lane);
    EXPECT_EQ(t.v(5, lane), lane - t.v(1, lane));
    EXPECT_EQ(t.s64(10) >> lane & 1, lane > t.v(1, lane));
    EXPECT_EQ(t.s64(12) >> lane & 1, lane < t.v(1, lane));
  }
}

TEST(Vop2, CarryInAndOut) {
  const uint32_t edges[] = {0, 1, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};
  ExecTest t;
  unsigned lane = 0;
  uint64_t carry = 0;
  for (uint32_t a : edges)
    for (uint32_t b : {0u, 1u, 0x80000000u, 0xfffffffeu, 0xffffffffu})
      for (unsigned c : {0, 1}) {
        t.v(1, lane) = a;
        t.v(2, lane) = b;
        carry |= uint64_t(c) << lane++;
      }
  ASSERT_LE(lane, 64u);
  for (const bool longForm : {false, true}) {
    t.vcc(carry);
    t.setS64(20, carry);
    auto run = [&](const std::string &mnemonic) {
      t.vcc(carry);
      if (longForm)
        ASSERT_TRUE(t.run(mnemonic + "_e64 v0, s[30:31], v1, v2, s[20:21]"));
      else
        ASSERT_TRUE(t.run(mnemonic + " v0, vcc, v1, v2, vcc"));
    };
    auto out = [&] { return longForm ? t.s64(30) : t.vcc(); };
    run("v_addc_co_u32");
    for (unsigned n = 0; n < lane; ++n) {
      const uint64_t d = uint64_t(t.v(1, n)) + t.v(2, n) + (carry >> n & 1);
      EXPECT_EQ(t.v(0, n), uint32_t(d));
      EXPECT_EQ(out() >> n & 1, d >> 32);
    }
    run("v_subb_co_u32");
    for (unsigned n = 0; n < lane; ++n) {
      const int64_t d = int64_t(t.v(1, n)) - t.v(2, n) - int64_t(carry >> n & 1);
      EXPECT_EQ(t.v(0, n), uint32_t(d));
      EXPECT_EQ(out() >> n & 1, uint64_t(d < 0));
    }
    run("v_subbrev_co_u32");
    for (unsigned n = 0; n < lane; ++n) {
      const int64_t d = int64_t(t.v(2, n)) - t.v(1, n) - int64_t(carry >> n & 1);
      EXPECT_EQ(t.v(0, n), uint32_t(d));
      EXPECT_EQ(out() >> n & 1, uint64_t(d < 0));
    }
  }
}

TEST(Vop2, CarryInAndOutOfTheSameRegisterWithPartialExec) {
  ExecTest t;
  t.setVector(1, 0xffffffff);
  t.setVector(2, 0);
  t.vcc(0xf);
  t.exec(0x3);
  ASSERT_TRUE(t.run("v_addc_co_u32 v0, vcc, v1, v2, vcc"));
  EXPECT_EQ(t.v(0, 1), 0u);
  EXPECT_EQ(t.v(0, 2), kPoison);
  EXPECT_EQ(t.vcc(), 3u); // bits of disabled lanes become 0
}

TEST(Vop2, Cndmask) {
  ExecTest t;
  t.setVector(1, f32(1.0f));
  t.setVector(2, 0x7f800001);
  t.vcc(0xaaaaaaaaaaaaaaaa);
  ASSERT_TRUE(t.run("v_cndmask_b32 v0, v1, v2, vcc"));
  EXPECT_EQ(t.v(0, 0), f32(1.0f));
  EXPECT_EQ(t.v(0, 63), 0x7f800001u); // not quieted
  t.setS64(4, 0x1);
  t.exec(~2ull);
  t.setVector(0, 7);
  ASSERT_TRUE(t.run("v_cndmask_b32_e64 v0, -v1, |v2|, s[4:5]"));
  EXPECT_EQ(t.v(0, 0), 0x7f800001u);
  EXPECT_EQ(t.v(0, 1), 7u);
  EXPECT_EQ(t.v(0, 2), f32(-1.0f));
}

TEST(Vop2, Dots) {
  ExecTest t;
  t.setVector(1, {0x8000ffff, 0x7f80ff01, 0x7fff8000});
  t.setVector(2, {0x80000002, 0x7f80ff01, 0x7fff8000});
  auto reset = [&] { t.setVector(0, {1, 0xffffffff, 0x7fffffff}); };
  auto dot = [&](unsigned lane, unsigned width, uint32_t c) {
    int64_t sum = int32_t(c);
    for (unsigned shift = 0; shift < 32; shift += width) {
      const int64_t half = 1ll << (width - 1), mask = (1ll << width) - 1;
      sum += (((t.v(1, lane) >> shift & mask) ^ half) - half) * (((t.v(2, lane) >> shift & mask) ^ half) - half);
    }
    return sum;
  };
  const uint32_t c[] = {1, 0xffffffff, 0x7fffffff};
  for (const auto &[mnemonic, width] :
       {std::pair{"v_dot2c_i32_i16", 16}, {"v_dot4c_i32_i8", 8}, {"v_dot8c_i32_i4", 4}}) {
    reset();
    ASSERT_TRUE(t.run(std::string(mnemonic) + "_e32 v0, v1, v2"));
    for (unsigned lane = 0; lane < 3; ++lane)
      EXPECT_EQ(t.v(0, lane), uint32_t(dot(lane, unsigned(width), c[lane]))) << mnemonic << lane;
    reset();
    ASSERT_TRUE(t.run(std::string(mnemonic) + "_e64 v0, v1, v2 clamp"));
    for (unsigned lane = 0; lane < 3; ++lane)
      EXPECT_EQ(t.v(0, lane), uint32_t(std::clamp<int64_t>(dot(lane, unsigned(width), c[lane]), INT32_MIN, INT32_MAX)))
          << mnemonic << lane;
  }
  t.setVector(1, {pack16(f16(2.0f), f16(3.0f)), pack16(0x0001, f16(1.0f))});
  t.setVector(2, {pack16(f16(0.5f), f16(-4.0f)), pack16(f16(1.0f), f16(1.0f))});
  t.setVector(0, {f32(100.0f), 0x00000001});
  ASSERT_TRUE(t.run("v_dot2c_f32_f16 v0, v1, v2"));
  EXPECT_EQ(t.v(0, 0), f32(89.0f));
  EXPECT_EQ(t.v(0, 1), f32(1.0f)); // denormals flushed
}

TEST(Vop2, PkFmacF16RoundsOnce) {
  ExecTest t;
  std::mt19937 engine(7);
  for (int round = 0; round < 50; ++round) {
    uint32_t before[64];
    for (unsigned lane = 0; lane < 64; ++lane) {
      t.v(1, lane) = engine();
      t.v(2, lane) = engine();
      before[lane] = t.v(0, lane) = engine();
    }
    ASSERT_TRUE(t.run("v_pk_fmac_f16 v0, v1, v2"));
    for (unsigned lane = 0; lane < 64; ++lane)
      for (unsigned shift : {0, 16}) {
        const long double d = static_cast<long double>(asF16(t.v(1, lane) >> shift)) * asF16(t.v(2, lane) >> shift) +
                              asF16(before[lane] >> shift);
        // The exact sum, rounded once: the nearest of the f16 around it.
        const uint32_t actual = t.v(0, lane) >> shift & 0xffff;
        if (std::isnan(d)) {
          EXPECT_TRUE(isNanF16(actual));
          continue;
        }
        if (std::fabs(d) >= 65520.0L) {
          EXPECT_EQ(actual & 0x7fff, 0x7c00u);
          continue;
        }
        ASSERT_LT(actual & 0x7fff, 0x7c00u);
        const long double error = std::fabs(d - asF16(actual));
        for (int step : {-1, 1}) {
          const uint32_t m = actual & 0x7fff;
          if (m == 0 && step < 0)
            continue;
          const uint32_t neighbour = (actual & 0x8000) | (m + uint32_t(step));
          if ((neighbour & 0x7fff) < 0x7c00)
            EXPECT_LE(error, std::fabs(d - asF16(neighbour))) << std::hex << actual;
        }
      }
  }
}

TEST(Vop2, SdwaSelectsAndPreserves) {
  ExecTest t;
  t.setVector(1, 0x8877f0f1);
  t.setVector(2, 0x00030002);
  t.setVector(0, 0xaabbccdd);
  ASSERT_TRUE(
      t.run("v_add_u32_sdwa v0, v1, v2 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_3 src1_sel:WORD_1"));
  EXPECT_EQ(t.v(0, 0), 0xaabb8bddu);
  ASSERT_TRUE(
      t.run("v_add_u32_sdwa v0, sext(v1), v2 dst_sel:WORD_0 dst_unused:UNUSED_SEXT src0_sel:BYTE_1 src1_sel:WORD_0"));
  EXPECT_EQ(t.v(0, 0), 0xfffffff2u);
  ASSERT_TRUE(t.run("v_add_u32_sdwa v0, v1, v2 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:WORD_0 src1_sel:WORD_0"));
  EXPECT_EQ(t.v(0, 0), 0xf0f30000u);
  t.s(3) = 0x01020304;
  t.exec(2);
  ASSERT_TRUE(t.run("v_or_b32_sdwa v0, s3, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_2 src1_sel:DWORD"));
  EXPECT_EQ(t.v(0, 0), 0xf0f30000u);
  EXPECT_EQ(t.v(0, 1), 0x00030002u);
}

TEST(Vop2, DppPatterns) {
  ExecTest t;
  for (unsigned lane = 0; lane < 64; ++lane)
    t.v(1, lane) = 100 + lane;
  t.setVector(2, 0);
  struct Case {
    const char *control;
    int (*source)(int);
  };
  const Case cases[] = {
      {"quad_perm:[3,1,0,2]", [](int n) { return n / 4 * 4 + (int[]){3, 1, 0, 2}[n % 4]; }},
      {"row_shl:3", [](int n) { return n % 16 + 3 < 16 ? n + 3 : -1; }},
      {"row_shr:5", [](int n) { return n % 16 >= 5 ? n - 5 : -1; }},
      {"row_ror:4", [](int n) { return n % 16 >= 4 ? n - 4 : n + 12; }},
      {"wave_shl:1", [](int n) { return n < 63 ? n + 1 : -1; }},
      {"wave_rol:1", [](int n) { return n < 63 ? n + 1 : 0; }},
      {"wave_shr:1", [](int n) { return n - 1; }},
      {"wave_ror:1", [](int n) { return n ? n - 1 : 63; }},
      {"row_mirror", [](int n) { return n / 16 * 16 + 15 - n % 16; }},
      {"row_half_mirror", [](int n) { return n / 8 * 8 + 7 - n % 8; }},
      {"row_bcast:15", [](int n) { return n > 15 ? n / 16 * 16 - 1 : -1; }},
      {"row_bcast:31", [](int n) { return n > 31 ? 31 : -1; }},
      {"row_newbcast:6", [](int n) { return n / 16 * 16 + 6; }},
  };
  for (const Case &c : cases)
    for (const bool bound : {false, true})
      for (const uint64_t exec : {~0ull, 0xfffffffffff7ffefull}) {
        t.exec(exec);
        t.setVector(0, 7);
        ASSERT_TRUE(t.run(std::string("v_add_u32_dpp v0, v1, v2 ") + c.control + " row_mask:0xb bank_mask:0xd" +
                          (bound ? " bound_ctrl:0" : "")));
        for (int lane = 0; lane < 64; ++lane) {
          const int source = c.source(lane);
          const bool valid = source >= 0 && exec >> source & 1;
          const bool written = (exec >> lane & 1) && (valid || bound) && lane / 16 != 2 && lane / 4 % 4 != 1;
          const uint32_t expected = !written ? 7 : valid ? 100 + uint32_t(source) : 0;
          EXPECT_EQ(t.v(0, unsigned(lane)), expected) << c.control << " lane " << lane << " bound " << bound;
        }
      }
}

TEST(Vop2, DppOf64Bits) {
  ExecTest t;
  for (unsigned lane = 0; lane < 64; ++lane)
    t.setV64(2, lane, f64(lane + 0.5));
  t.setVector64(4, f64(2.0));
  t.setVector64(0, f64(1.0));
  ASSERT_TRUE(t.run("v_fmac_f64_dpp v[0:1], -v[2:3], v[4:5] row_newbcast:3"));
  EXPECT_EQ(t.v64(0, 20), f64(1.0 - 2 * 19.5));
}

TEST(Vop2, OutputModifiers) {
  ExecTest t;
  t.setVector(1, {f32(3.0f), f32(-3.0f), f32(0.25f), f32(-0.0f), 0x7fc00000});
  t.setVector(2, {0, 0, 0, 0x80000000, 0});
  // Ignored with IEEE mode or output denormals on.
  ASSERT_TRUE(t.run("v_add_f32_e64 v0, v1, v2 mul:2"));
  EXPECT_EQ(t.v(0, 0), f32(3.0f));
  t.mode(kDefaultMode & ~uint32_t(mode::kIeee | mode::kDenormF32));
  ASSERT_TRUE(t.run("v_add_f32_e64 v0, v1, v2 mul:2\nv_add_f32_e64 v3, v1, v2 mul:4\nv_add_f32_e64 v4, v1, v2 div:2"));
  EXPECT_EQ(t.v(0, 0), f32(6.0f));
  EXPECT_EQ(t.v(0, 3), 0u); // -0 becomes +0
  EXPECT_EQ(t.v(3, 1), f32(-12.0f));
  EXPECT_EQ(t.v(4, 2), f32(0.125f));
  ASSERT_TRUE(t.run("v_add_f32_e64 v0, v1, v2 clamp"));
  const uint32_t clamped[] = {f32(1.0f), 0, f32(0.25f), 0, 0};
  for (unsigned lane = 0; lane < 5; ++lane)
    EXPECT_EQ(t.v(0, lane), clamped[lane]) << lane;
  t.mode(t.mode() & ~uint32_t(mode::kDx10Clamp));
  ASSERT_TRUE(t.run("v_add_f32_e64 v0, v1, v2 clamp"));
  EXPECT_TRUE(isNanF32(t.v(0, 4)));
}

TEST(Vop2, InputModifiers) {
  ExecTest t;
  t.setVector(1, f32(-3.0f));
  t.setVector(2, f32(10.0f));
  ASSERT_TRUE(t.run("v_add_f32_e64 v0, |v1|, -v2\nv_mul_f32_e64 v3, -|v1|, v2"));
  EXPECT_EQ(t.v(0, 0), f32(-7.0f));
  EXPECT_EQ(t.v(3, 0), f32(-30.0f));
  t.setVector(1, f16(-3.0f) | 0x12340000);
  t.setVector(2, f16(10.0f));
  ASSERT_TRUE(t.run("v_add_f16_e64 v0, |v1|, -v2"));
  EXPECT_EQ(t.v(0, 0), f16(-7.0f));
}

TEST(Vop2, F16DenormalsFollowTheirModeField) {
  ExecTest t;
  t.setVector(1, {0x0001, 0x0400, 0x8001});
  t.setVector(2, {0x0400, 0x8401, 0x8000});
  ASSERT_TRUE(t.run("v_add_f16 v0, v1, v2"));
  EXPECT_EQ(t.v(0, 0), 0x0401u);
  EXPECT_EQ(t.v(0, 1), 0x8001u);
  EXPECT_EQ(t.v(0, 2), 0x8001u);
  t.mode(kDefaultMode & ~uint32_t(mode::kDenormF64));
  ASSERT_TRUE(t.run("v_add_f16 v0, v1, v2"));
  EXPECT_EQ(t.v(0, 0), 0x0400u);
  EXPECT_EQ(t.v(0, 1), 0x8000u);
  EXPECT_EQ(t.v(0, 2), 0x8000u);
}

TEST(Vop2, RoundingModes) {
  ExecTest t;
  t.setVector(1, {f32(1.0f), f32(-1.0f)});
  t.setVector(2, {f32(0x1p-30f), f32(-0x1p-30f)});
  t.setVector(3, f16(1.0f));
  t.setVector(4, f16(0x1p-14f));
  const uint32_t up[] = {0x3f800000, 0x3f800001, 0x3f800000, 0x3f800000};
  const uint32_t down[] = {0xbf800000, 0xbf800000, 0xbf800001, 0xbf800000};
  for (uint32_t round = 0; round < 4; ++round) {
    t.mode((kDefaultMode & ~15u) | round * 5);
    ASSERT_TRUE(t.run("v_add_f32 v0, v1, v2\nv_add_f16 v5, v3, v4"));
    EXPECT_EQ(t.v(0, 0), up[round]) << round;
    EXPECT_EQ(t.v(0, 1), down[round]) << round;
    EXPECT_EQ(t.v(5, 0), round == 1 ? 0x3c01u : 0x3c00u) << round;
  }
}

TEST(Vop2, ScalarsAndConstants) {
  ExecTest t;
  t.s(7) = 1000;
  for (unsigned lane = 0; lane < 64; ++lane)
    t.v(1, lane) = lane;
  ASSERT_TRUE(t.run("v_add_u32 v0, s7, v1\nv_add_u32 v2, -5, v1\nv_add_u32 v3, 0x12345678, v1\nv_mul_f32 v4, 0.5, v1"));
  EXPECT_EQ(t.v(0, 9), 1009u);
  EXPECT_EQ(t.v(2, 9), 4u);
  EXPECT_EQ(t.v(3, 9), 0x12345681u);
  t.setVector(1, f16(3.0f));
  ASSERT_TRUE(t.run("v_add_f16 v0, 1.0, v1"));
  EXPECT_EQ(t.v(0, 9), f16(4.0f));
}

TEST(Vop2, NothingHappensWithoutLanes) {
  ExecTest t;
  t.exec(0);
  t.vcc(~0ull);
  ASSERT_TRUE(t.run("v_add_co_u32 v0, vcc, v1, v2\nv_add_f32 v3, v1, v2\nv_fmac_f64 v[4:5], v[6:7], v[8:9]"));
  EXPECT_EQ(t.vcc(), 0u);
  for (unsigned reg : {0, 3, 4, 5})
    EXPECT_EQ(t.v(reg, 0), kPoison);
}

} // namespace
} // namespace luthier::vgpu::test
