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

void check(const Shape &s, const Options &o) {
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
  ExecTest t;
  const unsigned a = o.accA ? kAccBase + kA : kA, b = o.accB ? kAccBase + kB : kB;
  const unsigned c = o.accC ? kAccBase + kC : kC, d = o.accC ? kAccBase + kD : kD;
  std::vector<std::vector<int>> inLaneOfB(64, std::vector<int>(16));
  std::vector<std::vector<unsigned>> slot(64, std::vector<unsigned>(16));
  const unsigned pack = valuesPerLane(s.in);
  for (unsigned block = 0; block < s.blocks; ++block)
    for (unsigned k = 0; k < s.k; ++k)
      for (unsigned i = 0; i < s.m; ++i) {
        put(t, s.in, a, s.lane(i, k, block), k, valueA(i, k, block));
        put(t, s.in, b, s.lane(i, k, block), k, valueB(i, k, block));
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
          t.v(reg, lane) = s.in == In::I8 ? uint32_t(x) : f32(float(x));
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
        const double got = s.in == In::F64  ? asF64(t.v64(reg, lane))
                           : s.in == In::I8 ? double(int32_t(t.v(reg, lane)))
                                            : double(asF32(t.v(reg, lane)));
        EXPECT_EQ(got, double(sum)) << "row " << i << " column " << j << " block " << block;
        if (got != sum && ++failures > 4)
          return;
      }
}

TEST(Mfma, Layouts) {
  for (const Shape &s : kShapes)
    check(s, {});
}

TEST(Mfma, AccumulationRegisters) {
  for (const Shape &s : kShapes) {
    check(s, {.accA = true, .accC = true});
    check(s, {.accB = true});
    check(s, {.accA = true, .accB = true, .accC = true});
  }
}

TEST(Mfma, ConstantC) {
  for (const Shape &s : kShapes)
    check(s, {.accC = true, .constantC = 0});
  // Integers as such; floating-point constants in the format of C.
  for (const Shape &s : kShapes)
    if (s.in == In::I8)
      check(s, {.constantC = -5});
  ExecTest t;
  t.setVector(2, 0);
  t.setVector(3, 0);
  ASSERT_TRUE(t.run("v_mfma_f32_4x4x1f32 v[8:11], v2, v3, 2.0\n"
                    "v_mfma_f64_4x4x4f64 v[12:13], v[2:3], v[2:3], -4.0"));
  EXPECT_EQ(t.v(9, 33), f32(2.0f));
  EXPECT_EQ(t.v64(12, 63), f64(-4.0));
}

TEST(Mfma, BroadcastOfA) {
  for (const Shape &s : kShapes)
    for (unsigned cbsz = 1; (1u << cbsz) <= s.blocks && s.in != In::F64; ++cbsz)
      for (unsigned abid = 0; abid < (1u << cbsz); ++abid)
        check(s, {.cbsz = cbsz, .abid = abid});
}

TEST(Mfma, LaneGroupsOfB) {
  for (const Shape &s : kShapes)
    for (unsigned blgp = 1; blgp < 8 && s.in != In::F64; ++blgp)
      check(s, {.blgp = blgp});
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
