// Packed instructions, mixed-precision multiply-adds and dot products against the manual's definitions.

#include "vector_cases.h"

#include <cmath>

namespace luthier::vgpu::test {
namespace {

const std::vector<VectorCase> &words() {
  static const u32 values[] = {0,          0x00010001, 0x7fff8000, 0x80007fff, 0xffffffff, 0xffff0001, 0x00011234,
                               0x12340010, 0x000f000f, 0x8000ffff, 0x7fff7fff, 0x80008000, 0xfffe0002};
  static const auto cases = operandCases<u32>(values);
  return cases;
}
/// Pairs of f16 edge values.
const std::vector<VectorCase> &halfPairs() {
  static const auto cases = [] {
    std::vector<VectorCase> list;
    const size_t count = std::size(kEdgesF16);
    for (size_t a = 0; a < count; ++a)
      for (size_t b = 0; b < count; ++b)
        list.push_back(
            {{pack16(kEdgesF16[a], kEdgesF16[(a + 5) % count]), pack16(kEdgesF16[b], kEdgesF16[(a + b) % count]),
              pack16(kEdgesF16[(a + 3 * b) % count], kEdgesF16[(2 * a + b) % count])}});
    std::mt19937 random(3);
    for (unsigned n = 0; n < 1024; ++n)
      list.push_back({{random(), random(), random()}});
    return list;
  }();
  return cases;
}
const std::vector<VectorCase> &floatPairs() {
  static const auto cases = [] {
    std::vector<VectorCase> list;
    const size_t count = std::size(kEdgesF32);
    auto pair = [&](size_t low, size_t high) { return kEdgesF32[low % count] | u64(kEdgesF32[high % count]) << 32; };
    for (size_t a = 0; a < count; ++a)
      for (size_t b = 0; b < count; ++b)
        list.push_back({{pair(a, a + 5), pair(b, a + b), pair(a + 3 * b, 2 * a + b)}});
    return list;
  }();
  return cases;
}

struct Selection {
  bool low[3], high[3], negLow[3], negHigh[3];
  static Selection from(u32 bits) {
    Selection s{};
    for (unsigned n = 0; n < 3; ++n) {
      s.low[n] = bits >> n & 1;
      s.high[n] = bits >> (3 + n) & 1;
      s.negLow[n] = bits >> (6 + n) & 1;
      s.negHigh[n] = bits >> (9 + n) & 1;
    }
    return s;
  }
  std::string text(unsigned sources, bool negations) const {
    auto list = [&](const bool *x) {
      std::string out;
      for (unsigned n = 0; n < sources; ++n)
        out += (n ? "," : "") + std::to_string(int(x[n]));
      return "[" + out + "]";
    };
    std::string out = " op_sel:" + list(low) + " op_sel_hi:" + list(high);
    if (negations)
      out += " neg_lo:" + list(negLow) + " neg_hi:" + list(negHigh);
    return out;
  }
};

using HalfRule = std::function<u32(u32, u32, u32)>;

/// `name` over 16-bit elements, with many selections. Integers take no negations.
void checkPacked(const std::string &name, unsigned sources, const std::vector<VectorCase> &cases, bool isFloat,
                 const HalfRule &rule, const std::string &suffix = "") {
  const std::string operands = sources == 3 ? " v10, v2, v4, v6" : " v10, v2, v4";
  constexpr u32 kDefault = 0x38;
  for (u32 bits : {kDefault, 0x00u, 0x07u, 0x3fu, 0x2au, 0x15u, 0x38u | 0x2c0u, 0x1cu | 0xb40u, 0x38u | 0xfc0u}) {
    if (!isFloat && bits > 0x3f)
      continue;
    const Selection s = Selection::from(bits);
    const std::string text = name + operands + (bits == kDefault ? "" : s.text(sources, isFloat)) + suffix;
    SCOPED_TRACE(text);
    ExecTest t;
    unsigned failures = 0;
    for (size_t first = 0; first < cases.size() && failures < 5; first += 64) {
      const size_t count = std::min<size_t>(64, cases.size() - first);
      for (size_t n = 0; n < count; ++n)
        for (unsigned k = 0; k < 3; ++k)
          t.v(2 + 2 * k, unsigned(n)) = u32(cases[first + n].s[k]);
      ASSERT_TRUE(t.run(text));
      for (size_t n = 0; n < count; ++n) {
        u32 low[3], high[3];
        for (unsigned k = 0; k < 3; ++k) {
          const u32 x = u32(cases[first + n].s[k]);
          low[k] = (s.low[k] ? x >> 16 : x & 0xffff) ^ (isFloat && s.negLow[k] ? 0x8000 : 0);
          high[k] = (s.high[k] ? x >> 16 : x & 0xffff) ^ (isFloat && s.negHigh[k] ? 0x8000 : 0);
        }
        const u32 expected[] = {rule(low[0], low[1], low[2]) & 0xffff, rule(high[0], high[1], high[2]) & 0xffff};
        for (unsigned h = 0; h < 2; ++h) {
          const u32 got = t.v(10, unsigned(n)) >> (16 * h) & 0xffff;
          const bool same = got == expected[h] || (isFloat && isNanF16(got) && isNanF16(expected[h]));
          EXPECT_TRUE(same) << fmt::format("{:#x} {:#x} {:#x} half {}: got {:#x}, expected {:#x}",
                                           cases[first + n].s[0], cases[first + n].s[1], cases[first + n].s[2], h, got,
                                           expected[h]);
          failures += !same;
        }
      }
    }
  }
}

TEST(Vop3p, Integers) {
  auto check2 = [](const std::string &name, std::function<i64(u32, u32)> rule) {
    checkPacked(name, 2, words(), false, [=](u32 a, u32 b, u32) { return u32(rule(a, b)); });
  };
  auto saturated = [](const std::string &name, bool isSigned, std::function<i64(i64, i64, i64)> rule,
                      unsigned sources) {
    const i64 low = isSigned ? -0x8000 : 0, high = isSigned ? 0x7fff : 0xffff;
    auto value = [=](u32 x) { return isSigned ? i64(i16(x)) : i64(x); };
    checkPacked(name, sources, words(), false,
                [=](u32 a, u32 b, u32 c) { return u32(rule(value(a), value(b), value(c))); });
    checkPacked(
        name, sources, words(), false,
        [=](u32 a, u32 b, u32 c) { return u32(std::clamp(rule(value(a), value(b), value(c)), low, high)); }, " clamp");
  };
  saturated("v_pk_add_i16", true, [](i64 a, i64 b, i64) { return a + b; }, 2);
  saturated("v_pk_sub_i16", true, [](i64 a, i64 b, i64) { return a - b; }, 2);
  saturated("v_pk_add_u16", false, [](i64 a, i64 b, i64) { return a + b; }, 2);
  saturated("v_pk_sub_u16", false, [](i64 a, i64 b, i64) { return a - b; }, 2);
  saturated("v_pk_mul_lo_u16", false, [](i64 a, i64 b, i64) { return a * b; }, 2);
  saturated("v_pk_mad_i16", true, [](i64 a, i64 b, i64 c) { return a * b + c; }, 3);
  saturated("v_pk_mad_u16", false, [](i64 a, i64 b, i64 c) { return a * b + c; }, 3);
  check2("v_pk_lshlrev_b16", [](u32 a, u32 b) { return i64(b << (a & 15)); });
  check2("v_pk_lshrrev_b16", [](u32 a, u32 b) { return i64(b >> (a & 15)); });
  check2("v_pk_ashrrev_i16", [](u32 a, u32 b) { return i64(std::floor(double(i16(b)) / double(1 << (a & 15)))); });
  check2("v_pk_max_i16", [](u32 a, u32 b) { return std::max<i64>(i16(a), i16(b)); });
  check2("v_pk_min_i16", [](u32 a, u32 b) { return std::min<i64>(i16(a), i16(b)); });
  check2("v_pk_max_u16", [](u32 a, u32 b) { return std::max<i64>(a, b); });
  check2("v_pk_min_u16", [](u32 a, u32 b) { return std::min<i64>(a, b); });
}

constexpr u32 kOne = 0x3c00;

TEST(Vop3p, Halves) {
  // a + b is a * 1 + b, and a * b is a * b + (-0): the one exact definition serves for all.
  checkPacked("v_pk_add_f16", 2, halfPairs(), true, [](u32 a, u32 b, u32) { return f16FusedMultiplyAdd(a, kOne, b); });
  checkPacked("v_pk_mul_f16", 2, halfPairs(), true, [](u32 a, u32 b, u32) {
    const u32 d = f16FusedMultiplyAdd(a, b, 0x8000);
    // +0 of a positive product: -0 was added to it.
    return (d & 0x7fff) == 0 ? (a ^ b) & 0x8000 : d;
  });
  checkPacked("v_pk_fma_f16", 3, halfPairs(), true, f16FusedMultiplyAdd);
  auto pick = [](u32 a, u32 b, bool maximum) -> u32 {
    auto signalling = [](u32 x) { return isNanF16(x) && !(x & 0x200); };
    if (signalling(a) || signalling(b))
      return 0x7e00;
    if (isNanF16(a))
      return b;
    if (isNanF16(b))
      return a;
    if (((a | b) & 0x7fff) == 0)
      return maximum ? a & b : a | b;
    return (asF16(a) < asF16(b)) != maximum ? a : b;
  };
  checkPacked("v_pk_min_f16", 2, halfPairs(), true, [=](u32 a, u32 b, u32) { return pick(a, b, false); });
  checkPacked("v_pk_max_f16", 2, halfPairs(), true, [=](u32 a, u32 b, u32) { return pick(a, b, true); });
  checkPacked(
      "v_pk_fma_f16", 3, halfPairs(), true,
      [](u32 a, u32 b, u32 c) -> u32 {
        const u32 d = f16FusedMultiplyAdd(a, b, c);
        return isNanF16(d) || d & 0x8000 ? 0 : std::min(d, kOne); // DX10_CLAMP: NaN becomes 0
      },
      " clamp");
}

TEST(Vop3p, HalfDenormalModes) {
  ExecTest t;
  t.setVector(2, pack16(0x0200, 0x0400)); // a denormal, the smallest normal
  t.setVector(4, pack16(kOne, f16(0.5f)));
  t.mode(kDefaultMode & ~mode::kDenormF64);
  ASSERT_TRUE(t.run("v_pk_mul_f16 v10, v2, v4"));
  EXPECT_EQ(t.v(10, 0), 0u);
  t.mode(kDefaultMode);
  ASSERT_TRUE(t.run("v_pk_mul_f16 v10, v2, v4"));
  EXPECT_EQ(t.v(10, 0), pack16(0x0200, 0x0200));
}

using FloatRule = std::function<float(float, float, float)>;

void checkPairs(const std::string &name, unsigned sources, const FloatRule &rule, bool clamp = false) {
  const std::string operands = sources == 3 ? " v[10:11], v[2:3], v[4:5], v[6:7]" : " v[10:11], v[2:3], v[4:5]";
  const auto &cases = floatPairs();
  constexpr u32 kDefault = 0x38;
  for (u32 bits : {kDefault, 0x00u, 0x07u, 0x3fu, 0x2au, 0x15u, 0x38u | 0x2c0u, 0x1cu | 0xb40u, 0x38u | 0xfc0u}) {
    const Selection s = Selection::from(bits);
    const std::string text =
        name + operands + (bits == kDefault ? "" : s.text(sources, true)) + (clamp ? " clamp" : "");
    SCOPED_TRACE(text);
    for (u64 exec : {~0ull, 0x5555aaaaff00f00full}) {
      ExecTest t;
      t.exec(exec);
      unsigned failures = 0;
      for (size_t first = 0; first + 64 <= cases.size() && failures < 5; first += 64) {
        for (unsigned n = 0; n < 64; ++n) {
          for (unsigned k = 0; k < 3; ++k)
            t.setV64(2 + 2 * k, n, cases[first + n].s[k]);
          t.setV64(10, n, 0xdeadbeefdeadbeef);
        }
        ASSERT_TRUE(t.run(text));
        for (unsigned n = 0; n < 64; ++n)
          for (unsigned h = 0; h < 2; ++h) {
            float x[3];
            for (unsigned k = 0; k < 3; ++k) {
              const u64 pair = cases[first + n].s[k];
              const bool high = h ? s.high[k] : s.low[k], negative = h ? s.negHigh[k] : s.negLow[k];
              x[k] = asF32(u32(high ? pair >> 32 : pair) ^ (negative ? 0x80000000 : 0));
            }
            float value = rule(x[0], x[1], x[2]);
            if (clamp)
              value = value > 0 ? std::min(value, 1.0f) : 0.0f;
            const u32 expected = exec >> n & 1 ? f32(value) : kPoison;
            const u32 got = t.v(10 + h, n);
            const bool same = got == expected || (isNanF32(got) && isNanF32(expected));
            EXPECT_TRUE(same) << fmt::format("lane {} half {}: got {:#x}, expected {:#x}", n, h, got, expected);
            failures += !same;
          }
      }
    }
  }
}

TEST(Vop3p, Floats) {
  checkPairs("v_pk_fma_f32", 3, [](float a, float b, float c) { return std::fma(a, b, c); });
  checkPairs("v_pk_mul_f32", 2, [](float a, float b, float) { return a * b; });
  checkPairs("v_pk_add_f32", 2, [](float a, float b, float) { return a + b; });
  checkPairs("v_pk_fma_f32", 3, [](float a, float b, float c) { return std::fma(a, b, c); }, true);
}

TEST(Vop3p, FloatsInPlace) {
  // The high result reads the register that the low one is written to.
  ExecTest t;
  t.setVector64(2, f32(3.0f) | u64(f32(5.0f)) << 32);
  ASSERT_TRUE(t.run("v_pk_mul_f32 v[2:3], v[2:3], v[2:3] op_sel:[1,0] op_sel_hi:[0,0]"));
  EXPECT_EQ(asF32(t.v(2, 9)), 15.0f);
  EXPECT_EQ(asF32(t.v(3, 9)), 9.0f);
  // Scalars and constants.
  t.s(4) = f32(2.0f);
  t.s(5) = f32(7.0f);
  ASSERT_TRUE(t.run("v_pk_add_f32 v[6:7], v[2:3], s[4:5]\n"
                    "v_pk_mul_f32 v[8:9], v[2:3], s[4:5] op_sel_hi:[1,0]\n"
                    "v_pk_mul_f32 v[10:11], v[2:3], 4.0 op_sel_hi:[1,0]"));
  EXPECT_EQ(asF32(t.v(6, 1)), 17.0f);
  EXPECT_EQ(asF32(t.v(7, 1)), 16.0f);
  EXPECT_EQ(asF32(t.v(8, 1)), 30.0f);
  EXPECT_EQ(asF32(t.v(9, 1)), 18.0f);
  EXPECT_EQ(asF32(t.v(10, 1)), 60.0f);
  EXPECT_EQ(asF32(t.v(11, 1)), 36.0f);
}

TEST(Vop3p, Move) {
  ExecTest t;
  t.setVector64(2, 0x2222222211111111);
  t.setVector64(4, 0x4444444433333333);
  t.setS64(8, 0x6666666655555555);
  t.exec(~1ull);
  ASSERT_TRUE(t.run("v_pk_mov_b32 v[10:11], v[2:3], v[4:5]\n"
                    "v_pk_mov_b32 v[12:13], v[2:3], v[4:5] op_sel:[0,1]\n"
                    "v_pk_mov_b32 v[14:15], v[2:3], v[4:5] op_sel:[1,0]\n"
                    "v_pk_mov_b32 v[16:17], s[8:9], s[8:9] op_sel:[1,0]\n"
                    "v_pk_mov_b32 v[18:19], 7, 0\n"
                    "v_pk_mov_b32 v[2:3], v[2:3], v[2:3] op_sel:[1,0]"));
  EXPECT_EQ(t.v64(10, 1), 0x3333333311111111u);
  EXPECT_EQ(t.v64(12, 1), 0x4444444411111111u);
  EXPECT_EQ(t.v64(14, 1), 0x3333333322222222u);
  EXPECT_EQ(t.v64(16, 1), 0x5555555566666666u);
  EXPECT_EQ(t.v64(18, 1), 0x0000000000000007u);
  EXPECT_EQ(t.v64(2, 1), 0x1111111122222222u);
  EXPECT_EQ(t.v64(2, 0), 0x2222222211111111u);
  EXPECT_EQ(t.v64(10, 0), 0xdeadbeefdeadbeefu);
}

TEST(Vop3p, InlineConstants) {
  ExecTest t;
  t.setVector(2, pack16(f16(2.0f), f16(3.0f)));
  ASSERT_TRUE(t.run("v_pk_add_f16 v10, v2, 1.0\n" // the high half of the constant is 0
                    "v_pk_add_f16 v11, v2, 1.0 op_sel_hi:[1,0]\n"
                    "v_pk_add_u16 v12, v2, -1\n"                     // integers are sign-extended to 32 bits
                    "v_pk_add_u16 v13, v2, 1.0 op_sel_hi:[1,1]\n")); // an f32 to integer instructions
  EXPECT_EQ(t.v(10, 0), pack16(f16(3.0f), f16(3.0f)));
  EXPECT_EQ(t.v(11, 0), pack16(f16(3.0f), f16(4.0f)));
  EXPECT_EQ(t.v(12, 0), pack16(f16(2.0f) - 1, f16(3.0f) - 1));
  EXPECT_EQ(t.v(13, 0), pack16(f16(2.0f), f16(3.0f) + 0x3f80));
}

TEST(Vop3p, Mix) {
  ExecTest t;
  t.setVector(2, pack16(f16(2.0f), f16(-3.0f)));
  t.setVector(4, f32(5.5f));
  t.setVector(6, pack16(f16(0.25f), f16(100.0f)));
  ASSERT_TRUE(t.run("v_fma_mix_f32 v10, v2, v4, v6 op_sel:[0,0,0] op_sel_hi:[1,0,1]\n"
                    "v_fma_mix_f32 v11, v2, v4, v6 op_sel:[1,0,1] op_sel_hi:[1,0,1]\n"
                    "v_fma_mix_f32 v12, -|v2|, v4, v6 op_sel:[1,0,0] op_sel_hi:[1,0,1]\n"
                    "v_fma_mixlo_f16 v13, v2, v4, v6 op_sel:[0,0,0] op_sel_hi:[1,0,1]\n"
                    "v_fma_mixhi_f16 v14, v2, v4, v6 op_sel:[1,0,0] op_sel_hi:[1,0,1]\n"
                    "v_fma_mix_f32 v15, v2, v4, v6 op_sel_hi:[1,0,1] clamp\n"
                    "v_fma_mix_f32 v16, v4, v4, v4"));
  EXPECT_EQ(asF32(t.v(10, 3)), 11.25f);
  EXPECT_EQ(asF32(t.v(11, 3)), 83.5f);
  EXPECT_EQ(asF32(t.v(12, 3)), -16.25f);
  EXPECT_EQ(t.v(13, 3), pack16(f16(11.25f), kPoison >> 16));
  EXPECT_EQ(t.v(14, 3), pack16(kPoison, f16(-16.25f)));
  EXPECT_EQ(asF32(t.v(15, 3)), 1.0f);
  EXPECT_EQ(asF32(t.v(16, 3)), 5.5f * 5.5f + 5.5f);
}

/// gfx900's mixed multiply-adds round the product, and flush denormals whatever MODE says.
TEST(Vop3p, MixedMultiplyAddsOfGfx900) {
  ExecTest t("gfx900");
  t.setVector(2, pack16(f16(2.0f), f16(-3.0f)));
  t.setVector(4, f32(5.5f));
  t.setVector(6, pack16(f16(0.25f), f16(100.0f)));
  t.setVector(7, f32(1.0f + 0x1p-23f));
  t.setVector(8, f32(-1.0f));
  t.setVector(9, 0x00400000);
  ASSERT_TRUE(t.run("v_mad_mix_f32 v10, v2, v4, v6 op_sel:[0,0,0] op_sel_hi:[1,0,1]\n"
                    "v_mad_mix_f32 v12, -|v2|, v4, v6 op_sel:[1,0,0] op_sel_hi:[1,0,1]\n"
                    "v_mad_mixlo_f16 v13, v2, v4, v6 op_sel:[0,0,0] op_sel_hi:[1,0,1]\n"
                    "v_mad_mixhi_f16 v14, v2, v4, v6 op_sel:[1,0,0] op_sel_hi:[1,0,1]\n"
                    "v_mad_mix_f32 v15, v7, v7, v8\n"
                    "v_mad_mix_f32 v16, v9, v4, v9"));
  EXPECT_EQ(asF32(t.v(10, 3)), 11.25f);
  EXPECT_EQ(asF32(t.v(12, 3)), -16.25f);
  EXPECT_EQ(t.v(13, 3), pack16(f16(11.25f), kPoison >> 16));
  EXPECT_EQ(t.v(14, 3), pack16(kPoison, f16(-16.25f)));
  EXPECT_EQ(asF32(t.v(15, 3)), 0x1p-22f); // fused, there would be 2^-46 more
  EXPECT_EQ(t.v(16, 3), 0u);
}

TEST(Vop3p, IntegerDotProducts) {
  auto field = [](u32 x, unsigned width, unsigned n, bool isSigned) {
    const u32 y = x >> (width * n) & ((1u << width) - 1);
    return isSigned && y >> (width - 1) ? i64(y) - (i64(1) << width) : i64(y);
  };
  const struct {
    const char *name;
    unsigned width;
    bool isSigned;
  } kinds[] = {{"v_dot2_i32_i16", 16, true}, {"v_dot2_u32_u16", 16, false}, {"v_dot4_i32_i8", 8, true},
               {"v_dot4_u32_u8", 8, false},  {"v_dot8_i32_i4", 4, true},    {"v_dot8_u32_u4", 4, false}};
  static const auto cases = operandCases<u32>(kEdgesU32);
  for (const auto &kind : kinds)
    for (bool clamp : {false, true})
      checkVector(
          std::string(kind.name) + " v10, v2, v4, v6" + (clamp ? " clamp" : ""), 32, cases, [=](u64 a, u64 b, u64 c) {
            i64 sum = kind.isSigned ? i64(i32(c)) : i64(c);
            for (unsigned n = 0; n < 32 / kind.width; ++n)
              sum += field(u32(a), kind.width, n, kind.isSigned) * field(u32(b), kind.width, n, kind.isSigned);
            if (clamp)
              sum = kind.isSigned ? std::clamp<i64>(sum, INT32_MIN, INT32_MAX) : std::clamp<i64>(sum, 0, UINT32_MAX);
            return u64(u32(sum));
          });
}

TEST(Vop3p, Dot2F32F16) {
  ExecTest t;
  t.setVector(2, {pack16(f16(2.0f), f16(3.0f)), pack16(0x0001, f16(1.0f)), pack16(f16(1.0f), 0)});
  t.setVector(4, {pack16(f16(5.0f), f16(7.0f)), pack16(f16(1.0f), f16(4.0f)), pack16(0, f16(1.0f))});
  t.setVector(6, {f32(0.5f), f32(0.0f), 0x00000001});
  ASSERT_TRUE(t.run("v_dot2_f32_f16 v10, v2, v4, v6\n"
                    "v_dot2_f32_f16 v11, v2, v4, v6 clamp\n"
                    "v_dot2_f32_f16 v12, v2, v4, v6 neg_lo:[1,0,1] neg_hi:[0,0,0]\n"
                    "v_dot2_f32_f16 v13, v2, v4, v6 op_sel:[1,0,0] op_sel_hi:[0,1,1]"));
  EXPECT_EQ(asF32(t.v(10, 0)), 31.5f);
  EXPECT_EQ(asF32(t.v(10, 1)), 4.0f); // denormal inputs are flushed
  EXPECT_EQ(t.v(10, 2), 0u);          // and denormal results
  EXPECT_EQ(asF32(t.v(11, 0)), 1.0f);
  EXPECT_EQ(asF32(t.v(12, 0)), 10.5f);
  EXPECT_EQ(asF32(t.v(13, 0)), 29.5f);
}

} // namespace
} // namespace luthier::vgpu::test
