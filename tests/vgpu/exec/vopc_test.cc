// VOPC: every compare against the manual's definition (section 12.9), and that all opcodes of VOP1, VOP2 and VOPC
// exist.

#include "valu_cases.h"

namespace luthier::vgpu::test {
namespace {

/// Both forms of v_cmp and v_cmpx, for every pair of values.
void compare(const std::string &name, Width a, Width b, const Values &as, const Values &bs,
             const std::function<bool(uint64_t, uint64_t)> &expected) {
  for (const std::string op : {"v_cmp_", "v_cmpx_"})
    for (const bool longForm : {false, true}) {
      ExecTest t;
      const std::string text = op + name + (longForm ? "_e64 s[8:9], " : "_e32 vcc, ") +
                               ::luthier::vgpu::test::name(a, 2) + ", " + ::luthier::vgpu::test::name(b, 4);
      const size_t count = as.size() * bs.size();
      for (size_t first = 0; first < count; first += 64) {
        uint64_t wanted = 0;
        const uint64_t exec = first ? ~0ull : 0xf7fffffffffffffe;
        for (unsigned lane = 0; lane < 64; ++lane) {
          const size_t n = (first + lane) % count;
          const uint64_t x = as[n / bs.size()], y = bs[n % bs.size()];
          put(t, a, 2, lane, x);
          put(t, b, 4, lane, y);
          wanted |= uint64_t(expected(x, y)) << lane;
        }
        t.exec(exec);
        ASSERT_TRUE(t.run(text));
        const uint64_t actual = longForm ? t.s64(8) : t.vcc();
        EXPECT_EQ(actual, wanted & exec) << std::hex << text << " from case " << first;
        EXPECT_EQ(t.exec(), op == "v_cmpx_" ? wanted & exec : exec) << text;
      }
    }
}

template <class T> void floats(const std::string &type, Width width, const Values &edges, T (*number)(uint64_t)) {
  auto test = [&](const char *predicate, bool (*f)(T, T)) {
    compare(predicate + ("_" + type), width, width, edges, edges,
            [&](uint64_t a, uint64_t b) { return f(number(a), number(b)); });
  };
  test("f", [](T, T) { return false; });
  test("lt", [](T a, T b) { return a < b; });
  test("eq", [](T a, T b) { return a == b; });
  test("le", [](T a, T b) { return a <= b; });
  test("gt", [](T a, T b) { return a > b; });
  test("lg", [](T a, T b) { return a < b || a > b; });
  test("ge", [](T a, T b) { return a >= b; });
  test("o", [](T a, T b) { return !std::isnan(a) && !std::isnan(b); });
  test("u", [](T a, T b) { return std::isnan(a) || std::isnan(b); });
  test("nge", [](T a, T b) { return !(a >= b); });
  test("nlg", [](T a, T b) { return !(a < b || a > b); });
  test("ngt", [](T a, T b) { return !(a > b); });
  test("nle", [](T a, T b) { return !(a <= b); });
  test("neq", [](T a, T b) { return !(a == b); });
  test("nlt", [](T a, T b) { return !(a < b); });
  test("tru", [](T, T) { return true; });
}

TEST(Vopc, F32) {
  floats<float>("f32", Width::W32, values(kEdgesF32), [](uint64_t x) { return asF32(uint32_t(x)); });
}
TEST(Vopc, F64) {
  floats<double>("f64", Width::W64, values(kEdgesF64), [](uint64_t x) { return asF64(x); });
}
TEST(Vopc, F16) {
  floats<float>("f16", Width::W32, values(kEdgesF16), [](uint64_t x) { return asF16(uint32_t(x)); });
}

template <class T> void integers(const std::string &type) {
  const Width width = sizeof(T) == 8 ? Width::W64 : Width::W32;
  Values edges = values(kEdgesU32);
  if (sizeof(T) == 8)
    edges = {0, 1, 0xffffffff, 0x100000000, 0x7fffffffffffffff, 0x8000000000000000, ~0ull, 0xffffffff00000000};
  auto test = [&](const char *predicate, bool (*f)(T, T)) {
    compare(predicate + ("_" + type), width, width, edges, edges,
            [&](uint64_t a, uint64_t b) { return f(static_cast<T>(a), static_cast<T>(b)); });
  };
  test("f", [](T, T) { return false; });
  test("lt", [](T a, T b) { return a < b; });
  test("eq", [](T a, T b) { return a == b; });
  test("le", [](T a, T b) { return a <= b; });
  test("gt", [](T a, T b) { return a > b; });
  test("ne", [](T a, T b) { return a != b; });
  test("ge", [](T a, T b) { return a >= b; });
  test("t", [](T, T) { return true; });
}

TEST(Vopc, I16) { integers<int16_t>("i16"); }
TEST(Vopc, U16) { integers<uint16_t>("u16"); }
TEST(Vopc, I32) { integers<int32_t>("i32"); }
TEST(Vopc, U32) { integers<uint32_t>("u32"); }
TEST(Vopc, I64) { integers<int64_t>("i64"); }
TEST(Vopc, U64) { integers<uint64_t>("u64"); }

template <unsigned Mantissa, unsigned Bits> unsigned classOf(uint64_t x) {
  const uint64_t sign = 1ull << (Bits - 1), infinity = sign - (1ull << Mantissa);
  const bool negative = x & sign;
  x &= sign - 1;
  if (x > infinity)
    return x >> (Mantissa - 1) & 1 ? 1 : 0;
  if (x == infinity)
    return negative ? 2 : 9;
  if (x >> Mantissa)
    return negative ? 3 : 8;
  if (x)
    return negative ? 4 : 7;
  return negative ? 5 : 6;
}

TEST(Vopc, Class) {
  Values masks = {0, 0x3ff, 0xfffffc00, 0x1fb};
  for (unsigned n = 0; n < 10; ++n)
    masks.push_back(1u << n);
  compare("class_f32", Width::W32, Width::W32, values(kEdgesF32), masks,
          [](uint64_t a, uint64_t b) { return b >> classOf<23, 32>(a) & 1; });
  compare("class_f64", Width::W64, Width::W32, values(kEdgesF64), masks,
          [](uint64_t a, uint64_t b) { return b >> classOf<52, 64>(a) & 1; });
  compare("class_f16", Width::W32, Width::W32, values(kEdgesF16), masks,
          [](uint64_t a, uint64_t b) { return b >> classOf<10, 16>(a) & 1; });
}

TEST(Vopc, DenormalsCompareAsZeroWhenTheModeFlushes) {
  ExecTest t;
  t.mode(kDefaultMode & ~uint32_t(mode::kDenormF32));
  t.setVector(1, 0x00000001);
  t.setVector(2, 0);
  ASSERT_TRUE(t.run("v_cmp_eq_f32 vcc, v1, v2"));
  EXPECT_EQ(t.vcc(), ~0ull);
  t.mode(kDefaultMode);
  ASSERT_TRUE(t.run("v_cmp_eq_f32 vcc, v1, v2"));
  EXPECT_EQ(t.vcc(), 0u);
}

TEST(Vopc, ModifiersConstantsAndSdwa) {
  ExecTest t;
  t.setVector(1, f32(-2.0f));
  ASSERT_TRUE(t.run("v_cmp_eq_f32_e64 s[4:5], |v1|, 2.0\nv_cmp_gt_f32_e64 s[6:7], -v1, 1.0 clamp"));
  EXPECT_EQ(t.s64(4), ~0ull);
  EXPECT_EQ(t.s64(6), ~0ull);
  t.setVector(1, 0x0080ff05);
  t.setVector(2, 0xffffffff);
  t.s(9) = 5;
  ASSERT_TRUE(t.run("v_cmp_eq_u32_sdwa s[4:5], sext(v1), v2 src0_sel:BYTE_1 src1_sel:DWORD\n"
                    "v_cmp_ne_u16_sdwa vcc, v1, s9 src0_sel:BYTE_0 src1_sel:DWORD"));
  EXPECT_EQ(t.s64(4), ~0ull);
  EXPECT_EQ(t.vcc(), 0u);
  t.setVector64(2, uint64_t(-1));
  ASSERT_TRUE(t.run("v_cmp_eq_i64 vcc, -1, v[2:3]"));
  EXPECT_EQ(t.vcc(), ~0ull);
}

/// Every opcode of the short encodings that LLVM knows for the target runs.
TEST(Vopc, AllOpcodesOfTheShortEncodings) {
  unsigned implemented = 0;
  auto visit = [&](uint32_t word) {
    ExecTest t;
    const uint32_t op2 = word >> 25; // v_madmk and v_madak have a literal behind them
    const bool literal = op2 == 23 || op2 == 24 || op2 == 36 || op2 == 37;
    const std::string text = ".long " + std::to_string(word) + (literal ? "\n.long 0" : "");
    const auto result = t.run(text);
    if (result) {
      ++implemented;
      return;
    }
    const std::string &why = t.fault().text;
    if (why.find("is not an instruction") != std::string::npos)
      return;
    ADD_FAILURE() << std::hex << word << " " << why << result.message();
  };
  for (uint32_t op = 0; op < 256; ++op) {
    visit(0x7e000100 | op << 9);
    visit(0x7c000100 | op << 17);
    if (op < 62)
      visit(0x00000100 | op << 25);
  }
  EXPECT_EQ(implemented, 79u + 62u + 198u);
}

} // namespace
} // namespace luthier::vgpu::test
