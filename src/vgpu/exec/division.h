// The division macro: V_DIV_SCALE, V_DIV_FMAS and V_DIV_FIXUP.
//
// Compilers divide by Newton-Raphson on V_RCP: DIV_SCALE moves numerator and denominator away from the ends of the
// exponent range, DIV_FMAS takes the last step and undoes the scaling where VCC says so, DIV_FIXUP does the special
// cases. Together they must give the correctly rounded quotient.
//
// The manuals' pseudo-code cannot do that as it stands, in three places:
// - DIV_FMAS is said to scale by 2^32 (f64: 2^64) whatever happened before. But a quotient near overflow comes from a
//   denominator scaled up by 2^64 and needs 2^64, a denormal one comes from a numerator scaled up by 2^64 and needs
//   2^-64. The two are told apart by the size of the quotient, S2: it is above 1 in the one case, far below in the
//   other.
// - DIV_FIXUP is said to give "overflow" for a denominator whose exponent is all ones; but those are infinities and
//   NaNs, dealt with before. What needs it are numerators so far above the denominator that even the scaled quotient
//   overflows and Newton-Raphson makes a NaN of it.
// - DIV_SCALE is said to scale a denominator *up* when 1/denominator and the quotient are both denormal. Such a
//   denominator is above 2^126; it would become infinite. It is scaled down here, as "1/S1 == DENORM" alone does.
#pragma once

#include "vgpu/exec/arith.h"

