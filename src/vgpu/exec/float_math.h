// Floating-point building blocks of the vector ALU, for loops over lanes: every function is straight-line select code.
//
// Rounding and denormals of plain arithmetic are the host's business (state/fp_mode.h); what is done here by hand is
// what differs from the host: NaN rules, instructions that flush denormals whatever MODE says, saturating conversions,
// and the transcendental functions. Those are computed in f64 by series that are exact to far below an f32 rounding, so
// the results are within 0.51 ulp of the true value; the hardware promises 1 ulp.
#pragma once

#include "vgpu/exec/lanes.h"

namespace luthier::vgpu::LUTHIER_VGPU_LEVEL {

template <class T> struct FloatFormat;
template <> struct FloatFormat<f16> {
  using Bits = u16;
  static constexpr unsigned mantissa = 10;
  static constexpr int bias = 15;
};
template <> struct FloatFormat<f32> {
  using Bits = u32;
  static constexpr unsigned mantissa = 23;
  static constexpr int bias = 127;
};
template <> struct FloatFormat<f64> {
  using Bits = u64;
  static constexpr unsigned mantissa = 52;
  static constexpr int bias = 1023;
};

template <class T> using BitsOf = typename FloatFormat<T>::Bits;
template <class T> inline constexpr BitsOf<T> kSign = BitsOf<T>(BitsOf<T>(1) << (sizeof(T) * 8 - 1));
template <class T> inline constexpr BitsOf<T> kMinNormal = BitsOf<T>(BitsOf<T>(1) << FloatFormat<T>::mantissa);
template <class T> inline constexpr BitsOf<T> kQuiet = BitsOf<T>(kMinNormal<T> >> 1);
template <class T>
inline constexpr BitsOf<T> kInfinity = BitsOf<T>(BitsOf<T>(~kSign<T>) & BitsOf<T>(~(kMinNormal<T> - 1)));
/// The NaN that invalid operations produce, on the GPU as on the host: negative and quiet.
template <class T> inline constexpr BitsOf<T> kDefaultNan = BitsOf<T>(kSign<T> | kInfinity<T> | kQuiet<T>);

template <class T> [[gnu::always_inline]] inline BitsOf<T> rawBits(T x) { return bits<BitsOf<T>>(x); }
template <class T> [[gnu::always_inline]] inline BitsOf<T> magnitude(T x) {
  return BitsOf<T>(rawBits(x) & BitsOf<T>(~kSign<T>));
}
template <class T> [[gnu::always_inline]] inline bool isNan(T x) { return magnitude(x) > kInfinity<T>; }
template <class T> [[gnu::always_inline]] inline bool isSignalling(T x) {
  return isNan(x) && !(rawBits(x) & kQuiet<T>);
}
template <class T> [[gnu::always_inline]] inline T quiet(T x) { return bits<T>(BitsOf<T>(rawBits(x) | kQuiet<T>)); }

/// Denormals as zeros of their sign, whatever MODE says.
template <class T> [[gnu::always_inline]] inline T flushed(T x) {
  return bits<T>(BitsOf<T>(magnitude(x) < kMinNormal<T> ? rawBits(x) & kSign<T> : rawBits(x)));
}

/// Denormals as zeros if the host's mode makes them compare equal to zero, for instructions that move their input.
template <class T> [[gnu::always_inline]] inline T flushedByMode(T x) {
  return bits<T>(BitsOf<T>(x == T(0) ? rawBits(x) & kSign<T> : rawBits(x)));
}

/// V_MIN, V_MAX: a signalling NaN wins in IEEE mode, otherwise the number does; -0 is less than +0.
template <bool Max, class T> [[gnu::always_inline]] inline T extreme(T a, T b, Mode m) {
  using U = BitsOf<T>;
  // Equal values differ at most in the sign of a zero.
  const T zero = bits<T>(U(Max ? rawBits(a) & rawBits(b) : rawBits(a) | rawBits(b)));
  T d = a == b ? zero : (Max ? a > b : a < b) ? a : b;
  d = isNan(b) ? a : d;
  d = isNan(a) ? b : d;
  d = m.ieee() && isSignalling(b) ? quiet(b) : d;
  d = m.ieee() && isSignalling(a) ? quiet(a) : d;
  return flushedByMode(d);
}
/// f16 as integers: they become f32 for comparing, which quiets NaNs and costs more.
template <bool Max> [[gnu::always_inline]] inline f16 extreme(f16 a, f16 b, Mode m) {
  const u32 x = rawBits(a), y = rawBits(b);
  const u32 absX = x & 0x7fff, absY = y & 0x7fff;
  const i32 orderX = static_cast<i32>(x & 0x8000 ? ~absX : absX);
  const i32 orderY = static_cast<i32>(y & 0x8000 ? ~absY : absY);
  u32 d = (Max ? orderX > orderY : orderX < orderY) ? x : y;
  d = absY > 0x7c00 ? x : d;
  d = absX > 0x7c00 ? y : d;
  d = m.ieee() && absY > 0x7c00 && !(y & 0x200) ? y | 0x200 : d;
  d = m.ieee() && absX > 0x7c00 && !(x & 0x200) ? x | 0x200 : d;
  return bits<f16>(static_cast<u16>(d));
}
template <class T> [[gnu::always_inline]] inline T minimum(T a, T b, Mode m) { return extreme<false>(a, b, m); }
template <class T> [[gnu::always_inline]] inline T maximum(T a, T b, Mode m) { return extreme<true>(a, b, m); }

// IEEE 754-2019, which gfx12 has in their place. -0 is less than +0 in all of them, and results are quiet.

template <bool Max, class T> [[gnu::always_inline]] inline T extremeOf(T a, T b) {
  using U = BitsOf<T>;
  const T zero = bits<T>(U(Max ? rawBits(a) & rawBits(b) : rawBits(a) | rawBits(b)));
  return a == b ? zero : (Max ? a > b : a < b) ? a : b;
}
template <bool Max> [[gnu::always_inline]] inline f16 extremeOf(f16 a, f16 b) { // as integers: see `extreme`
  const u32 x = rawBits(a), y = rawBits(b);
  const i32 orderX = static_cast<i32>(x & 0x8000 ? ~(x & 0x7fff) : x);
  const i32 orderY = static_cast<i32>(y & 0x8000 ? ~(y & 0x7fff) : y);
  return bits<f16>(static_cast<u16>((Max ? orderX > orderY : orderX < orderY) ? x : y));
}
template <class T> [[gnu::always_inline]] inline T quietNan(T x) { return isNan(x) ? quiet(x) : x; }

/// minimumNumber and maximumNumber: the number, if only one of them is.
template <bool Max, class T> [[gnu::always_inline]] inline T extremeNumber(T a, T b) {
  T d = extremeOf<Max>(a, b);
  d = isNan(b) ? a : d;
  d = isNan(a) ? quietNan(b) : d;
  d = isNan(a) && isNan(b) ? quiet(a) : d;
  return sizeof(T) == 2 ? d : flushedByMode(d);
}
/// minimum and maximum: what is no number wins, the signalling one first.
template <bool Max, class T> [[gnu::always_inline]] inline T extremeValue(T a, T b) {
  T d = extremeOf<Max>(a, b);
  d = isNan(b) ? quiet(b) : d;
  d = isNan(a) ? quiet(a) : d;
  d = isSignalling(b) ? quiet(b) : d;
  d = isSignalling(a) ? quiet(a) : d;
  return sizeof(T) == 2 ? d : flushedByMode(d);
}
template <class T> [[gnu::always_inline]] inline T leastNumber(T a, T b) { return extremeNumber<false>(a, b); }
template <class T> [[gnu::always_inline]] inline T greatestNumber(T a, T b) { return extremeNumber<true>(a, b); }
template <class T> [[gnu::always_inline]] inline T leastValue(T a, T b) { return extremeValue<false>(a, b); }
template <class T> [[gnu::always_inline]] inline T greatestValue(T a, T b) { return extremeValue<true>(a, b); }

/// V_CMP_CLASS: the number of the class that x is in.
template <class T> [[gnu::always_inline]] inline u32 classOf(T x) {
  const bool negative = (rawBits(x) & kSign<T>) != 0;
  const BitsOf<T> m = magnitude(x);
  u32 c = negative ? 5 : 6;            // zero
  c = m != 0 ? (negative ? 4 : 7) : c; // denormal
  c = m >= kMinNormal<T> ? (negative ? 3 : 8) : c;
  c = m == kInfinity<T> ? (negative ? 2 : 9) : c;
  c = m > kInfinity<T> ? (m & kQuiet<T> ? 1 : 0) : c;
  return c;
}

/// Float to integer: truncates, saturates, NaN becomes 0.
template <class I, class T> [[gnu::always_inline]] inline I saturated(T x) {
  constexpr bool isSigned = I(-1) < I(0);
  constexpr I kMax = I(isSigned ? (u64(1) << (sizeof(I) * 8 - 1)) - 1 : u64(I(-1)));
  constexpr I kMin = isSigned ? I(-kMax - 1) : I(0);
  constexpr I kHalf = kMax / 2 + 1; // a power of two: exact in T
  constexpr T kBeyond = T(kHalf) * T(2);
  I d = x >= kBeyond ? kMax : x < T(kMin) ? kMin : static_cast<I>(x);
  return x != x ? I(0) : d;
}

/// Exact 2^n for normal results.
[[gnu::always_inline]] inline f64 powerOfTwo(i32 n) {
  return bits<f64>(static_cast<u64>(static_cast<i64>(n) + 1023) << 52);
}

/// Nearest integer, independent of the rounding mode; |x| < 2^31.
[[gnu::always_inline]] inline i32 nearest(f64 x) { return static_cast<i32>(x + (x < 0 ? -0.5 : 0.5)); }

/// f16 fused multiply-add: one rounding. The f64 sum of an exact product is exact wherever an f16 rounding could be
/// undecided; rounding it to odd on the way through f32 keeps the last rounding the only one.
[[gnu::always_inline]] inline f16 fma16(f16 a, f16 b, f16 c) {
  const f64 sum = f64(f32(a) * f32(b)) + f64(f32(c));
  constexpr u64 kBelowF32 = 0x1fffffff;
  const u64 u = rawBits(sum);
  const u64 odd = (u & ~kBelowF32) | ((u & kBelowF32) != 0 ? kBelowF32 + 1 : 0);
  return static_cast<f16>(static_cast<f32>(bits<f64>(odd)));
}

/// V_MAD and V_MAC: the product is rounded on its own, and denormals are flushed in every mode. The manual only leaves
/// "denormals are supported" out; LLVM relies on the flush (isFMADLegal).
template <class T> [[gnu::always_inline]] inline T mad(T a, T b, T c) {
  const T product = flushed(static_cast<T>(flushed(a) * flushed(b)));
  return flushed(static_cast<T>(product + flushed(c)));
}

/// Fused multiply-add by the rules of DX9: zero times anything is zero.
[[gnu::always_inline]] inline f32 fmaZero(f32 a, f32 b, f32 c) {
  return a == 0.0f || b == 0.0f ? flushedByMode(c) : __builtin_fmaf(a, b, c);
}

/// 2^x for f32 and f16 arguments; results that f32 cannot hold become 0 or infinity.
[[gnu::always_inline]] inline f32 exp2(f32 x) {
  const f64 y = x > -160.0f ? (x < 160.0f ? x : 160.0f) : -160.0f;
  const i32 n = nearest(y);
  const f64 t = (y - n) * 0.69314718055994530942; // 2^f = e^(f ln 2), |t| < 0.35
  f64 p = 1.0 / 3628800;
  p = p * t + 1.0 / 362880;
  p = p * t + 1.0 / 40320;
  p = p * t + 1.0 / 5040;
  p = p * t + 1.0 / 720;
  p = p * t + 1.0 / 120;
  p = p * t + 1.0 / 24;
  p = p * t + 1.0 / 6;
  p = p * t + 1.0 / 2;
  p = p * t + 1.0;
  p = p * t + 1.0;
  f32 d = static_cast<f32>(p * powerOfTwo(n));
  d = x >= 128.0f ? bits<f32>(kInfinity<f32>) : d;
  return isNan(x) ? quiet(x) : d;
}

/// log2(x); denormals count as zero.
[[gnu::always_inline]] inline f32 log2(f32 x) {
  // x = m 2^e with m in [sqrt(1/2), sqrt(2)), so that nothing cancels near 1; log m = 2 artanh((m - 1) / (m + 1)).
  constexpr u32 kSqrtHalf = 0x3f3504f3;
  const i32 e = static_cast<i32>(rawBits(x) - kSqrtHalf) >> 23;
  const f64 m = bits<f32>(rawBits(x) - (static_cast<u32>(e) << 23));
  const f64 s = (m - 1.0) / (m + 1.0);
  const f64 z = s * s;
  f64 p = 1.0 / 15;
  p = p * z + 1.0 / 13;
  p = p * z + 1.0 / 11;
  p = p * z + 1.0 / 9;
  p = p * z + 1.0 / 7;
  p = p * z + 1.0 / 5;
  p = p * z + 1.0 / 3;
  p = p * z + 1.0;
  f32 d = static_cast<f32>(e + p * s * 2.88539008177792681472); // 2 / ln 2
  d = rawBits(x) == kInfinity<f32> ? x : d;
  d = rawBits(x) & kSign<f32> ? bits<f32>(kDefaultNan<f32>) : d;
  d = magnitude(x) < kMinNormal<f32> ? bits<f32>(kSign<f32> | kInfinity<f32>) : d;
  return isNan(x) ? quiet(x) : d;
}

/// The sine of x revolutions, or its cosine.
template <bool Cosine> [[gnu::always_inline]] inline f32 sine(f32 x) {
  // From 2^24 on every f32 is a whole number of revolutions.
  const bool whole = magnitude(x) >= 0x4b800000;
  const f64 y = whole ? 0.0f : x;
  const f64 r = y - nearest(y);
  const i32 quarter = nearest(4 * r);
  const f64 t = (r - quarter * 0.25) * 6.28318530717958647693; // |t| <= pi / 4
  const f64 z = t * t;
  f64 s = -1.0 / 39916800;
  s = s * z + 1.0 / 362880;
  s = s * z - 1.0 / 5040;
  s = s * z + 1.0 / 120;
  s = s * z - 1.0 / 6;
  s = (s * z + 1.0) * t; // keeps the sign of a zero
  f64 c = 1.0 / 479001600;
  c = c * z - 1.0 / 3628800;
  c = c * z + 1.0 / 40320;
  c = c * z - 1.0 / 720;
  c = c * z + 1.0 / 24;
  c = c * z - 1.0 / 2;
  c = c * z + 1.0;
  const i32 q = Cosine ? quarter + 1 : quarter;
  f64 d = q & 1 ? c : s;
  d = q & 2 ? 0.0 - d : d; // not -d: the sine of half a revolution is +0
  const f32 result = magnitude(x) >= kInfinity<f32> ? bits<f32>(kDefaultNan<f32>) : static_cast<f32>(d);
  return isNan(x) ? quiet(x) : result;
}

/// C's frexp; infinities and NaNs have exponent 0 and are their own significand.
template <class T> [[gnu::always_inline]] inline T normalised(T x) {
  // Denormals are scaled up by arithmetic, which makes them zeros when the mode flushes them.
  constexpr T kScale = sizeof(T) == 8 ? T(0x1p64) : T(0x1p32);
  return magnitude(x) < kMinNormal<T> ? x * kScale : x;
}
template <class T> [[gnu::always_inline]] inline i32 frexpExponent(T x) {
  const T y = normalised(x);
  const i32 scale = magnitude(x) < kMinNormal<T> ? (sizeof(T) == 8 ? 64 : 32) : 0;
  const i32 e = static_cast<i32>(magnitude(y) >> FloatFormat<T>::mantissa) - FloatFormat<T>::bias + 1 - scale;
  return magnitude(y) == 0 || magnitude(y) >= kInfinity<T> ? 0 : e;
}
template <class T> [[gnu::always_inline]] inline T frexpMantissa(T x) {
  const T y = normalised(x);
  const T half = bits<T>(BitsOf<T>((rawBits(y) & BitsOf<T>(~kInfinity<T>)) |
                                   BitsOf<T>(BitsOf<T>(FloatFormat<T>::bias - 1) << FloatFormat<T>::mantissa)));
  return magnitude(y) == 0 || magnitude(y) >= kInfinity<T> ? y : half;
}

/// x - floor(x), but less than 1: the manual gives the difference alone, OpenCL and LLVM rely on the bound
/// (AMDGPU's constant folding of amdgcn.fract).
template <class T> [[gnu::always_inline]] inline T fraction(T x, T floor) {
  const T below1 = bits<T>(BitsOf<T>(rawBits(T(1)) - 1));
  const T d = static_cast<T>(x - floor);
  return d > below1 ? below1 : d;
}

} // namespace luthier::vgpu::LUTHIER_VGPU_LEVEL
