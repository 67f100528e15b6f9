// How matrix instructions round, per target (isa/matrix.h): known answers of the hardware, and every shape on random
// matrices against scalar references.
//
// The references are written from the description of each rule with whole numbers where the engines use floating point
// (exact sums, alignments), and with doubles where they use f32. NaNs are compared as NaNs; zeros by their sign only
// where the rule says it.

#include "harness.h"
#include "matrix_shapes.h"

#include <fmt/format.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace luthier::vgpu::test {
namespace {

using isa::MatrixArithmetic;
using isa::MatrixSum;

isa::MatrixFormat formatOf(In in) {
  switch (in) {
  case In::Xf32:
    return isa::MatrixFormat::Xf32;
  case In::I8x8:
    return isa::MatrixFormat::I8;
  case In::Fp8:
    return isa::MatrixFormat::Fp8Fp8; // which all of them follow
  case In::Bf8:
    return isa::MatrixFormat::Bf8Bf8;
  case In::F32:
    return isa::MatrixFormat::F32;
  case In::F16:
    return isa::MatrixFormat::F16;
  case In::Bf16:
    return isa::MatrixFormat::Bf16;
  case In::Bf16x4:
    return isa::MatrixFormat::Bf16x4;
  case In::I8:
    return isa::MatrixFormat::I8;
  case In::F64:
    break;
  }
  return isa::MatrixFormat::F64;
}

float valueOf(In in, uint64_t x) {
  const auto word = uint32_t(x);
  switch (in) {
  case In::F16:
    return asF16(word);
  case In::F32:
    return asF32(word);
  case In::Xf32:
    return asF32(word & ~0x1fffu); // the first 10 bits of the significand
  case In::Fp8:
  case In::Bf8:
    return smallFloat(in == In::Bf8, word);
  default:
    return asF32(word << 16);
  }
}

/// Bits of a format's significand behind the point, and the exponent of its subnormals.
struct Format {
  int bits, least;
};
Format formatOfValues(In in) {
  switch (in) {
  case In::F16:
    return {10, -14};
  case In::Xf32:
    return {10, -126};
  case In::Fp8:
    return {3, -7};
  case In::Bf8:
    return {2, -15};
  default:
    return {7, -126};
  }
}

// --- References -----------------------------------------------------------------------------------------------------

/// The value s * 2^e, with e no less than that of the format's subnormals.
struct Parts {
  int64_t s;
  int e;
};
/// `bits` of significand behind the point; `least` is the exponent of subnormals.
Parts partsOf(float x, int bits, int least) {
  if (x == 0)
    return {0, least};
  const int e = std::max(std::ilogb(x), least);
  return {int64_t(std::ldexp(double(x), bits - e)), e};
}

/// A sum of any finite numbers, in units of 2^-320, as digits of 32 bits.
class WideSum {
public:
  void add(double x) {
    if (x == 0)
      return;
    int e;
    auto s = int64_t(std::ldexp(std::frexp(x, &e), 53));
    const int shift = e - 53 + 320;
    ASSERT_GE(shift, 0);
    const bool negative = s < 0;
    auto wide = static_cast<unsigned __int128>(negative ? -s : s) << (shift % 32);
    for (size_t n = size_t(shift) / 32; wide; ++n, wide >>= 32)
      digits_[n] += (negative ? -1 : 1) * int64_t(uint32_t(wide));
  }
  float rounded() {
    const bool negative = carry() < 0;
    if (negative) {
      for (int64_t &digit : digits_)
        digit = -digit;
      carry();
    }
    int top = -1;
    for (int bit = 0; bit < int(digits_.size()) * 32; ++bit)
      if (isSet(bit))
        top = bit;
    if (top < 0)
      return 0;
    const int last = std::max(top - 23, 320 - 149); // the last bit that a float has
    uint64_t s = 0;
    for (int bit = top; bit >= last; --bit)
      s = s << 1 | isSet(bit);
    bool half = isSet(last - 1), rest = false;
    for (int bit = 0; bit < last - 1; ++bit)
      rest |= isSet(bit);
    s += half && (rest || (s & 1));
    const double magnitude = std::ldexp(double(s), last - 320);
    return static_cast<float>(negative ? -magnitude : magnitude);
  }

private:
  /// Digits become those of 0 to 2^32 - 1; returns what is left over at the top.
  int64_t carry() {
    int64_t over = 0;
    for (int64_t &digit : digits_) {
      const int64_t x = digit + over;
      digit = int64_t(uint32_t(x));
      over = x >> 32;
    }
    return over;
  }
  bool isSet(int bit) const { return digits_[size_t(bit) / 32] >> (bit % 32) & 1; }
  std::array<int64_t, 24> digits_ = {};
};

float exactBlock(const float *a, const float *b, unsigned length, float c) {
  double plain = c;
  WideSum sum;
  for (unsigned k = 0; k < length; ++k)
    plain += double(a[k]) * double(b[k]);
  if (!std::isfinite(plain))
    return static_cast<float>(plain);
  for (unsigned k = 0; k < length; ++k)
    sum.add(double(a[k]) * double(b[k]));
  sum.add(c);
  return sum.rounded();
}

int64_t shifted(int64_t x, int by) { return by >= 0 ? x << by : x >> std::min(-by, 63); } // right: downwards

constexpr int kNoProduct = -1000;

/// Every `step`th product, cut off 24 bits below the greatest exponent and added up: in units of 2^(exponent - 24).
struct CutSum {
  int64_t total = 0;
  int exponent = kNoProduct;
};
CutSum cutSum(const float *a, const float *b, unsigned length, unsigned step, Format ofA, Format ofB) {
  CutSum sum;
  const auto parts = [&](unsigned k) {
    return std::pair(partsOf(a[k], ofA.bits, ofA.least), partsOf(b[k], ofB.bits, ofB.least));
  };
  for (unsigned k = 0; k < length; k += step)
    if (a[k] != 0 && b[k] != 0)
      sum.exponent = std::max(sum.exponent, parts(k).first.e + parts(k).second.e);
  for (unsigned k = 0; k < length; k += step) {
    const auto [x, y] = parts(k);
    if (x.s == 0 || y.s == 0)
      continue;
    const int64_t p = x.s * y.s;
    const int64_t magnitude = shifted(std::abs(p), x.e + y.e - ofA.bits - ofB.bits - (sum.exponent - 24));
    sum.total += p < 0 ? -magnitude : magnitude;
  }
  return sum;
}

float truncatedBlock(const float *a, const float *b, unsigned length, float c, bool split, Format ofA, Format ofB) {
  double special = c;
  for (unsigned k = 0; k < length; ++k) {
    const double p = double(a[k]) * double(b[k]);
    special += std::abs(p) >= 0x1p128 ? std::copysign(INFINITY, p) : p;
  }
  if (!std::isfinite(special))
    return static_cast<float>(special);
  CutSum sum = cutSum(a, b, length, split ? 2 : 1, ofA, ofB);
  if (split) {
    const CutSum odd = cutSum(a + 1, b + 1, length - 1, 2, ofA, ofB);
    const int exponent = std::max(sum.exponent, odd.exponent);
    sum = {shifted(sum.total, sum.exponent - exponent) + shifted(odd.total, odd.exponent - exponent), exponent};
  }
  const Parts addend = partsOf(c, 23, -126);
  const int top = std::max(sum.exponent, addend.e);
  int64_t whole = sum.exponent == kNoProduct ? 0 : shifted(sum.total, sum.exponent - 24 - (top - 32));
  if (!split || addend.e >= top - 25)
    whole += shifted(addend.s, addend.e - 23 - (top - 24)) * 256;
  if (whole == 0)
    return 0;
  const int e = std::max(std::ilogb(double(whole)) + top - 32, -126);
  const int cut = std::max(e - 31 - (top - 32), 0);
  return static_cast<float>(std::ldexp(double(shifted(whole, -cut)), top - 32 + cut));
}

float flush(double x) {
  const auto f = static_cast<float>(x); // a sum or product of two floats is rounded no worse by way of double
  return std::abs(f) < 0x1p-126f ? std::copysign(0.0f, f) : f;
}
float pairwiseBlock(const float *a, const float *b, unsigned length, float c, float leastNormal) {
  float p[4];
  for (unsigned k = 0; k < length; ++k) {
    const float x = std::abs(a[k]) < leastNormal ? 0 : a[k], y = std::abs(b[k]) < leastNormal ? 0 : b[k];
    p[k] = flush(double(x) * double(y));
  }
  float s = flush(double(p[0]) + double(p[1]));
  if (length == 4)
    s = flush(double(s) + double(flush(double(p[2]) + double(p[3]))));
  return flush(double(c) + double(s));
}

/// One element of D in f32, by the rule of `target`.
float reference(const isa::Target &target, In in, In inB, const std::vector<float> &a, const std::vector<float> &b,
                float c) {
  const MatrixArithmetic rule = target.matrixUnit->of(formatOf(in));
  const auto k = unsigned(a.size());
  if (rule.sum == MatrixSum::FmaChain) {
    for (unsigned n = 0; n < k; ++n)
      c = std::fma(a[n], b[n], c);
    return c;
  }
  const unsigned length = std::min<unsigned>(rule.block, k);
  const bool half = in == In::F16;
  if (rule.flushes && std::abs(c) < 0x1p-126f)
    c = 0;
  for (unsigned n = 0; n < k; n += length)
    switch (rule.sum) {
    case MatrixSum::Pairwise:
      c = pairwiseBlock(&a[n], &b[n], length, c, half ? 0x1p-14f : 0x1p-126f);
      break;
    case MatrixSum::ExactBlock:
      c = exactBlock(&a[n], &b[n], length, c);
      break;
    case MatrixSum::TruncatedBlock:
    case MatrixSum::SplitTruncatedBlock:
      c = truncatedBlock(&a[n], &b[n], length, c, rule.sum == MatrixSum::SplitTruncatedBlock, formatOfValues(in),
                         formatOfValues(inB));
      break;
    default:
      ADD_FAILURE() << "no reference";
      return 0;
    }
  return c;
}

// --- Matrices -------------------------------------------------------------------------------------------------------

std::string range(unsigned first, unsigned count) {
  return count == 1 ? fmt::format("v{}", first) : fmt::format("v[{}:{}]", first, first + count - 1);
}

constexpr unsigned kA = 2, kB = 4, kC = 8, kD = 40;

void putInput(ExecTest &t, In in, unsigned reg, unsigned lane, unsigned k, uint64_t x) {
  const unsigned bits = bitsOf(in), bit = k % valuesPerLane(in) * bits;
  if (bits == 64)
    t.setV64(reg, lane, x);
  else if (bits == 32)
    t.v(reg + bit / 32, lane) = uint32_t(x);
  else {
    uint32_t &word = t.v(reg + bit / 32, lane);
    const uint32_t mask = ((1u << bits) - 1) << (bit % 32);
    word = (word & ~mask) | (uint32_t(x) << (bit % 32) & mask);
  }
}

std::string file(std::string_view target, unsigned first, unsigned count) {
  return (target == "gfx908" ? "a" : "v") + range(first, count).substr(1); // C and D of gfx908 are AccVGPRs
}
uint32_t &result(ExecTest &t, std::string_view target, unsigned reg, unsigned lane) {
  return target == "gfx908" ? t.acc(reg, lane) : t.v(reg, lane);
}

/// Numbers that make rounding visible: all bits, or exponents near each other, or few bits, or special ones.
class Numbers {
public:
  explicit Numbers(uint32_t seed) : random_(seed) {}
  unsigned kind = 0;

