// VOP3-only instructions on integers and lanes against the manual's definitions. Floating point: vop3_float_test.cc.

#include "vector_cases.h"

#include <cmath>

namespace luthier::vgpu::test {
namespace {

const std::vector<VectorCase> &ints() {
  static const auto cases = operandCases<u32>(kEdgesU32);
  return cases;
}
const std::vector<VectorCase> &shorts() {
  static const u16 values[] = {0,      1,      2,      15,     16,     0x7f,   0x80,  0xff,
                               0x7ffe, 0x7fff, 0x8000, 0x8001, 0xfffe, 0xffff, 0x1234};
  static const auto cases = operandCases<u16>(values);
  return cases;
}
const std::vector<VectorCase> &longs() {
  static const u64 values[] = {0,
                               1,
                               31,
                               63,
                               64,
                               0x7fffffff,
                               0x80000000,
                               0xffffffff,
                               0x100000000,
                               0x7fffffffffffffff,
                               0x8000000000000000,
                               0xffffffffffffffff,
                               0x123456789abcdef0,
                               0xdeadbeefcafef00d};
  static const auto cases = operandCases<u64>(values);
  return cases;
}

std::string three(const std::string &name) { return name + " v10, v2, v4, v6"; }
std::string two(const std::string &name) { return name + " v10, v2, v4"; }

void check3(const std::string &name, std::function<u32(u32, u32, u32)> rule) {
  checkVector(three(name), 32, ints(), [=](u64 a, u64 b, u64 c) { return u64(rule(u32(a), u32(b), u32(c))); });
}
void check3Clamp(const std::string &name, std::function<u32(u32, u32, u32)> rule) {
  checkVector(three(name) + " clamp", 32, ints(),
              [=](u64 a, u64 b, u64 c) { return u64(rule(u32(a), u32(b), u32(c))); });
}
void check2(const std::string &name, std::function<u32(u32, u32)> rule) {
  checkVector(two(name), 32, ints(), [=](u64 a, u64 b, u64) { return u64(rule(u32(a), u32(b))); });
}

i64 clampI32(i128 x) { return x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : i64(x); }
u32 byteOf(u32 x, unsigned n) { return x >> (8 * n) & 0xff; }
i32 signed24(u32 x) { return i32(x & 0xffffff) - (x & 0x800000 ? 0x1000000 : 0); }

TEST(Vop3, Bits) {
  check3("v_bfe_u32", [](u32 a, u32 b, u32 c) {
    u32 d = 0;
    for (unsigned n = 0; n < (c & 31) && n + (b & 31) < 32; ++n)
      d |= (a >> (n + (b & 31)) & 1) << n;
    return d;
  });
  check3("v_bfe_i32", [](u32 a, u32 b, u32 c) {
    if ((c & 31) == 0)
      return 0u;
    u32 d = 0;
    for (unsigned n = 0; n < 32; ++n) {
      const unsigned at = std::min(n, (c & 31) - 1) + (b & 31);
      d |= (a >> std::min(at, 31u) & 1) << n;
    }
    return d;
  });
  check3("v_bfi_b32", [](u32 a, u32 b, u32 c) { return (a & b) | (~a & c); });
  check2("v_bfm_b32", [](u32 a, u32 b) { return u32(((1ull << (a & 31)) - 1) << (b & 31)); });
  check3("v_alignbit_b32", [](u32 a, u32 b, u32 c) { return u32((u64(a) << 32 | b) >> (c & 31)); });
  check3("v_alignbyte_b32", [](u32 a, u32 b, u32 c) { return u32((u64(a) << 32 | b) >> (8 * (c & 3))); });
  check3("v_lshl_or_b32", [](u32 a, u32 b, u32 c) { return (a << (b & 31)) | c; });
  check3("v_and_or_b32", [](u32 a, u32 b, u32 c) { return (a & b) | c; });
  check3("v_or3_b32", [](u32 a, u32 b, u32 c) { return a | b | c; });
  check2("v_bcnt_u32_b32", [](u32 a, u32 b) { return b + u32(std::popcount(a)); });
  check3("v_perm_b32", [](u32 a, u32 b, u32 c) {
    u32 d = 0;
    for (unsigned n = 0; n < 4; ++n) {
      const u32 select = byteOf(c, n);
      auto in = [&](unsigned k) { return k < 4 ? byteOf(b, k) : byteOf(a, k - 4); };
      u32 x;
      if (select >= 13)
        x = 0xff;
      else if (select == 12)
        x = 0;
      else if (select >= 8)
        x = in(2 * (select - 8) + 1) & 0x80 ? 0xff : 0;
      else
        x = in(select);
      d |= x << (8 * n);
    }
    return d;
  });
  // Random selectors seldom are below 13.
  auto cases = ints();
  for (size_t n = 0; n < cases.size(); ++n)
    cases[n].s[2] = (0x03020100 + 0x01010101 * (n % 13)) & 0x0f0f0f0f;
  checkVector(three("v_perm_b32"), 32, cases, [](u64 a, u64 b, u64 c) {
    const u64 data = a << 32 | b;
    u64 d = 0;
    for (unsigned n = 0; n < 4; ++n) {
      const unsigned select = c >> (8 * n) & 0xff;
      const u64 sign[] = {15, 31, 47, 63};
      const u64 x = select < 8     ? data >> (8 * select) & 0xff
                    : select < 12  ? (data >> sign[select - 8] & 1) * 0xff
                    : select == 12 ? 0
                                   : 0xff;
      d |= x << (8 * n);
    }
    return d;
  });
}

TEST(Vop3, Shifts64) {
  auto check = [](const std::string &name, VectorRule rule) {
    checkVector(name + " v[10:11], v2, v[4:5]", 64, longs(), rule);
  };
  check("v_lshlrev_b64", [](u64 a, u64 b, u64) { return b << (a & 63); });
  check("v_lshrrev_b64", [](u64 a, u64 b, u64) { return b >> (a & 63); });
  check("v_ashrrev_i64", [](u64 a, u64 b, u64) {
    const unsigned n = a & 63;
    return n == 0 ? b : b >> n | (b >> 63 ? ~0ull << (64 - n) : 0);
  });
}

TEST(Vop3, ShiftAndAdd64) {
  ExecTest t("gfx942");
  for (unsigned lane = 0; lane < kMaxLanes; ++lane) {
    t.setV64(2, lane, 0xf123456789abcdef + lane);
    t.v(4, lane) = lane;
    t.setV64(6, lane, 0xfedcba9876543210 - lane);
  }
  ASSERT_TRUE(t.run("v_lshl_add_u64 v[8:9], v[2:3], v4, v[6:7]\n"
                    "v_lshl_add_u64 v[10:11], v[2:3], 3, v[6:7]"));
  for (unsigned lane = 0; lane < kMaxLanes; ++lane) {
    // Of the count, three bits are looked at, and what they say beyond 4 counts as 0.
    const unsigned shift = lane % 8 <= 4 ? lane % 8 : 0;
    const uint64_t a = 0xf123456789abcdef + lane, c = 0xfedcba9876543210 - lane;
    EXPECT_EQ(t.v64(8, lane), (a << shift) + c) << lane;
    EXPECT_EQ(t.v64(10, lane), (a << 3) + c) << lane;
  }
}

TEST(Vop3, IntegerArithmetic) {
  check2("v_mul_lo_u32", [](u32 a, u32 b) { return u32(u64(a) * b); });
  check2("v_mul_hi_u32", [](u32 a, u32 b) { return u32((u64(a) * b) >> 32); });
  check2("v_mul_hi_i32", [](u32 a, u32 b) { return u32(u64(i64(i32(a)) * i32(b)) >> 32); });
  check2("v_add_i32", [](u32 a, u32 b) { return a + b; });
  check2("v_sub_i32", [](u32 a, u32 b) { return a - b; });
  checkVector("v_add_i32 v10, v2, v4 clamp", 32, ints(),
              [](u64 a, u64 b, u64) { return u64(u32(clampI32(i128(i32(a)) + i32(b)))); });
  checkVector("v_sub_i32 v10, v2, v4 clamp", 32, ints(),
              [](u64 a, u64 b, u64) { return u64(u32(clampI32(i128(i32(a)) - i32(b)))); });
  check3("v_add3_u32", [](u32 a, u32 b, u32 c) { return a + b + c; });
  check3("v_lshl_add_u32", [](u32 a, u32 b, u32 c) { return (a << (b & 31)) + c; });
  check3("v_add_lshl_u32", [](u32 a, u32 b, u32 c) { return (a + b) << (c & 31); });
  check3("v_xad_u32", [](u32 a, u32 b, u32 c) { return (a ^ b) + c; });
  check3("v_mad_i32_i24", [](u32 a, u32 b, u32 c) { return u32(i64(signed24(a)) * signed24(b) + i32(c)); });
  check3Clamp("v_mad_i32_i24",
              [](u32 a, u32 b, u32 c) { return u32(clampI32(i128(signed24(a)) * signed24(b) + i32(c))); });
  check3("v_mad_u32_u24", [](u32 a, u32 b, u32 c) { return u32(u64(a & 0xffffff) * (b & 0xffffff) + c); });
  check3Clamp("v_mad_u32_u24", [](u32 a, u32 b, u32 c) {
    const u64 d = u64(a & 0xffffff) * (b & 0xffffff) + c;
    return u32(std::min<u64>(d, 0xffffffff));
  });
  check3("v_mad_u32_u16", [](u32 a, u32 b, u32 c) { return u32(u64(u16(a)) * u16(b) + c); });
  check3("v_mad_i32_i16", [](u32 a, u32 b, u32 c) { return u32(i64(i16(a)) * i16(b) + i32(c)); });
  check3Clamp("v_mad_i32_i16", [](u32 a, u32 b, u32 c) { return u32(clampI32(i128(i16(a)) * i16(b) + i32(c))); });
  checkVector("v_mad_i32_i16 v10, v2, v4, v6 op_sel:[1,0,0,0]", 32, ints(),
              [](u64 a, u64 b, u64 c) { return u64(u32(i64(i16(a >> 16)) * i16(b) + i32(c))); });
}

TEST(Vop3, Mad64) {
  const auto rule = [](bool isSigned, u64 a, u64 b, u64 c) {
    return isSigned ? i128(i32(a)) * i32(b) + i64(c) : i128(u32(a)) * u32(b) + i128(c);
  };
  for (bool isSigned : {false, true}) {
    const auto &cases = longs();
    ExecTest t;
    for (size_t first = 0; first < cases.size(); first += 64) {
      const size_t count = std::min<size_t>(64, cases.size() - first);
      for (size_t n = 0; n < count; ++n)
        for (unsigned k = 0; k < 3; ++k)
          t.setV64(2 + 2 * k, unsigned(n), cases[first + n].s[k]);
      ASSERT_TRUE(t.run(isSigned ? "v_mad_i64_i32 v[10:11], s[20:21], v2, v4, v[6:7]"
                                 : "v_mad_u64_u32 v[10:11], s[20:21], v2, v4, v[6:7]"));
      for (size_t n = 0; n < count; ++n) {
        const auto &s = cases[first + n].s;
        const i128 d = rule(isSigned, s[0], s[1], s[2]);
        EXPECT_EQ(t.v64(10, unsigned(n)), u64(d)) << s[0] << ' ' << s[1] << ' ' << s[2];
        EXPECT_EQ(t.s64(20) >> n & 1, u64(d >> 64) & 1) << s[0] << ' ' << s[1] << ' ' << s[2];
      }
    }
  }
  checkVector("v_mad_u64_u32 v[10:11], vcc, v2, v4, v[6:7] clamp", 64, longs(), [=](u64 a, u64 b, u64 c) {
    const i128 d = rule(false, a, b, c);
    return d >> 64 ? ~0ull : u64(d);
  });
  checkVector("v_mad_i64_i32 v[10:11], vcc, v2, v4, v[6:7] clamp", 64, longs(), [=](u64 a, u64 b, u64 c) {
    const i128 d = rule(true, a, b, c);
    return u64(d > INT64_MAX ? INT64_MAX : d < INT64_MIN ? INT64_MIN : i64(d));
  });
}

TEST(Vop3, SumsOfAbsoluteDifferences) {
  auto sad = [](u32 a, u32 b, bool masked) {
    u32 d = 0;
    for (unsigned n = 0; n < 4; ++n)
      if (!masked || byteOf(b, n))
        d += u32(std::abs(i32(byteOf(a, n)) - i32(byteOf(b, n))));
    return d;
  };
  check3("v_sad_u8", [=](u32 a, u32 b, u32 c) { return sad(a, b, false) + c; });
  check3Clamp("v_sad_u8",
              [=](u32 a, u32 b, u32 c) { return u32(std::min<u64>(u64(sad(a, b, false)) + c, 0xffffffff)); });
  check3("v_sad_hi_u8", [=](u32 a, u32 b, u32 c) { return (sad(a, b, false) << 16) + c; });
  check3("v_msad_u8", [=](u32 a, u32 b, u32 c) { return sad(a, b, true) + c; });
  check3("v_sad_u16", [](u32 a, u32 b, u32 c) {
    return u32(std::abs(i32(a >> 16) - i32(b >> 16)) + std::abs(i32(u16(a)) - i32(u16(b)))) + c;
  });
  check3("v_sad_u32", [](u32 a, u32 b, u32 c) { return u32(std::abs(i64(a) - i64(b))) + c; });
  check3("v_lerp_u8", [](u32 a, u32 b, u32 c) {
    u32 d = 0;
    for (unsigned n = 0; n < 4; ++n)
      d += (byteOf(a, n) + byteOf(b, n) + (byteOf(c, n) & 1)) / 2 << (8 * n);
    return d;
  });
  for (bool masked : {false, true})
    for (bool clamp : {false, true})
      checkVector(std::string(masked ? "v_mqsad_pk_u16_u8" : "v_qsad_pk_u16_u8") + " v[10:11], v[2:3], v4, v[6:7]" +
                      (clamp ? " clamp" : ""),
                  64, longs(), [=](u64 a, u64 b, u64 c) {
                    u64 d = 0;
                    for (unsigned k = 0; k < 4; ++k) {
                      const u32 sum = sad(u32(a >> (8 * k)), u32(b), masked) + (c >> (16 * k) & 0xffff);
                      d |= u64(clamp ? std::min(sum, 0xffffu) : sum & 0xffff) << (16 * k);
                    }
                    return d;
                  });
  // 128 bits: accumulator v[20:23], result v[24:27].
  ExecTest t;
  for (unsigned n = 0; n < 64; ++n) {
    const auto &s = longs()[n * 3].s;
    t.setV64(2, n, s[0]);
    t.v(4, n) = u32(s[1] >> 7);
    for (unsigned k = 0; k < 4; ++k)
      t.v(20 + k, n) = u32(s[2] >> (8 * k));
  }
  ASSERT_TRUE(t.run("v_mqsad_u32_u8 v[24:27], v[2:3], v4, v[20:23]"));
  for (unsigned n = 0; n < 64; ++n)
    for (unsigned k = 0; k < 4; ++k)
      EXPECT_EQ(t.v(24 + k, n), sad(u32(t.v64(2, n) >> (8 * k)), t.v(4, n), true) + t.v(20 + k, n));
}

TEST(Vop3, MinMaxMedianOfIntegers) {
  auto sorted = [](auto a, auto b, auto c, unsigned which) {
    std::array<decltype(a), 3> x{a, b, c};
    std::sort(x.begin(), x.end());
    return x[which];
  };
  const char *names[] = {"v_min3_", "v_med3_", "v_max3_"};
  for (unsigned which = 0; which < 3; ++which) {
    const std::string name = names[which];
    check3(name + "i32", [=](u32 a, u32 b, u32 c) { return u32(sorted(i32(a), i32(b), i32(c), which)); });
    check3(name + "u32", [=](u32 a, u32 b, u32 c) { return sorted(a, b, c, which); });
    checkVector(three(name + "i16"), 32, shorts(),
                [=](u64 a, u64 b, u64 c) { return u64(u16(sorted(i16(a), i16(b), i16(c), which)) | kHigh); });
    checkVector(three(name + "u16"), 32, shorts(),
                [=](u64 a, u64 b, u64 c) { return u64(sorted(u16(a), u16(b), u16(c), which) | kHigh); });
  }
}

TEST(Vop3, ShortArithmetic) {
  for (bool clamp : {false, true}) {
    const std::string suffix = clamp ? " clamp" : "";
    auto unsignedResult = [=](i64 x) { return u64(u16(clamp ? std::clamp<i64>(x, 0, 0xffff) : x)); };
    auto signedResult = [=](i64 x) { return u64(u16(clamp ? std::clamp<i64>(x, -0x8000, 0x7fff) : x)); };
    checkVector(three("v_mad_u16") + suffix, 32, shorts(),
                [=](u64 a, u64 b, u64 c) { return unsignedResult(i64(a * b + c)) | kHigh; });
    checkVector(three("v_mad_legacy_u16") + suffix, 32, shorts(),
                [=](u64 a, u64 b, u64 c) { return unsignedResult(i64(a * b + c)); });
    checkVector(three("v_mad_i16") + suffix, 32, shorts(),
                [=](u64 a, u64 b, u64 c) { return signedResult(i64(i16(a)) * i16(b) + i16(c)) | kHigh; });
    checkVector(three("v_mad_legacy_i16") + suffix, 32, shorts(),
                [=](u64 a, u64 b, u64 c) { return signedResult(i64(i16(a)) * i16(b) + i16(c)); });
    checkVector(two("v_add_i16") + suffix, 32, shorts(),
                [=](u64 a, u64 b, u64) { return signedResult(i64(i16(a)) + i16(b)) | kHigh; });
    checkVector(two("v_sub_i16") + suffix, 32, shorts(),
                [=](u64 a, u64 b, u64) { return signedResult(i64(i16(a)) - i16(b)) | kHigh; });
  }
}

TEST(Vop3, Lanes) {
  ExecTest t;
  for (unsigned n = 0; n < 64; ++n)
    t.v(1, n) = 1000 + n;
  t.exec(0); // ignored
  t.s(4) = 63;
  t.s(5) = 64 + 7;
  t.m0(12);
  t.s(9) = 77;
  ASSERT_TRUE(t.run("v_readlane_b32 s20, v1, s4\n"
                    "v_readlane_b32 s21, v1, s5\n"
                    "v_readlane_b32 s22, v1, m0\n"
                    "v_readlane_b32 s23, v1, 3\n"
                    "v_writelane_b32 v2, s9, m0\n"
                    "v_writelane_b32 v2, -1, 5\n"
                    "v_readlane_b32 vcc_hi, v1, 1"));
  EXPECT_EQ(t.s(20), 1063u);
  EXPECT_EQ(t.s(21), 1007u);
  EXPECT_EQ(t.s(22), 1012u);
  EXPECT_EQ(t.s(23), 1003u);
  EXPECT_EQ(t.vcc() >> 32, 1001u);
  for (unsigned n = 0; n < 64; ++n)
    EXPECT_EQ(t.v(2, n), n == 12 ? 77u : n == 5 ? ~0u : kPoison);

  t.exec(0xff00ff00ff00ff0f);
  t.setVector(2, 5);
  t.s(10) = 0xf0f0f0f1;
  ASSERT_TRUE(t.run("v_mbcnt_lo_u32_b32 v3, s10, v2\nv_mbcnt_hi_u32_b32 v4, s10, v2"));
  for (unsigned n = 0; n < 64; ++n) {
    u32 low = 5, high = 5;
    for (unsigned k = 0; k < n && k < 64; ++k)
      (k < 32 ? low : high) += 0xf0f0f0f1u >> (k & 31) & 1;
    const bool active = t.exec() >> n & 1;
    EXPECT_EQ(t.v(3, n), active ? low : kPoison) << n;
    EXPECT_EQ(t.v(4, n), active ? high : kPoison) << n;
  }
}

TEST(Vop3, ExecAndMasks) {
  ExecTest t;
  t.exec(0x00000000ffff0f0f);
  t.setVector(2, 0xffffffff);
  t.setVector(3, 0xffffffff);
  t.setVector64(4, 0xffffffffffffffff);
  ASSERT_TRUE(t.run("v_mad_u64_u32 v[10:11], s[20:21], v2, v3, v[4:5]"));
  EXPECT_EQ(t.s64(20), t.exec());
  for (unsigned n = 0; n < 64; ++n) {
    const bool active = t.exec() >> n & 1;
    EXPECT_EQ(t.v64(10, n), active ? 0xfffffffe00000000 : 0xdeadbeefdeadbeef) << n;
  }
  // v_div_fmas reads VCC by lane: a quotient above 1 is scaled up, one below 1 down.
  t.exec(~0ull);
  t.vcc(0x3);
  t.setVector(2, {f32(0.0f), f32(0.0f), f32(0.0f)});
  t.setVector(3, {f32(1.0f), f32(1.0f), f32(1.0f)});
  t.setVector(4, {f32(3.0f), f32(0.5f), f32(0.5f)});
  ASSERT_TRUE(t.run("v_div_fmas_f32 v10, v2, v3, v4"));
  EXPECT_EQ(asF32(t.v(10, 0)), 0x3p64f);
  EXPECT_EQ(asF32(t.v(10, 1)), 0x1p-65f);
  EXPECT_EQ(asF32(t.v(10, 2)), 0.5f);
}

} // namespace
} // namespace luthier::vgpu::test