namespace luthier::vgpu::LUTHIER_VGPU_LEVEL {

template <class T> struct Division;
template <> struct Division<f32> {
  static constexpr int kNearMax = 96, kTiny = 23, kUnderflow = -150, kOverflow = 128, kBias = 127;
  static constexpr f32 kUp = 0x1p64f, kDown = 0x1p-64f;
  static constexpr f32 kLargeDenominator = 0x1p126f; ///< above it, the reciprocal is denormal
  /// numerator / denominator is below the smallest normal number.
  [[gnu::always_inline]] static bool tinyQuotient(f32 numerator, f32 denominator) {
    return static_cast<f64>(__builtin_fabsf(numerator)) * 0x1p126 < static_cast<f64>(__builtin_fabsf(denominator));
  }
};
template <> struct Division<f64> {
  static constexpr int kNearMax = 768, kTiny = 53, kUnderflow = -1075, kOverflow = 1024, kBias = 1023;
  static constexpr f64 kUp = 0x1p128, kDown = 0x1p-128;
  static constexpr f64 kLargeDenominator = 0x1p1022;
  [[gnu::always_inline]] static bool tinyQuotient(f64 numerator, f64 denominator) {
    return __builtin_fabs(numerator) * 0x1p1022 < __builtin_fabs(denominator);
  }
};

/// V_DIV_SCALE. x: what to scale, numerator or denominator; d: denominator; n: numerator.
template <class T> [[gnu::always_inline]] inline T divScale(T x, T d, T n, MaskOut &postScale) {
  using D = Division<T>;
  const bool isDenominator = x == d, isNumerator = x == n;
  const bool infinite = magnitude(d) >= kInfinity<T>;
  const bool nearMax = exponent(n) - exponent(d) >= D::kNearMax;
  const bool denormal = exponent(d) == 0;
  const bool denormalReciprocal = !infinite && magnitude(d) > rawBits(D::kLargeDenominator);
  const bool denormalQuotient = !infinite && D::tinyQuotient(n, d);
  const bool tiny = exponent(n) <= D::kTiny;

  // The manual's chain of conditions, last one first.
  T scaled = tiny ? x * D::kUp : x;
  scaled = denormalQuotient ? (isNumerator ? x * D::kUp : x) : scaled;
  scaled = denormalReciprocal ? x * D::kDown : scaled;
  scaled = (denormalReciprocal && denormalQuotient) ? (isDenominator ? x * D::kDown : x) : scaled;
  scaled = denormal ? x * D::kUp : scaled;
  scaled = nearMax ? (isDenominator ? x * D::kUp : x) : scaled;
  const bool zero = n == T(0) || d == T(0);
  postScale.set = !zero && (nearMax || (!denormal && denormalQuotient));
  return zero ? bits<T>(kDefaultNan<T>) : scaled;
}

/// V_DIV_FMAS_F32: a * b + c, times 2^64 or 2^-64, with one rounding: the sum is rounded to odd in f64.
[[gnu::always_inline]] inline f32 divFmas(f32 a, f32 b, f32 c, bool postScale) {
  const f32 plain = __builtin_fmaf(a, b, c);
  const f64 product = static_cast<f64>(a) * static_cast<f64>(b), addend = static_cast<f64>(c);
  const f64 sum = product + addend;
  const f64 part = sum - product;
  const f64 error = (product - (sum - part)) + (addend - part);
  const u64 s = bits<u64>(sum);
  const u64 odd = isNegative(error) == isNegative(sum) ? s + 1 : s - 1;
  const f64 exact = bits<f64>(error != 0.0 && !(s & 1) ? odd : s);
  const f64 factor = exponent(c) > Division<f32>::kBias ? 0x1p64 : 0x1p-64;
  return postScale ? static_cast<f32>(exact * factor) : plain;
}

/// V_DIV_FMAS_F64: the same with 2^128 and 2^-128. Scaling up is exact. Scaling down rounds the sum to a denormal, for
/// a second time; that goes wrong only where the rounded sum lies halfway between two denormals and the exact one does
/// not.
[[gnu::always_inline]] inline f64 divFmas(f64 a, f64 b, f64 c, bool postScale) {
  const f64 sum = __builtin_fma(a, b, c);
  const f64 scaledUp = sum * 0x1p128;

  // Lifted by 2^512, so that the error of the sum is no denormal itself.
  const f64 x = a * 0x1p512, y = c * 0x1p512;
  const f64 lifted = __builtin_fma(x, b, y);
  const f64 product = x * b, productError = __builtin_fma(x, b, -product);
  const f64 high = product + y, part = high - product;
  const f64 highError = (product - (high - part)) + (y - part);
  const f64 error = (high - lifted) + (highError + productError);
  const f64 rounded = lifted * 0x1p-640;
  const f64 rest = lifted - rounded * 0x1p640;
  const bool tie = __builtin_fabs(rest) == 0x1p-435; // half of the smallest denormal
  const bool away = tie && error != 0.0 && isNegative(error) == isNegative(rest);
  const f64 scaledDown = away ? rounded + (isNegative(rest) ? -0x1p-1074 : 0x1p-1074) : rounded;

  const f64 scaled = exponent(c) > Division<f64>::kBias ? scaledUp : scaledDown;
  return postScale ? scaled : sum;
}

/// The special cases that all widths share. q: quotient, d: denominator, n: numerator.
template <class T> [[gnu::always_inline]] inline T divFixupSpecial(T q, T d, T n) {
  const bool negative = isNegative(d) != isNegative(n);
  const bool zeroD = d == T(0), zeroN = n == T(0);
  const bool infiniteD = magnitude(d) == kInfinity<T>, infiniteN = magnitude(n) == kInfinity<T>;
  T r = withSign(q, negative);
  r = infiniteD || zeroN ? withSign(bits<T>(BitsOf<T>(0)), negative) : r;
  r = zeroD || infiniteN ? withSign(bits<T>(kInfinity<T>), negative) : r;
  r = (zeroD && zeroN) || (infiniteD && infiniteN) ? bits<T>(kDefaultNan<T>) : r;
  r = isNan(d) ? quiet(d) : r;
  return isNan(n) ? quiet(n) : r;
}

/// V_DIV_FIXUP of f32 and f64: quotients out of range are zero or infinite, as rounding to nearest has it.
template <class T> [[gnu::always_inline]] inline T divFixup(T q, T d, T n) {
  using D = Division<T>;
  const i32 distance = exponent(n) - exponent(d);
  T r = distance < D::kUnderflow ? T(0) : q;
  r = distance > D::kOverflow ? bits<T>(kInfinity<T>) : r;
  return divFixupSpecial(r, d, n);
}
[[gnu::always_inline]] inline f16 divFixup(f16 q, f16 d, f16 n) { return divFixupSpecial(q, d, n); }

} // namespace luthier::vgpu::LUTHIER_VGPU_LEVEL