  uint64_t next(unsigned bits, unsigned mantissa, unsigned bias) {
    const uint64_t mask = bits == 64 ? ~0ull : (1ull << bits) - 1, all = random_() & mask;
    const uint64_t sign = all & (1ull << (bits - 1)), fraction = all & ((1ull << mantissa) - 1);
    const uint64_t exponentMask = mask >> 1 & ~((1ull << mantissa) - 1);
    switch (kind) {
    case 0: // anything, NaNs and infinities only rarely: they would be all that there is to see
      if ((all & exponentMask) == exponentMask && random_() % 16)
        return all & ~(1ull << mantissa);
      return all;
    case 1: // comparable
      return sign | (uint64_t(bias) - 3 + random_() % 7) << mantissa | fraction;
    case 2: // far apart, few bits: ties and cancellation
      return sign | (uint64_t(bias) - std::min(bias - 2, 14u) + random_() % 28) << mantissa |
             (fraction & ~((1ull << (mantissa - 2)) - 1));
    case 3: // subnormal, zero, least normal, and about one
      return random_() % 2 ? sign | (random_() % 2 ? fraction : 0) | (random_() % 8 == 0) * (1ull << mantissa)
                           : sign | (uint64_t(bias) + random_() % 3 - 1) << mantissa | fraction;
    default: // infinities and NaNs among ordinary ones
      return random_() % 24 ? sign | uint64_t(bias) << mantissa | fraction
                            : sign | exponentMask | (random_() % 2 ? fraction : 0);
    }
  }
  /// fp8 and bf8 have few exponents, and no special values but one NaN.
  uint64_t small(unsigned mantissa, unsigned bias) {
    const uint64_t all = random_() & 0xff, sign = all & 0x80, fraction = all & ((1u << mantissa) - 1);
    const uint64_t exponents = 0x80u >> mantissa;
    const auto code = [&]() -> uint64_t {
      switch (kind) {
      case 0:
        return all;
      case 1:
        return sign | (bias - 2 + random_() % 5) << mantissa | fraction;
      case 2:
        return sign | random_() % exponents << mantissa | (random_() % 2 ? fraction : 0);
      case 3:
        return random_() % 2 ? sign | random_() % 2 << mantissa | fraction
                             : sign | uint64_t(bias) << mantissa | fraction;
      default:
        return random_() % 24 ? sign | uint64_t(bias) << mantissa | fraction : 0x80;
      }
    }();
    return code == 0x80 && kind != 4 && random_() % 64 ? 0 : code;
  }
  uint64_t input(In in) {
    switch (in) {
    case In::Fp8:
      return small(3, 8);
    case In::Bf8:
      return small(2, 16);
    case In::Xf32:
      return next(32, 23, 127);
    case In::I8x8:
      break;
    case In::F16:
      return next(16, 10, 15);
    case In::Bf16:
    case In::Bf16x4:
      return next(16, 7, 127);
    case In::F32:
      return next(32, 23, 127);
    case In::F64:
      return next(64, 52, 1023);
    case In::I8:
      break;
    }
    return random_() & 0xff;
  }
  /// A value of C that the products of inputs may nearly cancel.
  uint64_t addend(In in) {
    if (isInteger(in))
      return random_() & 0xffffffff;
    if (in == In::F64)
      return next(64, 52, 1023);
    const uint64_t x = next(32, 23, 127);
    return random_() % 2 ? x : x & 0xfffff000;
  }
  static constexpr unsigned kKinds = 5;

private:
  std::mt19937_64 random_;
};

/// Runs `s` on one set of random matrices, and compares every element of D.
void checkShape(const isa::Target &target, const Shape &s, unsigned kind, uint32_t seed) {
  SCOPED_TRACE(fmt::format("{}, numbers of kind {}, seed {}", s.mnemonic, kind, seed));
  Numbers numbers(seed);
  numbers.kind = kind;
  ExecTest t(target);
  const unsigned inputs = registersOfInput(s.in), outputs = registersOfD(s);
  std::vector<uint64_t> a(s.blocks * s.m * s.k), b(a.size()), c(s.blocks * s.m * s.m);
  const auto at = [&](unsigned block, unsigned i, unsigned k) { return (block * s.m + i) * s.k + k; };
  for (unsigned block = 0; block < s.blocks; ++block)
    for (unsigned i = 0; i < s.m; ++i) {
      for (unsigned k = 0; k < s.k; ++k) {
        putInput(t, s.in, kA, s.lane(i, k, block), k, a[at(block, i, k)] = numbers.input(s.in));
        putInput(t, s.inB, kB, s.lane(i, k, block), k, b[at(block, i, k)] = numbers.input(s.inB));
      }
      for (unsigned j = 0; j < s.m; ++j) {
        const uint64_t x = c[(block * s.m + i) * s.m + j] = numbers.addend(s.in);
        const unsigned reg = kC + s.registerOfD(i, block), lane = s.laneOfD(i, j, block);
        if (s.in == In::F64)
          t.setV64(reg, lane, x);
        else
          result(t, target.name, reg, lane) = uint32_t(x);
      }
    }
  ASSERT_TRUE(t.run(fmt::format("{} {}, {}, {}, {}", s.mnemonic, file(target.name, kD, outputs), range(kA, inputs),
                                range(kB, inputs), file(target.name, kC, outputs))));
  const MatrixSum way = target.matrixUnit->of(formatOf(s.in)).sum;
  const bool zeroSigns = way == MatrixSum::FmaChain || way == MatrixSum::Pairwise;
  unsigned failures = 0;
  for (unsigned block = 0; block < s.blocks; ++block)
    for (unsigned i = 0; i < s.m; ++i)
      for (unsigned j = 0; j < s.m; ++j) {
        const unsigned reg = kD + s.registerOfD(i, block), lane = s.laneOfD(i, j, block);
        const uint64_t first = c[(block * s.m + i) * s.m + j];
        uint64_t got = s.in == In::F64 ? t.v64(reg, lane) : result(t, target.name, reg, lane), expected = 0;
        bool same = false;
        if (isInteger(s.in)) {
          auto sum = uint32_t(first);
          for (unsigned k = 0; k < s.k; ++k)
            sum += uint32_t(int8_t(a[at(block, i, k)]) * int8_t(b[at(block, j, k)]));
          expected = sum;
          same = got == expected;
        } else if (s.in == In::F64) {
          double sum = asF64(first);
          for (unsigned k = 0; k < s.k; ++k)
            sum = std::fma(asF64(a[at(block, i, k)]), asF64(b[at(block, j, k)]), sum);
          expected = f64(sum);
          same = got == expected || (std::isnan(sum) && std::isnan(asF64(got)));
        } else {
          std::vector<float> x(s.k), y(s.k);
          for (unsigned k = 0; k < s.k; ++k) {
            x[k] = valueOf(s.in, a[at(block, i, k)]);
            y[k] = valueOf(s.inB, b[at(block, j, k)]);
          }
          const float sum = reference(target, s.in, s.inB, x, y, asF32(uint32_t(first))), found = asF32(uint32_t(got));
          expected = f32(sum);
          same = got == expected || (std::isnan(sum) && std::isnan(found)) || (!zeroSigns && sum == 0 && found == 0);
        }
        EXPECT_TRUE(same) << fmt::format("block {} row {} column {}: {:#x}, expected {:#x}", block, i, j, got,
                                         expected);
        if (!same && ++failures > 3)
          return;
      }
}

void checkAll(std::string_view name) {
  const isa::Target &target = *isa::findTarget(name);
  for (const Shape &s : shapesOf(name)) {
    if (!has(name, s))
      continue;
    ASSERT_NE(target.matrixUnit->of(formatOf(s.in)).sum, MatrixSum::Unknown) << s.mnemonic;
    for (unsigned kind = 0; kind < Numbers::kKinds; ++kind)
      for (uint32_t seed = 1; seed <= 3; ++seed)
        checkShape(target, s, kind, seed);
  }
}

TEST(Matrix, Gfx90aRoundsAsMeasured) { checkAll("gfx90a"); }
TEST(Matrix, Gfx908RoundsAsMeasured) { checkAll("gfx908"); }
TEST(Matrix, Gfx942RoundsAsMeasured) { checkAll("gfx942"); }

/// D of `mnemonic` with the same four values of k in all rows and columns, and zeros behind them.
double answer(std::string_view target, const Shape &s, const double (&a)[4], const double (&b)[4], double c) {
  ExecTest t(target);
  const unsigned inputs = registersOfInput(s.in), outputs = registersOfD(s);
  const auto raw = [&](double x) -> uint64_t {
    return s.in == In::F64                       ? f64(x)
           : s.in == In::F32 || s.in == In::Xf32 ? f32(float(x))
           : s.in == In::F16                     ? f16(float(x))
           : s.in == In::Bf8                     ? smallFloatCode(true, x)
                                                 : f32(float(x)) >> 16;
  };
  for (unsigned block = 0; block < s.blocks; ++block)
    for (unsigned k = 0; k < s.k; ++k)
      for (unsigned i = 0; i < s.m; ++i) {
        putInput(t, s.in, kA, s.lane(i, k, block), k, k < 4 ? raw(a[k]) : 0);
        putInput(t, s.in, kB, s.lane(i, k, block), k, k < 4 ? raw(b[k]) : 0);
      }
  for (unsigned reg = 0; reg < outputs; ++reg)
    if (s.in == In::F64)
      t.setVector(kC + reg, uint32_t(f64(c) >> (reg % 2 ? 32 : 0)));
    else
      for (unsigned lane = 0; lane < 64; ++lane)
        result(t, target, kC + reg, lane) = f32(float(c));
  EXPECT_TRUE(t.run(fmt::format("{} {}, {}, {}, {}", s.mnemonic, file(target, kD, outputs), range(kA, inputs),
                                range(kB, inputs), file(target, kC, outputs))));
  return s.in == In::F64 ? asF64(t.v64(kD, 5)) : asF32(result(t, target, kD, 5));
}

/// MMA-Sim's vector, whose exact result is -0.875, on every shape that takes four values of k at once.
TEST(Matrix, KnownAnswers) {
  constexpr double a[4] = {-0x1p13, -0.5, -0.25, -0.125}, b[4] = {0x1p10, 1, 1, 1}, c = 0x1p23;
  constexpr double kFused = -0.875; // a fused multiply-add after the other, or one sum
  unsigned seen = 0;
  for (const std::string_view target : {"gfx908", "gfx90a", "gfx942"})
    for (const Shape &s : shapesOf(target)) {
      if (s.k < 4 || !has(target, s) || isInteger(s.in) || s.in == In::Fp8 || s.inB == In::Fp8) // too large for fp8
        continue;
      SCOPED_TRACE(std::string(target) + " " + s.mnemonic);
      ++seen;
      double expected = kFused;
      if (target == "gfx90a" && (s.in == In::F16 || s.in == In::Bf16x4))
        expected = 0.0;
      else if (target == "gfx90a" && s.in == In::Bf16)
        expected = -0.375;
      else if (target == "gfx942" && (s.in == In::F16 || s.in == In::Bf16x4 || s.in == In::Xf32))
        expected = -0.5;
      else if (target == "gfx942" && s.in == In::Bf8)
        expected = -1.0;
      EXPECT_EQ(answer(target, s, a, b, c), expected);
    }
  EXPECT_EQ(seen, 8u + 15u + 17u);
}

TEST(Matrix, Gfx90aFlushes) {
  ExecTest t;
  const auto result = [&](uint32_t a, uint32_t b, uint32_t c) { // of bf16 values, all the same
    t.setVector(2, pack16(a, a));
    t.setVector(3, pack16(b, b));
    for (unsigned reg = 8; reg < 12; ++reg)
      t.setVector(reg, c);
    EXPECT_TRUE(t.run("v_mfma_f32_4x4x2bf16 v[12:15], v2, v3, v[8:11]"));
    return t.v(12, 0);
  };
  constexpr uint32_t one = 0x3f80, minusOne = 0xbf80, least = 0x0080, subnormal = 0x007f;
  EXPECT_EQ(result(subnormal, one, f32(2.0f)), f32(2.0f)); // A and B
  EXPECT_EQ(result(one, subnormal, f32(0x1p-126f)), f32(0x1p-126f));
  EXPECT_EQ(result(0, minusOne, 0x807fffff), 0u); // the first C, which loses its sign
  EXPECT_EQ(result(0, minusOne, 0x80000000), 0u);
  EXPECT_EQ(result(least, one, 0x807fffff), f32(0x1p-125f));
  EXPECT_EQ(result(least, 0x3f00, f32(1.0f)), f32(1.0f));        // products
  EXPECT_EQ(result(least, one, f32(-0x1.4p-125f)), 0x80000000u); // sums, which keep it
  EXPECT_EQ(result(least, one, f32(-0x1.8p-126f)), 0u);
}

TEST(Matrix, Gfx90aRoundsToNearestWhateverModeSays) {
  ExecTest t;
  for (const float last : {0x1.8p-10f, 0x1p-11f}) // three quarters and a quarter of the result's last bit
    for (const uint32_t round : {0u, 1u, 2u, 3u}) {
      t.setVector64(2, uint64_t{pack16(f16(1), f16(0x1p-14f))});
      t.setVector64(4, uint64_t{pack16(f16(1), f16(last))});
      for (unsigned reg = 8; reg < 12; ++reg)
        t.setVector(reg, 0);
      t.mode(kDefaultMode | round | round << 2);
      ASSERT_TRUE(t.run("v_mfma_f32_4x4x4f16 v[12:15], v[2:3], v[4:5], v[8:11]"));
      EXPECT_EQ(asF32(t.v(12, 0)), last == 0x1.8p-10f ? 1 + 0x1p-23f : 1.0f) << "rounding field " << round;
    }
}

/// Without a rule for its format an instruction stops the dispatch.
TEST(Matrix, UnknownRulesStop) {
  static isa::Target none = *isa::findTarget("gfx90a"); // a machine keeps it
  none.matrixUnit = nullptr;
  ExecTest t(none);
  EXPECT_FALSE(t.run("v_mfma_f32_4x4x1f32 v[12:15], v2, v3, v[8:11]"));
  EXPECT_FALSE(t.run("v_mfma_f32_4x4x4bf16_1k v[12:15], v[2:3], v[4:5], v[8:11]"));
}

} // namespace
} // namespace luthier::vgpu::test
