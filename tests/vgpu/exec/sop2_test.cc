// SOP2 against the manual's definitions, over all pairs of edge values.

#include "scalar_cases.h"

namespace luthier::vgpu::test {
namespace {

using u32 = uint32_t;
using u64 = uint64_t;
using i32 = int32_t;
using i64 = int64_t;
using i128 = __int128;

using Rule = std::function<ScalarResult(const ScalarInput &)>;

Rule rule32(std::function<ScalarResult(u32 a, u32 b, bool scc)> f) {
  return [f](const ScalarInput &in) { return f(u32(in.a), u32(in.b), in.scc != 0); };
}
Rule rule64(std::function<ScalarResult(u64 a, u64 b, bool scc)> f) {
  return [f](const ScalarInput &in) { return f(in.a, in.b, in.scc != 0); };
}
/// D from a function of one bit of each source; SCC = (D != 0).
Rule bits(unsigned width, std::function<bool(bool, bool)> f) {
  return [=](const ScalarInput &in) {
    u64 d = 0;
    for (unsigned n = 0; n < width; ++n)
      d |= u64(f(in.a >> n & 1, in.b >> n & 1)) << n;
    return ScalarResult{d, d != 0};
  };
}
/// The field [offset, offset + width) of `a`, bit by bit; bits beyond the operand repeat `fill`.
u64 fieldOf(u64 a, unsigned size, unsigned offset, unsigned width, bool isSigned) {
  const bool sign = a >> (size - 1) & 1;
  u64 d = 0;
  for (unsigned n = 0; n < size; ++n) {
    const unsigned from = offset + n;
    bool bit = n < width && (from < size ? a >> from & 1 : isSigned && sign);
    if (isSigned && n >= width && width > 0) { // extended from the field's top bit
      const unsigned top = offset + width - 1;
      bit = top < size ? a >> top & 1 : sign;
    }
    d |= u64(bit) << n;
  }
  return d;
}

void check32(const std::string &name, const Rule &rule) {
  checkScalar(name + " s16, s8, s10", false, edgeInputs(true), rule);
}
void check64(const std::string &name, const Rule &rule) {
  checkScalar(name + " s[16:17], s[8:9], s[10:11]", true, edgeInputs(true), rule);
}
/// 64-bit data with a 32-bit second source.
void check64By32(const std::string &name, const Rule &rule) {
  checkScalar(name + " s[16:17], s[8:9], s10", true, edgeInputs(true), rule);
}

bool fitsI32(i128 x) { return x >= INT32_MIN && x <= INT32_MAX; }

TEST(Sop2, AddAndSubtract) {
  check32("s_add_u32", rule32([](u32 a, u32 b, bool) { return ScalarResult{u64(a) + b, (u64(a) + b) >> 32 != 0}; }));
  check32("s_sub_u32", rule32([](u32 a, u32 b, bool) { return ScalarResult{a - u64(b), b > a}; }));
  check32("s_add_i32", rule32([](u32 a, u32 b, bool) {
            const i128 d = i128(i32(a)) + i32(b);
            return ScalarResult{u64(d), !fitsI32(d)};
          }));
  check32("s_sub_i32", rule32([](u32 a, u32 b, bool) {
            const i128 d = i128(i32(a)) - i32(b);
            return ScalarResult{u64(d), !fitsI32(d)};
          }));
  check32("s_addc_u32", rule32([](u32 a, u32 b, bool scc) {
            const i128 d = i128(a) + b + scc;
            return ScalarResult{u64(d), d > i128(0xffffffff)};
          }));
  check32("s_subb_u32", rule32([](u32 a, u32 b, bool scc) {
            const i128 d = i128(a) - b - scc;
            return ScalarResult{u64(d), d < 0};
          }));
  for (unsigned shift = 1; shift <= 4; ++shift)
    check32("s_lshl" + std::to_string(shift) + "_add_u32", rule32([=](u32 a, u32 b, bool) {
              const i128 d = i128(a) * (1 << shift) + b;
              return ScalarResult{u64(d), d > i128(0xffffffff)};
            }));
}

TEST(Sop2, AbsoluteDifferenceExamplesOfTheManual) {
  const struct {
    u32 a, b, d;
  } examples[] = {{2, 5, 3},
                  {0xffffffff, 0, 1},
                  {0x80000000, 0, 0x80000000},
                  {0x80000000, 1, 0x7fffffff},
                  {0x80000000, 0xffffffff, 0x7fffffff},
                  {0x80000000, 0xfffffffe, 0x7ffffffe},
                  {7, 7, 0}};
  std::vector<ScalarInput> inputs;
  for (const auto &e : examples)
    inputs.push_back({e.a, e.b, 0, 1});
  checkScalar("s_absdiff_i32 s16, s8, s10", false, inputs, [&](const ScalarInput &in) {
    for (const auto &e : examples)
      if (e.a == in.a && e.b == in.b)
        return ScalarResult{e.d, e.d != 0};
    return ScalarResult{};
  });
}

TEST(Sop2, MinimumAndMaximum) {
  check32("s_min_i32",
          rule32([](u32 a, u32 b, bool) { return ScalarResult{i32(a) < i32(b) ? a : b, i32(a) < i32(b)}; }));
  check32("s_min_u32", rule32([](u32 a, u32 b, bool) { return ScalarResult{a < b ? a : b, a < b}; }));
  check32("s_max_i32",
          rule32([](u32 a, u32 b, bool) { return ScalarResult{i32(a) > i32(b) ? a : b, i32(a) > i32(b)}; }));
  check32("s_max_u32", rule32([](u32 a, u32 b, bool) { return ScalarResult{a > b ? a : b, a > b}; }));
}

TEST(Sop2, Select) {
  check32("s_cselect_b32", rule32([](u32 a, u32 b, bool scc) { return ScalarResult{scc ? a : b, {}}; }));
  check64("s_cselect_b64", rule64([](u64 a, u64 b, bool scc) { return ScalarResult{scc ? a : b, {}}; }));
}

TEST(Sop2, Bitwise) {
  const struct {
    const char *name;
    bool (*f)(bool, bool);
  } operations[] = {
      {"and", [](bool a, bool b) { return a && b; }},    {"or", [](bool a, bool b) { return a || b; }},
      {"xor", [](bool a, bool b) { return a != b; }},    {"andn2", [](bool a, bool b) { return a && !b; }},
      {"orn2", [](bool a, bool b) { return a || !b; }},  {"nand", [](bool a, bool b) { return !(a && b); }},
      {"nor", [](bool a, bool b) { return !(a || b); }}, {"xnor", [](bool a, bool b) { return a == b; }},
  };
  for (const auto &op : operations) {
    check32(std::string("s_") + op.name + "_b32", bits(32, op.f));
    check64(std::string("s_") + op.name + "_b64", bits(64, op.f));
  }
}

TEST(Sop2, Shifts) {
  check32("s_lshl_b32", rule32([](u32 a, u32 b, bool) {
            const u64 d = u32(a * (1ull << (b % 32)));
            return ScalarResult{d, d != 0};
          }));
  check32("s_lshr_b32", rule32([](u32 a, u32 b, bool) {
            const u64 d = a / (1ull << (b % 32));
            return ScalarResult{d, d != 0};
          }));
  check32("s_ashr_i32", rule32([](u32 a, u32 b, bool) {
            const u64 d = fieldOf(a, 32, b % 32, 32, true);
            return ScalarResult{d, d != 0};
          }));
  check64By32("s_lshl_b64", rule64([](u64 a, u64 b, bool) {
                const u64 d = u64((unsigned __int128)a * (1ull << (b % 64)));
                return ScalarResult{d, d != 0};
              }));
  check64By32("s_lshr_b64", rule64([](u64 a, u64 b, bool) {
                const u64 d = a / (1ull << (b % 64));
                return ScalarResult{d, d != 0};
              }));
  check64By32("s_ashr_i64", rule64([](u64 a, u64 b, bool) {
                const u64 d = fieldOf(a, 64, b % 64, 64, true);
                return ScalarResult{d, d != 0};
              }));
}

TEST(Sop2, BitFields) {
  check32("s_bfm_b32", rule32([](u32 a, u32 b, bool) {
            u32 d = 0;
            for (unsigned n = 0; n < a % 32 && n + b % 32 < 32; ++n)
              d |= 1u << (n + b % 32);
            return ScalarResult{d, {}};
          }));
  checkScalar("s_bfm_b64 s[16:17], s8, s10", true, edgeInputs(true), [](const ScalarInput &in) {
    u64 d = 0;
    for (unsigned n = 0; n < in.a % 64 && n + in.b % 64 < 64; ++n)
      d |= 1ull << (n + in.b % 64);
    return ScalarResult{d, {}};
  });
  for (const bool isSigned : {false, true}) {
    check32(isSigned ? "s_bfe_i32" : "s_bfe_u32", rule32([=](u32 a, u32 b, bool) {
              const u64 d = fieldOf(a, 32, b % 32, b >> 16 & 127, isSigned);
              return ScalarResult{d, d != 0};
            }));
    check64By32(isSigned ? "s_bfe_i64" : "s_bfe_u64", rule64([=](u64 a, u64 b, bool) {
                  const u64 d = fieldOf(a, 64, b % 64, b >> 16 & 127, isSigned);
                  return ScalarResult{d, d != 0};
                }));
  }
}

TEST(Sop2, Multiply) {
  check32("s_mul_i32", rule32([](u32 a, u32 b, bool) { return ScalarResult{u64(i128(i32(a)) * i32(b)), {}}; }));
  check32("s_mul_hi_u32", rule32([](u32 a, u32 b, bool) { return ScalarResult{u64(a) * b >> 32, {}}; }));
  check32("s_mul_hi_i32", rule32([](u32 a, u32 b, bool) { return ScalarResult{u64(i64(i32(a)) * i32(b)) >> 32, {}}; }));
}

TEST(Sop2, Pack) {
  check32("s_pack_ll_b32_b16", rule32([](u32 a, u32 b, bool) { return ScalarResult{pack16(a, b & 0xffff), {}}; }));
  check32("s_pack_lh_b32_b16", rule32([](u32 a, u32 b, bool) { return ScalarResult{pack16(a, b >> 16), {}}; }));
  check32("s_pack_hh_b32_b16", rule32([](u32 a, u32 b, bool) { return ScalarResult{pack16(a >> 16, b >> 16), {}}; }));
}

TEST(Sop2, ConstantsAsSources) {
  ExecTest t;
  t.setS64(kVcc, 0);
  t.scc(true);
  ASSERT_TRUE(t.run(R"(
    s_cselect_b32 s0, -16, 64
    s_add_u32 s1, 0x12345678, 1
    s_and_b64 s[2:3], -1, -2
    s_or_b64 s[4:5], 0x80000000, 0
    s_ashr_i64 s[6:7], 0x80000000, 4
    s_add_u32 s8, 1.0, 0
    s_or_b64 s[10:11], 0.5, 0
    s_or_b64 s[12:13], src_shared_base, 0
    s_or_b32 s14, src_private_limit, 0
    s_or_b32 s15, src_vccz, 0
    s_or_b32 s16, src_scc, 0
    s_or_b32 s17, src_execz, 0)"));
  EXPECT_EQ(t.s(0), u32(-16));
  EXPECT_EQ(t.s(1), 0x12345679u);
  EXPECT_EQ(t.s64(2), ~1ull);
  EXPECT_EQ(t.s64(4), 0x80000000ull) << "literals of unsigned operands are zero-extended";
  EXPECT_EQ(t.s64(6), 0xfffffffff8000000ull) << "literals of signed operands are sign-extended";
  EXPECT_EQ(t.s(8), f32(1.0f));
  EXPECT_EQ(t.s64(10), f64(0.5));
  EXPECT_EQ(t.s64(12), t.sharedAperture());
  EXPECT_EQ(t.s(14), 0xffffffffu);
  EXPECT_EQ(t.s(15), 1u);
  EXPECT_EQ(t.s(16), 1u);
  EXPECT_EQ(t.s(17), 0u);
}

TEST(Sop2, WritesExecAndVcc) {
  ExecTest t;
  t.exec(0xff);
  ASSERT_TRUE(t.run(R"(
    s_and_b64 exec, exec, 0x3c
    v_mov_b32 v0, 1
    s_or_b64 vcc, exec, 1)"));
  EXPECT_EQ(t.exec(), 0x3cull);
  EXPECT_EQ(t.vcc(), 0x3dull);
  EXPECT_EQ(t.v(0, 1), kPoison);
  EXPECT_EQ(t.v(0, 2), 1u);
}

TEST(Sop2, ForkRunsTheSmallerPartFirstAndJoinTheOther) {
  ExecTest t;
  t.exec(0xff);
  t.setS64(40, 0x07); // three lanes pass, five fail
  t.s(44) = 0;
  ASSERT_TRUE(t.run(R"(
      s_mov_b32 s50, 0
      s_getpc_b64 s[42:43]
    here:
      s_add_u32 s42, s42, taken-here
      s_addc_u32 s43, s43, 0
      s_cbranch_g_fork s[40:41], s[42:43]
      s_mul_i32 s50, s50, 10
      s_add_u32 s50, s50, 1      // failed
      s_mov_b64 s[60:61], exec
      s_branch join
    taken:
      s_mul_i32 s50, s50, 10
      s_add_u32 s50, s50, 2      // passed
      s_mov_b64 s[62:63], exec
    join:
      s_cbranch_join s44)"));
  EXPECT_EQ(t.s(50), 21u);
  EXPECT_EQ(t.s64(60), 0xf8ull);
  EXPECT_EQ(t.s64(62), 0x07ull);
  EXPECT_EQ(t.mode() >> 29, 0u);
}

TEST(Sop2, ForkWithAllLanesAgreeingIsABranch) {
  for (const uint64_t mask : {~0ull, 0ull}) {
    ExecTest t;
    t.exec(0xf0);
    t.setS64(40, mask);
    t.s(44) = 0;
    ASSERT_TRUE(t.run(R"(
        s_cbranch_i_fork s[40:41], taken
        s_mov_b32 s50, 1
        s_branch join
      taken:
        s_mov_b32 s50, 2
      join:
        s_cbranch_join s44)"));
    EXPECT_EQ(t.s(50), mask ? 2u : 1u);
    EXPECT_EQ(t.exec(), 0xf0ull);
  }
}

TEST(Sop2, ReturnFromTrapOutsideATrapStops) {
  ExecTest t;
  EXPECT_FALSE(t.run("s_rfe_restore_b64 s[4:5], s2"));
  EXPECT_EQ(t.fault().kind, Fault::Kind::IllegalInstruction);
}

} // namespace
} // namespace luthier::vgpu::test
