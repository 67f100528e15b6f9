// Matrix instructions: where every element of every shape sits (matrix_shapes.h), broadcasts, AccVGPRs, and documented
// arithmetic. How they round is tested in matrix_test.cc.

#include "harness.h"
#include "matrix_shapes.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <string>

namespace luthier::vgpu::test {
namespace {

/// Puts the small integer `x` where element k of lane `lane` is.
void put(ExecTest &t, In in, unsigned reg, unsigned lane, unsigned k, int x) {
  auto set16 = [&](unsigned element, uint32_t bits) {
    uint32_t &word = t.v(reg + element / 2, lane);
    word = element % 2 ? (word & 0xffff) | bits << 16 : (word & 0xffff0000) | bits;
  };
  switch (in) {
  case In::F32:
    t.v(reg, lane) = f32(float(x));
    break;
  case In::F16:
    set16(k % 4, f16(float(x)));
    break;
  case In::Bf16:
    set16(k % 2, f32(float(x)) >> 16);
    break;
  case In::Bf16x4:
    set16(k % 4, f32(float(x)) >> 16);
    break;
  case In::I8: {
    uint32_t &word = t.v(reg, lane);
    word = (word & ~(0xffu << (8 * (k % 4)))) | uint32_t(x & 0xff) << (8 * (k % 4));
    break;
  }
  case In::F64:
    t.setV64(reg, lane, f64(x));
    break;
  case In::Xf32:
    t.v(reg + k % 2, lane) = f32(float(x));
    break;
  case In::I8x8:
  case In::Fp8:
  case In::Bf8: {
    const uint32_t code = in == In::I8x8 ? uint32_t(x & 0xff) : smallFloatCode(in == In::Bf8, x);
    uint32_t &word = t.v(reg + k % 8 / 4, lane);
    word = (word & ~(0xffu << (8 * (k % 4)))) | code << (8 * (k % 4));
    break;
  }
  }
}

std::string range(char file, unsigned first, unsigned count) {
  return count == 1 ? fmt::format("{}{}", file, first) : fmt::format("{}[{}:{}]", file, first, first + count - 1);
}

struct Options {
  unsigned cbsz = 0, abid = 0, blgp = 0;
  bool accA = false, accB = false, accC = false;
  int constantC = INT32_MIN; ///< C is this inline constant
};

unsigned laneOfB(unsigned blgp, unsigned lane) {
  static const int first[] = {0, 0, 32, 0, 0, 16, 32, 48};
  if (blgp == 1 || blgp == 2)
    return first[blgp] + lane % 32;
  if (blgp == 3)
    return (lane + 16) % 64;
  if (blgp >= 4)
    return first[blgp] + lane % 16;
  return lane;
}

void check(std::string_view target, const Shape &s, const Options &o) {
  constexpr unsigned kA = 2, kB = 4, kC = 8, kD = 40; // register numbers in either file
  const unsigned inputs = registersOfInput(s.in), outputs = registersOfD(s);
  std::string text =
      fmt::format("{} {}, {}, {}, {}", s.mnemonic, range(o.accC ? 'a' : 'v', kD, outputs),
                  range(o.accA ? 'a' : 'v', kA, inputs), range(o.accB ? 'a' : 'v', kB, inputs),
                  o.constantC != INT32_MIN ? std::to_string(o.constantC) : range(o.accC ? 'a' : 'v', kC, outputs));
  if (o.cbsz)
    text += fmt::format(" cbsz:{} abid:{}", o.cbsz, o.abid);
  if (o.blgp)
    text += fmt::format(" blgp:{}", o.blgp);
  SCOPED_TRACE(text);

  auto valueA = [](unsigned i, unsigned k, unsigned b) { return int((i * 7 + k * 3 + b * 5) % 13) - 6; };
  auto valueB = [](unsigned j, unsigned k, unsigned b) { return int((j * 5 + k * 11 + b * 3) % 11) - 5; };
  auto valueC = [](unsigned i, unsigned j, unsigned b) { return int(i * 100 + j * 3 + b); };
  // Which value the lane and element of B hold, for BLGP: by lane.
  ExecTest t(target);
  const unsigned a = o.accA ? kAccBase + kA : kA, b = o.accB ? kAccBase + kB : kB;
  const unsigned c = o.accC ? kAccBase + kC : kC, d = o.accC ? kAccBase + kD : kD;
  std::vector<std::vector<int>> inLaneOfB(64, std::vector<int>(16));
  std::vector<std::vector<unsigned>> slot(64, std::vector<unsigned>(16));
  const unsigned pack = valuesPerLane(s.in);
  for (unsigned block = 0; block < s.blocks; ++block)
    for (unsigned k = 0; k < s.k; ++k)
      for (unsigned i = 0; i < s.m; ++i) {
        put(t, s.in, a, s.lane(i, k, block), k, valueA(i, k, block));
        put(t, s.inB, b, s.lane(i, k, block), k, valueB(i, k, block));
        inLaneOfB[s.lane(i, k, block)][k % pack] = valueB(i, k, block);
      }
  for (unsigned block = 0; block < s.blocks; ++block)
    for (unsigned i = 0; i < s.m; ++i)
      for (unsigned j = 0; j < s.m; ++j) {
        const int x = valueC(i, j, block);
        const unsigned reg = c + s.registerOfD(i, block), lane = s.laneOfD(i, j, block);
        if (s.in == In::F64)
          t.setV64(reg, lane, f64(x));
        else
          t.v(reg, lane) = isInteger(s.in) ? uint32_t(x) : f32(float(x));
      }
  t.exec(0x1); // ignored
  ASSERT_TRUE(t.run(text));
  unsigned failures = 0;
  for (unsigned block = 0; block < s.blocks; ++block)
    for (unsigned i = 0; i < s.m; ++i)
      for (unsigned j = 0; j < s.m; ++j) {
        const unsigned group = 1u << o.cbsz;
        const unsigned blockOfA = o.cbsz ? block / group * group + o.abid : block;
        int sum = o.constantC != INT32_MIN ? o.constantC : valueC(i, j, block);
        for (unsigned k = 0; k < s.k; ++k)
          sum += valueA(i, k, blockOfA) * inLaneOfB[laneOfB(o.blgp, s.lane(j, k, block))][k % pack];
        const unsigned reg = d + s.registerOfD(i, block), lane = s.laneOfD(i, j, block);
        const double got = s.in == In::F64   ? asF64(t.v64(reg, lane))
                           : isInteger(s.in) ? double(int32_t(t.v(reg, lane)))
                                             : double(asF32(t.v(reg, lane)));
        EXPECT_EQ(got, double(sum)) << "row " << i << " column " << j << " block " << block;
        if (got != sum && ++failures > 4)
          return;
      }
}

/// Calls `each` for all targets with matrix instructions and all shapes that they have.
template <class Each> void forAllShapes(Each each) {
  for (const std::string_view target : {"gfx908", "gfx90a", "gfx942"})
    for (const Shape &s : shapesOf(target))
      if (has(target, s)) {
        SCOPED_TRACE(target);
        each(target, s);
      }
}
/// gfx908 has C and D in AccVGPRs, and nothing else.
Options placed(std::string_view target, Options o) {
  o.accC |= target == "gfx908";
  return o;
}

TEST(Mfma, Layouts) {
  forAllShapes([](std::string_view target, const Shape &s) { check(target, s, placed(target, {})); });
}

TEST(Mfma, AccumulationRegisters) {
  forAllShapes([](std::string_view target, const Shape &s) {
    check(target, s, {.accA = true, .accC = true});
    check(target, s, placed(target, {.accB = true}));
    check(target, s, {.accA = true, .accB = true, .accC = true});
  });
}

TEST(Mfma, ConstantC) {
  forAllShapes([](std::string_view target, const Shape &s) {
    if (target == "gfx908") // it has a fault there, which makes LLVM refuse constants
      return;
    check(target, s, {.accC = true, .constantC = 0});
    // Integers as such; floating-point constants in the format of C.
    if (isInteger(s.in))
      check(target, s, placed(target, {.constantC = -5}));
  });
  ExecTest t;
  t.setVector(2, 0);
  t.setVector(3, 0);
  ASSERT_TRUE(t.run("v_mfma_f32_4x4x1f32 v[8:11], v2, v3, 2.0\n"
                    "v_mfma_f64_4x4x4f64 v[12:13], v[2:3], v[2:3], -4.0"));
  EXPECT_EQ(t.v(9, 33), f32(2.0f));
  EXPECT_EQ(t.v64(12, 63), f64(-4.0));
}

TEST(Mfma, BroadcastOfA) {
  forAllShapes([](std::string_view target, const Shape &s) {
    for (unsigned cbsz = 1; (1u << cbsz) <= s.blocks && s.in != In::F64; ++cbsz)
      for (unsigned abid = 0; abid < (1u << cbsz); ++abid)
        check(target, s, placed(target, {.cbsz = cbsz, .abid = abid}));
  });
}

TEST(Mfma, LaneGroupsOfB) {
  forAllShapes([](std::string_view target, const Shape &s) {
    for (unsigned blgp = 1; blgp < 8 && s.in != In::F64; ++blgp)
      check(target, s, placed(target, {.blgp = blgp}));
  });
}

/// BLGP of f64 negates on gfx942.
TEST(Mfma, NegatedMatrices) {
  ExecTest t("gfx942");
  t.setVector64(2, f64(2.0));
  t.setVector64(4, f64(3.0));
  t.setVector64(8, f64(100.0));
  ASSERT_TRUE(t.run("v_mfma_f64_4x4x4_4b_f64 v[12:13], v[2:3], v[4:5], v[8:9] neg:[1,0,0]\n"
                    "v_mfma_f64_4x4x4_4b_f64 v[14:15], v[2:3], v[4:5], v[8:9] neg:[0,1,1]\n"
                    "v_mfma_f64_4x4x4_4b_f64 v[16:17], v[2:3], v[4:5], v[8:9] neg:[1,1,1]"));
  EXPECT_EQ(asF64(t.v64(12, 9)), 100.0 - 24);
  EXPECT_EQ(asF64(t.v64(14, 9)), -100.0 - 24);
  EXPECT_EQ(asF64(t.v64(16, 9)), -100.0 + 24);
}

// --- Sparse matrices (MI300's manual, 7.4) ---------------------------------------------------------------------------

struct SparseShape {
  const char *mnemonic;
  In inA, inB;
  unsigned m, k;
};
constexpr SparseShape kSparse[] = {
    {"v_smfmac_f32_16x16x32_f16", In::F16, In::F16, 16, 32},
    {"v_smfmac_f32_32x32x16_f16", In::F16, In::F16, 32, 16},
    {"v_smfmac_f32_16x16x32_bf16", In::Bf16x4, In::Bf16x4, 16, 32},
    {"v_smfmac_f32_32x32x16_bf16", In::Bf16x4, In::Bf16x4, 32, 16},
    {"v_smfmac_i32_16x16x64_i8", In::I8x8, In::I8x8, 16, 64},
    {"v_smfmac_i32_32x32x32_i8", In::I8x8, In::I8x8, 32, 32},
    {"v_smfmac_f32_16x16x64_bf8_bf8", In::Bf8, In::Bf8, 16, 64},
    {"v_smfmac_f32_16x16x64_bf8_fp8", In::Bf8, In::Fp8, 16, 64},
    {"v_smfmac_f32_16x16x64_fp8_bf8", In::Fp8, In::Bf8, 16, 64},
    {"v_smfmac_f32_16x16x64_fp8_fp8", In::Fp8, In::Fp8, 16, 64},
    {"v_smfmac_f32_32x32x32_bf8_bf8", In::Bf8, In::Bf8, 32, 32},
    {"v_smfmac_f32_32x32x32_bf8_fp8", In::Bf8, In::Fp8, 32, 32},
    {"v_smfmac_f32_32x32x32_fp8_bf8", In::Fp8, In::Bf8, 32, 32},
    {"v_smfmac_f32_32x32x32_fp8_fp8", In::Fp8, In::Fp8, 32, 32},
};

/// Puts `x` where item `item` of a lane is, whatever the number of registers.
void putItem(ExecTest &t, In in, unsigned reg, unsigned lane, unsigned item, int x) {
  const unsigned perRegisters = in == In::F16 || in == In::Bf16x4 ? 4 : 8; // of two registers, which put() knows
  put(t, in, reg + item / perRegisters * 2, lane, item % perRegisters, x);
}

void checkSparse(const SparseShape &s, unsigned abid, unsigned cbsz, bool acc) {
  const bool wide = bitsOf(s.inA) == 16; // two values of A of every four, in one register of an index
  const unsigned itemsOfA = wide ? 4 : 8, itemsOfB = 2 * itemsOfA, groups = s.k / itemsOfB, outputs = s.m * s.m / 64;
  const std::string text =
      fmt::format("{} {}, v[2:3], v[4:7], v1{}{}", s.mnemonic, range(acc ? 'a' : 'v', 8, outputs),
                  cbsz ? fmt::format(" cbsz:{}", cbsz) : "", abid ? fmt::format(" abid:{}", abid) : "");
  SCOPED_TRACE(text);
  ExecTest t("gfx942");
  std::vector<std::vector<int>> a(s.m, std::vector<int>(s.k)), b(s.k, std::vector<int>(s.m));
  static constexpr unsigned kPairs[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
  const unsigned set = cbsz & 3 ? 0 : abid % (wide ? 4 : 2), indexBits = wide ? 8 : 16;
  t.setVector(1, 0xa5c3965a); // other sets
  for (unsigned i = 0; i < s.m; ++i)
    for (unsigned group = 0; group < groups; ++group) {
      const unsigned lane = i + s.m * group;
      uint32_t index = 0;
      for (unsigned four = 0; four < itemsOfA / 2; ++four)
        for (unsigned n = 0; n < 2; ++n) {
          const unsigned which = kPairs[(i * 5 + group * 3 + four * 7) % 6][n], item = 2 * four + n;
          const unsigned k = group * itemsOfB + 4 * four + which;
          a[i][k] = int((i * 7 + k * 3) % 13) - 6;
          putItem(t, s.inA, 2, lane, item, a[i][k]);
          index |= which << (2 * item);
        }
      const uint32_t mask = ((1u << indexBits) - 1) << (set * indexBits);
      t.v(1, lane) = (t.v(1, lane) & ~mask) | index << (set * indexBits);
      for (unsigned item = 0; item < itemsOfB; ++item) {
        const unsigned k = group * itemsOfB + item;
        b[k][i] = int((i * 5 + k * 11) % 11) - 5;
        putItem(t, s.inB, 4, lane, item, b[k][i]);
      }
    }
  const bool integer = isInteger(s.inA);
  const unsigned d = acc ? kAccBase + 8 : 8;
  const auto place = [&](unsigned i, unsigned j) -> uint32_t & {
    return s.m == 32 ? t.v(d + d32Register(i, 0), d32Lane(i, j, 0)) : t.v(d + d16Register(i, 0), d16Lane(i, j, 0));
  };
  for (unsigned i = 0; i < s.m; ++i)
    for (unsigned j = 0; j < s.m; ++j)
      place(i, j) = integer ? i * 100 + j : f32(float(i * 100 + j));
  t.exec(0x2); // ignored
  ASSERT_TRUE(t.run(text));
  unsigned failures = 0;
  for (unsigned i = 0; i < s.m; ++i)
    for (unsigned j = 0; j < s.m; ++j) {
      int sum = int(i * 100 + j);
      for (unsigned k = 0; k < s.k; ++k)
        sum += a[i][k] * b[k][j];
      const double got = integer ? double(int32_t(place(i, j))) : double(asF32(place(i, j)));
      EXPECT_EQ(got, double(sum)) << "row " << i << " column " << j;
      if (got != sum && ++failures > 4)
        return;
    }
}

TEST(Mfma, SparseMatrices) {
  for (const SparseShape &s : kSparse) {
    checkSparse(s, 0, 0, false);
    checkSparse(s, 0, 0, true);
    checkSparse(s, 1, 0, false);
    checkSparse(s, 1, 1, false); // the first set after all
    if (bitsOf(s.inA) == 16) {
      checkSparse(s, 2, 0, false);
      checkSparse(s, 3, 0, true);
    }
  }
}

TEST(Mfma, ModeThatClampsStops) {
  ExecTest t("gfx942");
  t.mode(kDefaultMode | mode::kFp16Overflow);
  EXPECT_FALSE(t.run("v_mfma_f32_4x4x4_16b_f16 v[12:15], v[2:3], v[4:5], 0"));
  EXPECT_FALSE(t.run("v_mfma_i32_4x4x4_16b_i8 v[12:15], v2, v3, 0"));
  EXPECT_FALSE(t.run("v_mfma_f64_4x4x4_4b_f64 v[12:13], v[2:3], v[4:5], 0"));
  EXPECT_FALSE(t.run("v_smfmac_f32_16x16x32_f16 v[12:15], v[2:3], v[4:7], v1"));
}

/// f32 on gfx942: MODE decides about denormals of A and B alone, and rounding is to nearest whatever it says.
TEST(Mfma, SumsOfGfx942IgnoreMode) {
  ExecTest t("gfx942");
  t.setVector(2, f32(1.0f));
  t.setVector(3, 0x00000003);
  for (unsigned r = 8; r < 12; ++r)
    t.setVector(r, 0x00000001);
  ASSERT_TRUE(t.run("v_mfma_f32_4x4x1_16b_f32 v[12:15], v2, v3, v[8:11]"));
  EXPECT_EQ(t.v(12, 0), 4u);
  t.mode(kDefaultMode & ~mode::kDenormF32);
  ASSERT_TRUE(t.run("v_mfma_f32_4x4x1_16b_f32 v[12:15], v2, v3, v[8:11]"));
  EXPECT_EQ(t.v(12, 0), 1u); // B is 0, C is kept
  t.mode(kDefaultMode | 1);  // towards +inf
  t.setVector(3, f32(0x1p-30f));
  for (unsigned r = 8; r < 12; ++r)
    t.setVector(r, f32(1.0f));
  ASSERT_TRUE(t.run("v_mfma_f32_4x4x1_16b_f32 v[12:15], v2, v3, v[8:11]"));
  EXPECT_EQ(asF32(t.v(12, 0)), 1.0f);
}

TEST(Mfma, InvalidModifiersStop) {
  ExecTest t;
  EXPECT_FALSE(t.run("v_mfma_f32_32x32x2f32 a[0:15], v0, v1, a[0:15] cbsz:1"));
  EXPECT_FALSE(t.run("v_mfma_f32_32x32x1f32 a[0:31], v0, v1, a[0:31] cbsz:1 abid:2"));
  EXPECT_FALSE(t.run("v_mfma_f64_4x4x4f64 a[0:1], v[0:1], v[2:3], a[0:1] blgp:1"));
}

TEST(Mfma, Arithmetic) {
  ExecTest t;
  // f32 keeps denormals as MODE says; f16 and bf16 flush them, of inputs, C and D alike.
  t.setVector(2, f32(1.0f));
  t.setVector(3, 0x00000001);
  for (unsigned r = 8; r < 12; ++r)
    t.setVector(r, 0x00000001);
  ASSERT_TRUE(t.run("v_mfma_f32_4x4x1f32 v[12:15], v2, v3, v[8:11]"));
  EXPECT_EQ(t.v(12, 0), 2u);
  t.mode(kDefaultMode & ~mode::kDenormF32);
  ASSERT_TRUE(t.run("v_mfma_f32_4x4x1f32 v[12:15], v2, v3, v[8:11]"));
  EXPECT_EQ(t.v(12, 0), 0u);
  t.mode(kDefaultMode);
  t.setVector64(2, 0x3c003c003c003c00); // f16 ones
  t.setVector64(4, 0x0001000100010001); // f16 denormals
  ASSERT_TRUE(t.run("v_mfma_f32_4x4x4f16 v[12:15], v[2:3], v[4:5], v[8:11]"));
  EXPECT_EQ(t.v(12, 0), 0u);
  t.setVector(2, 0x3f803f80);
  t.setVector(3, 0x00010001);
  ASSERT_TRUE(t.run("v_mfma_f32_4x4x2bf16 v[12:15], v2, v3, v[8:11]"));
  EXPECT_EQ(t.v(12, 0), 0u);
  // f64 keeps denormals and rounds to nearest whatever MODE says.
  t.mode((kDefaultMode & ~mode::kDenormF64) | 0x5);
  t.setVector64(2, f64(1.0));
  t.setVector64(4, 0);
  t.setVector64(8, 1);
  ASSERT_TRUE(t.run("v_mfma_f64_4x4x4f64 v[12:13], v[2:3], v[4:5], v[8:9]"));
  EXPECT_EQ(t.v64(12, 7), 1u);
  t.setVector64(4, f64(0x1p-60));
  t.setVector64(8, f64(1.0));
  ASSERT_TRUE(t.run("v_mfma_f64_4x4x4f64 v[12:13], v[2:3], v[4:5], v[8:9]"));
  EXPECT_EQ(t.v64(12, 7), f64(1.0));
  // Fused: the product is not rounded before it is added.
  t.mode(kDefaultMode);
  t.setVector(2, f32(1.0f + 0x1p-23f));
  for (unsigned r = 8; r < 12; ++r)
    t.setVector(r, f32(-1.0f));
  ASSERT_TRUE(t.run("v_mfma_f32_4x4x1f32 v[12:15], v2, v2, v[8:11]"));
  EXPECT_EQ(asF32(t.v(12, 0)), std::fma(1.0f + 0x1p-23f, 1.0f + 0x1p-23f, -1.0f));
  // i8 sums wrap around.
  t.setVector(2, 0x7f7f7f7f);
  for (unsigned r = 8; r < 12; ++r)
    t.setVector(r, 0x7fffffff);
  ASSERT_TRUE(t.run("v_mfma_i32_4x4x4i8 v[12:15], v2, v2, v[8:11]"));
  EXPECT_EQ(t.v(12, 0), 0x7fffffffu + 4 * 127 * 127);
  t.setVector(2, 0x80808080);
  ASSERT_TRUE(t.run("v_mfma_i32_4x4x4i8 v[12:15], v2, v2, 0"));
  EXPECT_EQ(t.v(12, 0), 4u * 128 * 128);
}

TEST(Mfma, AccumulatesInPlace) {
  ExecTest t;
  t.setVector(2, f32(2.0f));
  t.setVector(3, f32(3.0f));
  for (unsigned r = 0; r < 16; ++r)
    for (unsigned n = 0; n < 64; ++n)
      t.acc(r, n) = f32(float(r * 64 + n));
  ASSERT_TRUE(t.run("v_mfma_f32_32x32x2f32 a[0:15], v2, v3, a[0:15]"));
  for (unsigned r = 0; r < 16; ++r)
    for (unsigned n = 0; n < 64; ++n)
      EXPECT_EQ(asF32(t.acc(r, n)), float(r * 64 + n) + 12);
}

TEST(Mfma, AccVgprMoves) {
  ExecTest t;
  for (unsigned n = 0; n < 64; ++n) {
    t.v(7, n) = n;
    t.acc(9, n) = 100 + n;
  }
  t.exec(0xf0);
  t.s(3) = 55;
  ASSERT_TRUE(t.run("v_accvgpr_write_b32 a5, v7\n"
                    "v_accvgpr_read_b32 v6, a9\n"
                    "v_accvgpr_write_b32 a6, 1.0\n"
                    "v_accvgpr_write_b32 a7, s3"));
  for (unsigned n = 0; n < 64; ++n) {
    const bool active = n >= 4 && n < 8;
    EXPECT_EQ(t.acc(5, n), active ? n : kPoison);
    EXPECT_EQ(t.v(6, n), active ? 100 + n : kPoison);
    EXPECT_EQ(t.acc(6, n), active ? f32(1.0f) : kPoison);
    EXPECT_EQ(t.acc(7, n), active ? 55 : kPoison);
    EXPECT_EQ(t.v(5, n), kPoison);
  }
}

} // namespace
} // namespace luthier::vgpu::test
