// How matrix instructions add up: an engine for each isa::MatrixSum (isa/matrix.h says which target has which).
//
// Each adds a block of products to a row of D: sum[n] += a[0] * b[0][n] + a[1] * b[1][n] + ..., and says how that is
// rounded. The host rounds to nearest and keeps subnormals, unless the rule flushes them. What NaN comes out, and
// for the two exact engines the sign of a zero, is not known of the hardware: it is whatever comes of the arithmetic.
#pragma once

#include "vgpu/exec/float_math.h"

namespace luthier::vgpu::LUTHIER_VGPU_LEVEL {

/// sum += a * b, fused; integers wrap around. By reference: vectors have no ABI that all CPU levels share.
template <class Vector, class Value>
[[gnu::always_inline]] inline void multiplyAdd(Vector &sum, Value a, const Value *b) {
  Vector row;
  memcpy(&row, b, sizeof row);
  if constexpr (std::is_same_v<Value, u32>)
    sum += a * row;
  else
    sum = __builtin_elementwise_fma((Vector)a, row, sum); // not Vector{} + a: -0 must stay -0
}

/// MatrixSum::Pairwise. Every operation is the host's, which rounds, and flushes if it is told to.
template <unsigned Length, class Vector>
[[gnu::always_inline]] inline void addPairwise(Vector &sum, const f32 *a, const f32 *const *b) {
  static_assert(Length == 2 || Length == 4);
  Vector product[Length];
  for (unsigned k = 0; k < Length; ++k) {
    memcpy(&product[k], b[k], sizeof product[k]);
    product[k] *= a[k];
  }
  product[0] += product[1];
  if constexpr (Length == 4)
    product[0] += product[2] + product[3];
  sum += product[0];
}

/// Subnormals as +0, in the format whose least normal number is `least`. Zeros come out as +0 too.
[[gnu::always_inline]] inline f32 flushedToPlus(f32 x, f32 least) { return magnitude(x) < rawBits(least) ? 0.0f : x; }

/// x + y and what is lost by rounding it, exactly (Knuth).
struct TwoSum {
  f64 sum, error;
  [[gnu::always_inline]] TwoSum(f64 x, f64 y) : sum(x + y) {
    const f64 part = sum - x;
    error = (x - (sum - part)) + (y - part);
  }
};

/// x + y rounded to odd: an inexact result has its last bit set, so that another rounding, to fewer bits, sees on which
/// side of a tie it is (Boldo and Melquiond).
[[gnu::always_inline]] inline f64 addToOdd(f64 x, f64 y) {
  const TwoSum s(x, y);
  const u64 raw = bits<u64>(s.sum);
  const u64 step = (raw ^ bits<u64>(s.error)) >> 63 ? ~u64(0) : u64(1); // towards the exact sum
  return bits<f64>(s.error != 0 && !(raw & 1) ? raw + step : raw);
}

/// x + high + low, rounded to f32 once; high + low is the exact sum of the two, low what high lacks.
[[gnu::always_inline]] inline f32 addExactly(f64 x, f64 high, f64 low) {
  const TwoSum s(x, high);
  return static_cast<f32>(addToOdd(s.sum, addToOdd(s.error, low)));
}

/// MatrixSum::ExactBlock: two products of any f32 with up to 26 bits together, or four of f16.
template <unsigned Length> inline void addExactBlock(f32 *sum, const f32 *a, const f32 *const *b, unsigned columns) {
  static_assert(Length == 2 || Length == 4);
  for (unsigned n = 0; n < columns; ++n) {
    f64 product[Length], plain = sum[n];
    for (unsigned k = 0; k < Length; ++k) {
      product[k] = static_cast<f64>(a[k]) * static_cast<f64>(b[k][n]); // exact
      plain += product[k];
    }
    f64 high = product[0], low = product[1];
    if constexpr (Length == 4) {
      // Products of f16 are multiples of 2^-48 and less than 2^32. Cut in two at 2^-8, both parts add up exactly.
      constexpr f64 kCut = 0x1.8p44;
      high = low = 0;
      for (unsigned k = 0; k < Length; ++k) {
        const f64 part = (product[k] + kCut) - kCut;
        high += part;
        low += product[k] - part;
      }
    }
    const TwoSum s(high, low);
    const f32 exact = addExactly(sum[n], s.sum, s.error);
    // Infinities and NaNs come of the plain sum; finite numbers do not overflow it.
    sum[n] = magnitude(plain) >= kInfinity<f64> ? static_cast<f32>(plain) : exact;
  }
}

/// The exponent of x, at least `least`.
[[gnu::always_inline]] inline i32 exponentOf(f32 x, i32 least) {
  const i32 e = static_cast<i32>(magnitude(x) >> 23) - 127;
  return e < least ? least : e;
}

/// For |x| < 2^51.
[[gnu::always_inline]] inline f64 floorOf(f64 x) {
  constexpr f64 kWhole = 0x1.8p52;
  const f64 nearest = (x + kWhole) - kWhole;
  return nearest > x ? nearest - 1 : nearest;
}

// MatrixSum::TruncatedBlock and SplitTruncatedBlock. Bits of fraction that products, sums and results have.
inline constexpr i32 kProductBits = 24, kSumBits = 32, kResultBits = 31;
inline constexpr i32 kNoProduct = -300, kLeastF32 = -126; // less than any product's exponent; that of subnormals

/// Products of one column in units of 2^(exponent - kProductBits), `exponent` the greatest one's.
struct CutSum {
  i32 total = 0;
  i32 exponent = kNoProduct;
};

/// Cuts every `Step`th product off and adds them up. Infinities and NaNs come of `plain`, which gets all of them.
template <unsigned Length, unsigned Step>
[[gnu::always_inline]] inline CutSum cutSum(const f32 *a, const f32 *const *b, unsigned n, i32 leastOfA, i32 leastOfB,
                                            f64 &plain) {
  constexpr unsigned kCount = Length / Step;
  f64 product[kCount];
  CutSum sum;
  for (unsigned k = 0; k < kCount; ++k) {
    const f32 x = a[k * Step], y = b[k * Step][n];
    const f64 p = static_cast<f64>(x) * static_cast<f64>(y); // exact
    const bool finite = magnitude(p) < rawBits(0x1p128);
    plain += finite || p != p ? p : p * bits<f64>(kInfinity<f64>);
    product[k] = finite ? p : 0;
    const i32 e = exponentOf(x, leastOfA) + exponentOf(y, leastOfB);
    sum.exponent = p != 0 && e > sum.exponent ? e : sum.exponent;
  }
  const f64 scale = powerOfTwo(kProductBits - sum.exponent);
  for (unsigned k = 0; k < kCount; ++k)
    sum.total += static_cast<i32>(product[k] * scale); // towards zero
  return sum;
}

/// C and a sum of products, rounded to f32. `total` is in units of 2^(exponent - kProductBits).
[[gnu::always_inline]] inline f32 addToC(f32 c, f64 total, i32 exponent, i32 mostBelow) {
  const i32 ofC = exponentOf(c, kLeastF32), top = exponent > ofC ? exponent : ofC;
  const f64 products = floorOf(total * powerOfTwo(exponent - top + kSumBits - kProductBits));
  const f64 addend = ofC < top - mostBelow ? 0 : floorOf(c * powerOfTwo(kProductBits - top));
  const f64 whole = (products + addend * (1 << (kSumBits - kProductBits))) * powerOfTwo(top - kSumBits);
  i32 e = static_cast<i32>(magnitude(whole) >> 52) - 1023;
  e = e < kLeastF32 ? kLeastF32 : e;
  return static_cast<f32>(floorOf(whole * powerOfTwo(kResultBits - e)) * powerOfTwo(e - kResultBits));
}

/// `leastOfA` and `leastOfB` are the exponents of the inputs' subnormals, which are not normalised.
template <unsigned Length, bool Split>
inline void addTruncatedBlock(f32 *sum, const f32 *a, const f32 *const *b, unsigned columns, i32 leastOfA,
                              i32 leastOfB) {
  constexpr i32 kAnywhere = 1000, kMostBelow = 25;
  for (unsigned n = 0; n < columns; ++n) {
    f64 plain = sum[n], total;
    i32 exponent;
    if constexpr (Split) {
      const CutSum even = cutSum<Length, 2>(a, b, n, leastOfA, leastOfB, plain);
      const CutSum odd = cutSum<Length, 2>(a + 1, b + 1, n, leastOfA, leastOfB, plain);
      exponent = even.exponent > odd.exponent ? even.exponent : odd.exponent;
      total = floorOf(even.total * powerOfTwo(even.exponent - exponent)) +
              floorOf(odd.total * powerOfTwo(odd.exponent - exponent));
    } else {
      const CutSum all = cutSum<Length, 1>(a, b, n, leastOfA, leastOfB, plain);
      exponent = all.exponent;
      total = all.total;
    }
    const bool special = magnitude(plain) >= kInfinity<f64>;
    const f32 result = addToC(special ? 0.0f : sum[n], total, exponent, Split ? kMostBelow : kAnywhere);
    sum[n] = special ? static_cast<f32>(plain) : result;
  }
}

/// MatrixSum::FramedBlock. As above, `leastExponent` is that of the inputs' subnormals. What nobody has measured, and
/// is chosen: products that are zero add nothing, whatever their sign; a sum of zero is +0; C that is subnormal is
/// zero.
template <unsigned Length>
inline void addFramedBlock(f32 *sum, const f32 *a, const f32 *const *b, unsigned columns, i32 leastExponent) {
  constexpr i32 kCut = 24, kNoTerm = -300;
  for (unsigned n = 0; n < columns; ++n) {
    const f32 c = flushed(sum[n]);
    const bool frame = rawBits(c) & kSign<f32>;
    f64 product[Length], plain = c;
    i32 top = c != 0 ? exponentOf(c, kLeastF32) : kNoTerm;
    for (unsigned k = 0; k < Length; ++k) {
      product[k] = static_cast<f64>(a[k]) * static_cast<f64>(b[k][n]); // exact
      plain += product[k];
      const i32 e = exponentOf(a[k], leastExponent) + exponentOf(b[k][n], leastExponent);
      top = product[k] != 0 && e > top ? e : top;
    }
    if (magnitude(plain) >= kInfinity<f64> || top == kNoTerm) {
      sum[n] = static_cast<f32>(plain);
      continue;
    }
    const f64 scale = powerOfTwo(kCut - top);
    const auto units = [&](f64 x) { return static_cast<i64>(bits<f64>(magnitude(x)) * scale); };
    i64 total = units(c);
    for (const f64 p : product) {
      const bool opposes = frame != (rawBits(p) >> 63 != 0);
      if (p != 0)
        total += opposes ? ~units(p) : units(p);
    }
    const f64 result = static_cast<f64>(frame ? -total : total) * powerOfTwo(top - kCut);
    sum[n] = flushed(static_cast<f32>(result));
  }
}

} // namespace luthier::vgpu::LUTHIER_VGPU_LEVEL
