// SOP1 against the manual's definitions.

#include "scalar_cases.h"

namespace luthier::vgpu::test {
namespace {

using u32 = uint32_t;
using u64 = uint64_t;
using i32 = int32_t;

using Rule = std::function<ScalarResult(const ScalarInput &)>;

void check(const std::string &instruction, bool wide, const Rule &rule) {
  checkScalar(instruction, wide, edgeInputs(false), rule);
}

/// Both widths of an instruction, named by its suffix; `f` gets the source cut to `bits`.
void checkBoth(const std::string &name, bool wideResult, bool writesScc,
               const std::function<u64(u64 a, unsigned bits)> &f) {
  for (const unsigned bits : {32u, 64u}) {
    const bool wide = wideResult && bits == 64;
    const std::string text =
        name + (bits == 64 ? "_b64 " : "_b32 ") + (wide ? "s[16:17]" : "s16") + (bits == 64 ? ", s[8:9]" : ", s8");
    check(text, wide, [=](const ScalarInput &in) {
      const u64 d = f(bits == 64 ? in.a : in.a & 0xffffffff, bits);
      const u64 cut = wide ? d : d & 0xffffffff;
      return ScalarResult{d, writesScc ? std::optional(cut != 0) : std::nullopt};
    });
  }
}

TEST(Sop1, Moves) {
  checkBoth("s_mov", true, false, [](u64 a, unsigned) { return a; });
  check("s_cmov_b32 s16, s8", false, [](const ScalarInput &in) { return ScalarResult{in.scc ? in.a : in.d, {}}; });
  check("s_cmov_b64 s[16:17], s[8:9]", true,
        [](const ScalarInput &in) { return ScalarResult{in.scc ? in.a : in.d, {}}; });
}

TEST(Sop1, BitOperations) {
  checkBoth("s_not", true, true, [](u64 a, unsigned) { return ~a; });
  checkBoth("s_wqm", true, true, [](u64 a, unsigned bits) {
    u64 d = 0;
    for (unsigned n = 0; n < bits; ++n)
      for (unsigned m = n & ~3u; m <= (n | 3); ++m)
        d |= u64(a >> m & 1) << n;
    return d;
  });
  checkBoth("s_quadmask", true, true, [](u64 a, unsigned bits) {
    u64 d = 0;
    for (unsigned n = 0; n < bits / 4; ++n)
      d |= u64((a >> (4 * n) & 15) != 0) << n;
    return d;
  });
  checkBoth("s_brev", true, false, [](u64 a, unsigned bits) {
    u64 d = 0;
    for (unsigned n = 0; n < bits; ++n)
      d |= u64(a >> n & 1) << (bits - 1 - n);
    return d;
  });
  check("s_bitreplicate_b64_b32 s[16:17], s8", true, [](const ScalarInput &in) {
    u64 d = 0;
    for (unsigned n = 0; n < 64; ++n)
      d |= u64(in.a >> (n / 2) & 1) << n;
    return ScalarResult{d, {}};
  });
}

TEST(Sop1, Counts) {
  for (const bool value : {false, true}) {
    checkBoth(value ? "s_bcnt1_i32" : "s_bcnt0_i32", false, true, [=](u64 a, unsigned bits) {
      u64 d = 0;
      for (unsigned n = 0; n < bits; ++n)
        d += (a >> n & 1) == value;
      return d;
    });
    checkBoth(value ? "s_ff1_i32" : "s_ff0_i32", false, false, [=](u64 a, unsigned bits) {
      for (unsigned n = 0; n < bits; ++n)
        if ((a >> n & 1) == value)
          return u64(n);
      return ~u64(0);
    });
  }
  const auto fromTop = [](u64 a, unsigned bits, bool wanted, unsigned from) {
    for (unsigned n = from; n < bits; ++n)
      if ((a >> (bits - 1 - n) & 1) == wanted)
        return u64(n);
    return ~u64(0);
  };
  checkBoth("s_flbit_i32", false, false, [=](u64 a, unsigned bits) { return fromTop(a, bits, true, 0); });
  check("s_flbit_i32 s16, s8", false,
        [=](const ScalarInput &in) { return ScalarResult{fromTop(u32(in.a), 32, !(in.a >> 31 & 1), 1), {}}; });
  check("s_flbit_i32_i64 s16, s[8:9]", false,
        [=](const ScalarInput &in) { return ScalarResult{fromTop(in.a, 64, !(in.a >> 63), 1), {}}; });
}

TEST(Sop1, SignsAndBits) {
  check("s_sext_i32_i8 s16, s8", false,
        [](const ScalarInput &in) { return ScalarResult{(in.a & 0xff) | (in.a & 0x80 ? 0xffffff00 : 0), {}}; });
  check("s_sext_i32_i16 s16, s8", false,
        [](const ScalarInput &in) { return ScalarResult{(in.a & 0xffff) | (in.a & 0x8000 ? 0xffff0000 : 0), {}}; });
  check("s_abs_i32 s16, s8", false, [](const ScalarInput &in) {
    const auto a = int64_t(i32(in.a));
    return ScalarResult{u64(a < 0 ? -a : a), a != 0};
  });
  check("s_bitset0_b32 s16, s8", false,
        [](const ScalarInput &in) { return ScalarResult{in.d & ~(1ull << in.a % 32), {}}; });
  check("s_bitset1_b32 s16, s8", false,
        [](const ScalarInput &in) { return ScalarResult{in.d | 1ull << in.a % 32, {}}; });
  check("s_bitset0_b64 s[16:17], s8", true,
        [](const ScalarInput &in) { return ScalarResult{in.d & ~(1ull << in.a % 64), {}}; });
  check("s_bitset1_b64 s[16:17], s8", true,
        [](const ScalarInput &in) { return ScalarResult{in.d | 1ull << in.a % 64, {}}; });
}

TEST(Sop1, SaveExec) {
  const struct {
    const char *name;
    bool (*f)(bool, bool);
  } operations[] = {
      {"and", [](bool a, bool e) { return a && e; }},    {"or", [](bool a, bool e) { return a || e; }},
      {"xor", [](bool a, bool e) { return a != e; }},    {"andn2", [](bool a, bool e) { return a && !e; }},
      {"orn2", [](bool a, bool e) { return a || !e; }},  {"nand", [](bool a, bool e) { return !(a && e); }},
      {"nor", [](bool a, bool e) { return !(a || e); }}, {"xnor", [](bool a, bool e) { return a == e; }},
      {"andn1", [](bool a, bool e) { return !a && e; }}, {"orn1", [](bool a, bool e) { return !a || e; }},
  };
  const u64 masks[] = {0, ~0ull, 0xff00ff00ff00ff00, 1ull << 63, 0x123456789abcdef0};
  for (const auto &op : operations)
    for (const u64 a : masks)
      for (const u64 exec : masks) {
        u64 want = 0;
        for (unsigned n = 0; n < 64; ++n)
          want |= u64(op.f(a >> n & 1, exec >> n & 1)) << n;
        ExecTest t;
        t.setS64(4, a);
        t.exec(exec);
        t.scc(want == 0);
        ASSERT_TRUE(t.run(std::string("s_") + op.name + "_saveexec_b64 s[6:7], s[4:5]"));
        EXPECT_EQ(t.exec(), want) << op.name;
        EXPECT_EQ(t.s64(6), exec) << op.name;
        EXPECT_EQ(t.scc(), want != 0) << op.name;
      }
}

TEST(Sop1, WriteExec) {
  for (const u64 a : {0ull, ~0ull, 0xff0ull})
    for (const u64 exec : {0ull, ~0ull, 0xf0full}) {
      ExecTest t;
      t.setS64(4, a);
      t.exec(exec);
      ASSERT_TRUE(t.run("s_andn1_wrexec_b64 s[6:7], s[4:5]"));
      EXPECT_EQ(t.exec(), ~a & exec);
      EXPECT_EQ(t.s64(6), ~a & exec);
      EXPECT_EQ(t.scc(), (~a & exec) != 0);
      t.exec(exec);
      ASSERT_TRUE(t.run("s_andn2_wrexec_b64 s[4:5], s[4:5]"));
      EXPECT_EQ(t.exec(), a & ~exec);
      EXPECT_EQ(t.s64(4), a & ~exec);
      EXPECT_EQ(t.scc(), (a & ~exec) != 0);
    }
}

TEST(Sop1, SaveExecWithItsSourceAsDestination) {
  ExecTest t;
  t.vcc(0xf0);
  t.exec(0x3c);
  ASSERT_TRUE(t.run("s_and_saveexec_b64 vcc, vcc"));
  EXPECT_EQ(t.exec(), 0x30ull);
  EXPECT_EQ(t.vcc(), 0x3cull);
}

TEST(Sop1, RelativeMoves) {
  ExecTest t;
  t.s(17) = 170;
  t.s(7) = 70;
  t.setS64(20, 0x1122334455667788);
  ASSERT_TRUE(t.run(R"(
    s_mov_b32 m0, 10
    s_movrels_b32 s5, s7
    s_movreld_b32 s15, s7
    s_movrels_b64 s[30:31], s[10:11]
    s_movreld_b64 s[32:33], s[20:21])"));
  EXPECT_EQ(t.s(5), 170u);
  EXPECT_EQ(t.s(25), 70u);
  EXPECT_EQ(t.s64(30), 0x1122334455667788u);
  EXPECT_EQ(t.s64(42), 0x1122334455667788u);
}

TEST(Sop1, RelativeMovesOutOfRange) {
  ExecTest t;
  t.s(0) = 1234;
  t.s(1) = 5678;
  t.vcc(0);
  for (const u32 index : {101u, 102u, 105u, 0x80000000u, 0xffffffffu}) {
    t.m0(index);
    t.s(6) = 9;
    const bool inRange = index + u64(1) < 102;
    ASSERT_TRUE(t.run("s_movrels_b32 s5, s1\ns_movreld_b32 s1, s6\ns_movrels_b64 s[8:9], s[0:1]"));
    EXPECT_EQ(t.s(5), inRange ? kPoison : 1234u) << index;
    EXPECT_EQ(t.s64(8), 1234 | 5678ull << 32) << "a pair needs both registers";
    EXPECT_EQ(t.vcc(), 0u);
    EXPECT_EQ(t.m0(), index);
    EXPECT_EQ(t.exec(), ~0ull);
  }
}

TEST(Sop1, ProgramCounter) {
  ExecTest t;
  ASSERT_TRUE(t.run(R"(
      s_getpc_b64 s[0:1]
    here:
      s_mov_b32 s40, 0
      s_add_u32 s2, s0, function-here
      s_addc_u32 s3, s1, 0
      s_swappc_b64 s[4:5], s[2:3]
      s_add_u32 s40, s40, 1
      s_mov_b64 s[6:7], s[2:3]
      s_swappc_b64 s[6:7], s[6:7]
      s_add_u32 s40, s40, 1
      s_mov_b64 s[4:5], s[6:7]
      s_branch done
    function:
      s_add_u32 s40, s40, 16
      s_cmp_eq_u32 s40, 33
      s_cbranch_scc1 second
      s_setpc_b64 s[4:5]
    second:
      s_setpc_b64 s[6:7]
    done:)"));
  EXPECT_EQ(t.s64(0), t.codeAddress() + 4);
  EXPECT_EQ(t.s(40), 34u);
}

TEST(Sop1, JumpsOutOfMappedMemoryFault) {
  ExecTest t;
  t.setS64(0, 0x123000);
  EXPECT_FALSE(t.run("s_setpc_b64 s[0:1]"));
  EXPECT_EQ(t.fault().kind, Fault::Kind::Memory);
  EXPECT_EQ(t.fault().address, 0x123000u);
}

TEST(Sop1, ReturnFromTrapOutsideATrapStops) {
  ExecTest t;
  EXPECT_FALSE(t.run("s_rfe_b64 s[4:5]"));
  EXPECT_EQ(t.fault().kind, Fault::Kind::IllegalInstruction);
}

TEST(Sop1, GprIndex) {
  ExecTest t;
  t.m0(0x12345678);
  t.s(0) = 0xabcd;
  ASSERT_TRUE(t.run("s_set_gpr_idx_idx s0"));
  EXPECT_EQ(t.m0(), 0x123456cdu);
}

} // namespace
} // namespace luthier::vgpu::test
