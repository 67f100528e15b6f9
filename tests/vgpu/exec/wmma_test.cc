// WMMA and SWMMAC: where every element of every shape sits on gfx11 and gfx12 in waves of both sizes, modifiers, index
// sets, and arithmetic. Layouts are those that AMD's matrix instruction calculator prints.

#include "one_instruction.h"

#include <fmt/format.h>

#include <functional>
#include <vector>

namespace luthier::vgpu::test {
namespace {

enum class Kind { F16, Bf16, I8, I4, Fp8, Bf8 };
enum class Result { F32, F16, Bf16, I32 };

unsigned bitsOf(Kind kind) { return kind == Kind::F16 || kind == Kind::Bf16 ? 16 : kind == Kind::I4 ? 4 : 8; }

struct Shape {
  const char *mnemonic;
  Kind a, b;
  unsigned k;
  Result result;
  bool sparse = false;
  bool gfx11 = false; ///< it is on gfx11 too
};

const Shape kShapes[] = {
    {"v_wmma_f32_16x16x16_f16", Kind::F16, Kind::F16, 16, Result::F32, false, true},
    {"v_wmma_f32_16x16x16_bf16", Kind::Bf16, Kind::Bf16, 16, Result::F32, false, true},
    {"v_wmma_f16_16x16x16_f16", Kind::F16, Kind::F16, 16, Result::F16, false, true},
    {"v_wmma_bf16_16x16x16_bf16", Kind::Bf16, Kind::Bf16, 16, Result::Bf16, false, true},
    {"v_wmma_i32_16x16x16_iu8", Kind::I8, Kind::I8, 16, Result::I32, false, true},
    {"v_wmma_i32_16x16x16_iu4", Kind::I4, Kind::I4, 16, Result::I32, false, true},
    {"v_wmma_i32_16x16x32_iu4", Kind::I4, Kind::I4, 32, Result::I32},
    {"v_wmma_f32_16x16x16_fp8_fp8", Kind::Fp8, Kind::Fp8, 16, Result::F32},
    {"v_wmma_f32_16x16x16_fp8_bf8", Kind::Fp8, Kind::Bf8, 16, Result::F32},
    {"v_wmma_f32_16x16x16_bf8_fp8", Kind::Bf8, Kind::Fp8, 16, Result::F32},
    {"v_wmma_f32_16x16x16_bf8_bf8", Kind::Bf8, Kind::Bf8, 16, Result::F32},
    {"v_swmmac_f32_16x16x32_f16", Kind::F16, Kind::F16, 32, Result::F32, true},
    {"v_swmmac_f32_16x16x32_bf16", Kind::Bf16, Kind::Bf16, 32, Result::F32, true},
    {"v_swmmac_f16_16x16x32_f16", Kind::F16, Kind::F16, 32, Result::F16, true},
    {"v_swmmac_bf16_16x16x32_bf16", Kind::Bf16, Kind::Bf16, 32, Result::Bf16, true},
    {"v_swmmac_i32_16x16x32_iu8", Kind::I8, Kind::I8, 32, Result::I32, true},
    {"v_swmmac_i32_16x16x32_iu4", Kind::I4, Kind::I4, 32, Result::I32, true},
    {"v_swmmac_i32_16x16x64_iu4", Kind::I4, Kind::I4, 64, Result::I32, true},
    {"v_swmmac_f32_16x16x32_fp8_fp8", Kind::Fp8, Kind::Fp8, 32, Result::F32, true},
    {"v_swmmac_f32_16x16x32_fp8_bf8", Kind::Fp8, Kind::Bf8, 32, Result::F32, true},
    {"v_swmmac_f32_16x16x32_bf8_fp8", Kind::Bf8, Kind::Fp8, 32, Result::F32, true},
    {"v_swmmac_f32_16x16x32_bf8_bf8", Kind::Bf8, Kind::Bf8, 32, Result::F32, true},
};

struct Place {
  unsigned lane, reg, bit;
};

/// A[i][k] of a dense product and B[k][i] likewise, on gfx12.
Place densePlace(unsigned bits, unsigned bigK, unsigned lanes, unsigned i, unsigned k) {
  const unsigned bit = bits * (k % (32 / bits));
  if (lanes == 32) {
    if (bits == 16)
      return {16 * (k / 4 % 2) + i, 2 * (k / 8) + k / 2 % 2, bit};
    if (bits == 8)
      return {16 * (k / 8) + i, k / 4 % 2, bit};
    return bigK == 16 ? Place{16 * (k / 8) + i, 0, bit} : Place{16 * (k / 16) + i, k / 8 % 2, bit};
  }
  if (bits == 16)
    return {32 * (k / 8 % 2) + 16 * (k / 4 % 2) + i, k / 2 % 2, bit};
  if (bits == 8)
    return {32 * (k / 4 % 2) + 16 * (k / 8 % 2) + i, 0, bit};
  return bigK == 16 ? Place{16 * (k / 8) + i, 0, bit} : Place{32 * (k / 8 % 2) + 16 * (k / 16 % 2) + i, 0, bit};
}

/// B[k][j] of a sparse product.
Place sparsePlaceOfB(unsigned bits, unsigned bigK, unsigned lanes, unsigned j, unsigned k) {
  const unsigned bit = bits * (k % (32 / bits));
  if (lanes == 32) {
    if (bits == 16)
      return {16 * (k / 8 % 2) + j, 4 * (k / 16) + k / 2 % 4, bit};
    if (bits == 8)
      return {16 * (k / 16) + j, k / 4 % 4, bit};
    return bigK == 32 ? Place{16 * (k / 16) + j, k / 8 % 2, bit} : Place{16 * (k / 32) + j, k / 8 % 4, bit};
  }
  if (bits == 16)
    return {16 * (k / 8) + j, k / 2 % 4, bit};
  if (bits == 8)
    return {32 * (k / 8 % 2) + 16 * (k / 16) + j, k / 4 % 2, bit};
  return bigK == 32 ? Place{32 * (k / 8 % 2) + 16 * (k / 16) + j, 0, bit}
                    : Place{32 * (k / 16 % 2) + 16 * (k / 32) + j, k / 8 % 2, bit};
}

/// The first bit of the indices of the group of four that begins at k, and how many sets there are.
unsigned indexBit(unsigned bits, unsigned bigK, unsigned lanes, unsigned k) {
  if (lanes == 32)
    return bits == 16 ? 8 * (k / 16) + 4 * (k / 4 % 2) : bits == 4 && bigK == 64 ? 4 * (k / 4 % 8) : 4 * (k / 4 % 4);
  return bits == 4 ? 4 * (k / 4 % 4) : 4 * (k / 4 % 2);
}
unsigned indexSets(unsigned bits, unsigned bigK, unsigned lanes) {
  if (lanes == 32)
    return bits == 4 && bigK == 64 ? 1 : 2;
  return bits == 4 ? 2 : 4;
}

/// D[i][j]; `bit` only of 16-bit results.
Place placeOfD(bool gfx11, Result result, unsigned lanes, unsigned i, unsigned j, unsigned opSel) {
  const bool half = result == Result::F16 || result == Result::Bf16;
  if (gfx11) {
    const unsigned groups = lanes / 16;
    return {16 * (i % groups) + j, i / groups, half ? 16 * opSel : 0};
  }
  if (lanes == 32)
    return {16 * (i / 8) + j, half ? i / 2 % 4 : i % 8, half ? 16 * (i % 2) : 0};
  return {32 * (i / 4 % 2) + 16 * (i / 8) + j, half ? i / 2 % 2 : i % 4, half ? 16 * (i % 2) : 0};
}

/// A small number, from 0 to 3 or -4 to 3, in a format.
uint32_t code(Kind kind, int x) {
  static const uint32_t fp8[] = {0x00, 0x38, 0x40, 0x44, 0x48}, bf8[] = {0x00, 0x3c, 0x40, 0x42, 0x44};
  switch (kind) {
  case Kind::F16:
    return f16Bits(float(x));
  case Kind::Bf16:
    return f32Bits(float(x)) >> 16;
  case Kind::I8:
    return uint32_t(x) & 0xff;
  case Kind::I4:
    return uint32_t(x) & 0xf;
  case Kind::Fp8:
    return fp8[abs(x)] | (x < 0 ? 0x80 : 0);
  case Kind::Bf8:
    return bf8[abs(x)] | (x < 0 ? 0x80 : 0);
  }
  return 0;
}

void put(Wave &w, unsigned reg, const Place &at, unsigned bits, uint32_t value) {
  uint32_t &word = w.v[reg + at.reg][at.lane];
  const uint32_t mask = bits == 32 ? ~0u : (1u << bits) - 1;
  word = (word & ~(mask << at.bit)) | (value & mask) << at.bit;
}

uint32_t outCode(Result result, int x) {
  switch (result) {
  case Result::F32:
    return f32Bits(float(x));
  case Result::F16:
    return f16Bits(float(x));
  case Result::Bf16:
    return f32Bits(float(x)) >> 16;
  case Result::I32:
    return uint32_t(x);
  }
  return 0;
}

std::string range(unsigned first, unsigned count) {
  return count == 1 ? fmt::format("v{}", first) : fmt::format("v[{}:{}]", first, first + count - 1);
}

void check(const Shape &s, bool gfx11, unsigned lanes, unsigned opSel) {
  constexpr unsigned kA = 16, kB = 32, kC = 48, kD = 64, kIndex = 80;
  const unsigned bits = bitsOf(s.a), storedK = s.sparse ? s.k / 2 : s.k;
  const bool half = s.result == Result::F16 || s.result == Result::Bf16;
  const unsigned perReg = 32 / bits;
  const auto registers = [&](unsigned k) {
    const unsigned count = gfx11 ? k / perReg : 16 * k / lanes / perReg;
    return count ? count : 1;
  };
  const unsigned outs = (half && !gfx11 ? 128 : 256) / lanes;
  const unsigned indexKey = s.sparse ? opSel : 0;
  std::string text = fmt::format("{} {}, {}, {}, {}", s.mnemonic, range(kD, outs), range(kA, registers(storedK)),
                                 range(kB, registers(s.k)), s.sparse ? range(kIndex, 1) : range(kC, outs));
  if (indexKey)
    text += fmt::format(" index_key:{}", indexKey);
  else if (opSel)
    text += " op_sel:[0,0,1]";
  if (s.result == Result::I32)
    text += " neg_lo:[1,1,0]";
  SCOPED_TRACE(fmt::format("{}, {} lanes: {}", gfx11 ? "gfx11" : "gfx12", lanes, text));

  LoneWave lone(lanes);
  Wave &w = *lone.wave;
  std::mt19937 random(lanes + opSel);
  // The sums of gfx11 are not exact where signs differ.
  const bool isSigned = !gfx11 || s.result == Result::I32;
  const auto number = [&] { return int(random() % (isSigned ? 8 : 4)) - (isSigned ? 4 : 0); };
  std::vector<std::vector<int>> a(16, std::vector<int>(s.k)), b(s.k, std::vector<int>(16)), c(16, std::vector<int>(16));
  for (unsigned k = 0; k < storedK; ++k)
    for (unsigned i = 0; i < 16; ++i) {
      const int x = number();
      Place at = gfx11 ? Place{i, k / perReg, bits * (k % perReg)} : densePlace(bits, storedK, lanes, i, k);
      for (unsigned copy = 0; copy < (gfx11 ? lanes / 16 : 1); ++copy, at.lane += 16)
        put(w, kA, at, bits, code(s.a, x));
      if (!s.sparse)
        a[i][k] = x;
      else if (k % 2 == 0) // kept until its index is known
        a[i][k / 2 * 4] = x;
      else
        a[i][k / 2 * 4 + 1] = x;
    }
  if (s.sparse)
    for (unsigned i = 0; i < 16; ++i)
      for (unsigned k = 0; k < s.k; k += 4) {
        const unsigned first = random() % 3, second = first + 1 + random() % (3 - first);
        const int x = a[i][k], y = a[i][k + 1];
        a[i][k] = a[i][k + 1] = 0;
        a[i][k + first] = x;
        a[i][k + second] = y;
        const unsigned lane = densePlace(bits, storedK, lanes, i, k / 2).lane;
        const unsigned bit = indexBit(bits, s.k, lanes, k) + indexKey * (32 / indexSets(bits, s.k, lanes));
        uint32_t &word = w.v[kIndex][lane];
        word = (word & ~(0xfu << bit)) | (first | second << 2) << bit;
      }
  for (unsigned k = 0; k < s.k; ++k)
    for (unsigned j = 0; j < 16; ++j) {
      b[k][j] = number();
      Place at = gfx11      ? Place{j, k / perReg, bits * (k % perReg)}
                 : s.sparse ? sparsePlaceOfB(bits, s.k, lanes, j, k)
                            : densePlace(bits, s.k, lanes, j, k);
      for (unsigned copy = 0; copy < (gfx11 ? lanes / 16 : 1); ++copy, at.lane += 16)
        put(w, kB, at, bits, code(s.b, b[k][j]));
    }
  for (unsigned i = 0; i < 16; ++i)
    for (unsigned j = 0; j < 16; ++j) {
      c[i][j] = int(i * 16 + j) % 100;
      put(w, s.sparse ? kD : kC, placeOfD(gfx11, s.result, lanes, i, j, opSel), half ? 16 : 32,
          outCode(s.result, c[i][j]));
    }
  std::vector<uint32_t> before;
  for (unsigned r = 0; r < outs; ++r)
    before.insert(before.end(), w.v[kD + r], w.v[kD + r] + kMaxLanes);
  w.setExec(1); // ignored
  ASSERT_NO_FATAL_FAILURE(execute(gfx11 ? "gfx1100" : "gfx1200", lone, text));
  for (unsigned i = 0; i < 16; ++i)
    for (unsigned j = 0; j < 16; ++j) {
      int sum = c[i][j];
      for (unsigned k = 0; k < s.k; ++k)
        sum += a[i][k] * b[k][j];
      const Place at = placeOfD(gfx11, s.result, lanes, i, j, opSel);
      const uint32_t got = w.v[kD + at.reg][at.lane] >> at.bit & (half ? 0xffff : ~0u);
      ASSERT_EQ(got, outCode(s.result, sum)) << "row " << i << " column " << j << ": " << sum;
    }
  // gfx11 leaves the other half alone, and nobody writes beyond a wave's lanes.
  for (unsigned r = 0; r < outs; ++r)
    for (unsigned lane = 0; lane < kMaxLanes; ++lane) {
      const uint32_t kept = lane >= lanes ? ~0u : half && gfx11 ? (opSel ? 0xffff : 0xffff0000) : 0;
      ASSERT_EQ(w.v[kD + r][lane] & kept, before[r * kMaxLanes + lane] & kept) << "register " << r << " lane " << lane;
    }
}

TEST(Wmma, Gfx11) {
  for (const Shape &s : kShapes)
    for (unsigned lanes : {32u, 64u})
      if (s.gfx11) {
        check(s, true, lanes, 0);
        if (s.result == Result::F16 || s.result == Result::Bf16)
          check(s, true, lanes, 1);
      }
}

TEST(Wmma, Gfx12) {
  for (const Shape &s : kShapes)
    for (unsigned lanes : {32u, 64u})
      if (!s.sparse)
        check(s, false, lanes, 0);
}

TEST(Wmma, Sparse) {
  for (const Shape &s : kShapes)
    for (unsigned lanes : {32u, 64u})
      for (unsigned set = 0; s.sparse && set < indexSets(bitsOf(s.a), s.k, lanes); ++set)
        check(s, false, lanes, set);
}

/// Index pairs that the manual's expansion has no place for add nothing.
TEST(Wmma, IndicesWithoutAPlace) {
  for (const auto &[pair, places] : std::map<uint32_t, std::pair<int, int>>{
           {0b0100, {0, 1}}, {0b1110, {2, 3}}, {0b0000, {0, -1}}, {0b0101, {1, -1}}, {0b0011, {-1, -1}}}) {
    LoneWave lone(32);
    Wave &w = *lone.wave;
    memset(w.v, 0, sizeof w.v);
    w.v[0][0] = f16Bits(1) | f16Bits(2) << 16;  // A[0][0..1] as stored
    w.v[4][0] = f16Bits(1) | f16Bits(10) << 16; // B[0..1][0]
    w.v[5][0] = f16Bits(100) | f16Bits(1000) << 16;
    w.v[20][0] = pair;
    ASSERT_NO_FATAL_FAILURE(execute("gfx1200", lone, "v_swmmac_f32_16x16x32_f16 v[24:31], v[0:3], v[4:11], v20"));
    const float scale[] = {1, 10, 100, 1000};
    const float expected =
        (places.first < 0 ? 0 : scale[places.first]) + (places.second < 0 ? 0 : 2 * scale[places.second]);
    EXPECT_EQ(f32Of(w.v[24][0]), expected) << pair;
  }
}

/// Sets all of a tuple to one value.
void fill(Wave &w, unsigned first, unsigned count, uint32_t value) {
  for (unsigned r = first; r < first + count; ++r)
    for (uint32_t &lane : w.v[r])
      lane = value;
}

TEST(Wmma, ModifiersOfC) {
  LoneWave lone(32);
  Wave &w = *lone.wave;
  fill(w, 0, 16, 0);
  fill(w, 16, 8, f32Bits(-3.0f));
  ASSERT_NO_FATAL_FAILURE(
      execute("gfx1200", lone, "v_wmma_f32_16x16x16_f16 v[24:31], v[0:3], v[4:7], v[16:23] neg_lo:[0,0,1]"));
  EXPECT_EQ(f32Of(w.v[24][5]), 3.0f);
  ASSERT_NO_FATAL_FAILURE(execute(
      "gfx1200", lone, "v_wmma_f32_16x16x16_f16 v[24:31], v[0:3], v[4:7], v[16:23] neg_lo:[0,0,1] neg_hi:[0,0,1]"));
  EXPECT_EQ(f32Of(w.v[24][5]), -3.0f);
  ASSERT_NO_FATAL_FAILURE(execute("gfx1200", lone, "v_wmma_f32_16x16x16_f16 v[24:31], v[0:3], v[4:7], 2.0"));
  EXPECT_EQ(f32Of(w.v[24][5]), 2.0f);
  ASSERT_NO_FATAL_FAILURE(execute("gfx1200", lone, "v_wmma_f16_16x16x16_f16 v[24:27], v[0:3], v[4:7], 2.0"));
  EXPECT_EQ(w.v[24][5], f16Bits(2) | f16Bits(2) << 16);
  ASSERT_NO_FATAL_FAILURE(execute("gfx1200", lone, "v_wmma_bf16_16x16x16_bf16 v[24:27], v[0:3], v[4:7], 2.0"));
  EXPECT_EQ(w.v[24][5], 0x40004000u);
}

/// neg_lo is of the low halves, which hold even k, neg_hi of the high ones.
TEST(Wmma, ModifiersOfInputs) {
  for (const bool gfx11 : {false, true}) {
    LoneWave lone(32);
    Wave &w = *lone.wave;
    const unsigned inputs = gfx11 ? 8 : 4;
    fill(w, 0, inputs, f16Bits(1) | f16Bits(2) << 16);
    fill(w, 8, inputs, f16Bits(1) | f16Bits(1) << 16);
    const auto run = [&](const char *modifiers) {
      ASSERT_NO_FATAL_FAILURE(execute(
          gfx11 ? "gfx1100" : "gfx1200", lone,
          fmt::format("v_wmma_f32_16x16x16_f16 v[24:31], v[0:{}], v[8:{}], 0 {}", inputs - 1, inputs + 7, modifiers)));
    };
    run("");
    EXPECT_EQ(f32Of(w.v[24][0]), 24.0f);
    run("neg_lo:[1,0,0] neg_hi:[1,0,0]");
    EXPECT_NEAR(f32Of(w.v[24][0]), -24.0f, 1e-4); // gfx11's sums against the sign of C are a little off
    run("neg_lo:[1,0,0]");
    EXPECT_NEAR(f32Of(w.v[24][0]), 8.0f, 1e-4);
    run("neg_hi:[0,1,0]");
    EXPECT_NEAR(f32Of(w.v[24][0]), -8.0f, 1e-4);
  }
}

/// Measured on gfx1100 and gfx1201 (ROCm/rocm-systems pull request 7272): sums wrap around, or stop at the greatest
/// number.
TEST(Wmma, IntegersWrapOrClamp) {
  for (const char *target : {"gfx1100", "gfx1201"}) {
    LoneWave lone(32);
    Wave &w = *lone.wave;
    fill(w, 0, 16, 0x01010101);
    fill(w, 16, 8, 0x7fffffff);
    const std::string text = target == std::string("gfx1100")
                                 ? "v_wmma_i32_16x16x16_iu8 v[24:31], v[0:3], v[4:7], v[16:23]"
                                 : "v_wmma_i32_16x16x16_iu8 v[24:31], v[0:1], v[4:5], v[16:23]";
    ASSERT_NO_FATAL_FAILURE(execute(target, lone, text));
    EXPECT_EQ(w.v[24][0], 0x7fffffffu + 16);
    ASSERT_NO_FATAL_FAILURE(execute(target, lone, text + " clamp"));
    EXPECT_EQ(w.v[31][31], 0x7fffffffu);
  }
}

/// NEG says which of A and B is signed.
TEST(Wmma, SignsOfIntegers) {
  for (unsigned neg = 0; neg < 4; ++neg) {
    LoneWave lone(32);
    Wave &w = *lone.wave;
    fill(w, 0, 2, 0xffffffff);
    fill(w, 4, 2, 0xfefefefe);
    ASSERT_NO_FATAL_FAILURE(execute(
        "gfx1200", lone,
        fmt::format("v_wmma_i32_16x16x16_iu8 v[24:31], v[0:1], v[4:5], 0 neg_lo:[{},{},0]", neg & 1, neg >> 1)));
    EXPECT_EQ(int(w.v[24][0]), 16 * (neg & 1 ? -1 : 255) * (neg & 2 ? -2 : 254)) << neg;
  }
}

/// As tinygrad's tests have it of an RDNA4 card.
TEST(Wmma, EightBits) {
  const std::pair<const char *, float> kinds[] = {{"fp8", -1.0f}, {"bf8", -0.5f}};
  for (const auto &[a, value] : kinds)
    for (const char *b : {"fp8", "bf8"}) {
      LoneWave lone(32);
      Wave &w = *lone.wave;
      fill(w, 0, 2, 0xb8b8b8b8);
      fill(w, 4, 2, 0x40404040); // 2.0 in both
      ASSERT_NO_FATAL_FAILURE(
          execute("gfx1200", lone, fmt::format("v_wmma_f32_16x16x16_{}_{} v[8:15], v[0:1], v[4:5], 0", a, b)));
      EXPECT_EQ(f32Of(w.v[8][17]), 32 * value);
    }
}

/// gfx11 takes two values of k at a time, in the adder of its dot products.
TEST(Wmma, Gfx11AddsLikeItsDotProducts) {
  LoneWave lone(32);
  Wave &w = *lone.wave;
  fill(w, 0, 16, 0);
  for (unsigned lane = 0; lane < 32; ++lane) {
    w.v[0][lane] = f16Bits(32) | f16Bits(24) << 16;
    w.v[8][lane] = f16Bits(1) | f16Bits(1) << 16;
  }
  ASSERT_NO_FATAL_FAILURE(execute("gfx1151", lone, "v_wmma_f32_16x16x16_f16 v[24:31], v[0:7], v[8:15], -1.0"));
  EXPECT_EQ(f32Of(w.v[24][0]), 55.0000038f);
}

} // namespace
} // namespace luthier::vgpu::test
