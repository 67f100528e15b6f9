// Building blocks of the three-operand and packed vector instructions, beside those of float_math.h: medians,
// saturation, ldexp, sign and exponent.
//
// All of it is straight-line code over one lane, so that lane loops vectorise.
#pragma once

#include "vgpu/exec/float_math.h"

namespace luthier::vgpu::LUTHIER_VGPU_LEVEL {

/// The exponent field.
template <class T> [[gnu::always_inline]] inline i32 exponent(T x) {
  return static_cast<i32>(magnitude(x) >> FloatFormat<T>::mantissa);
}
template <class T> [[gnu::always_inline]] inline bool isNegative(T x) { return (rawBits(x) & kSign<T>) != 0; }
template <class T> [[gnu::always_inline]] inline T withSign(T x, bool negative) {
  return bits<T>(BitsOf<T>(magnitude(x) | (negative ? kSign<T> : BitsOf<T>(0))));
}

template <class T> [[gnu::always_inline]] inline T lesser(T a, T b) { return a < b ? a : b; }
template <class T> [[gnu::always_inline]] inline T greater(T a, T b) { return a > b ? a : b; }
template <class T> [[gnu::always_inline]] inline T clampTo(T x, T low, T high) {
  return x < low ? low : x > high ? high : x;
}

/// 64-bit shifts by n < 64, made of 32-bit ones: that is how the halves sit in registers, and host vectors hold twice
/// as many. Shifts by 32 or more give 0 here, as the host's vector shifts do.
[[gnu::always_inline]] inline u32 left32(u32 x, u32 n) { return n < 32 ? x << n : 0; }
[[gnu::always_inline]] inline u32 right32(u32 x, u32 n) { return n < 32 ? x >> n : 0; }
[[gnu::always_inline]] inline u64 shiftLeft(u64 x, u32 n) {
  const u32 low = u32(x), high = u32(x >> 32);
  return left32(low, n) | u64(left32(high, n) | right32(low, 32 - n) | left32(low, n - 32)) << 32;
}
[[gnu::always_inline]] inline u64 shiftRight(u64 x, u32 n) {
  const u32 low = u32(x), high = u32(x >> 32);
  return (right32(low, n) | left32(high, 32 - n) | right32(high, n - 32)) | u64(right32(high, n)) << 32;
}

/// What an integer result becomes under the clamp bit.
[[gnu::always_inline]] inline i32 saturateI32(i64 x) { return i32(clampTo<i64>(x, -0x80000000ll, 0x7fffffff)); }
[[gnu::always_inline]] inline u32 saturateU32(u64 x) { return u32(lesser<u64>(x, 0xffffffff)); }
[[gnu::always_inline]] inline i16 saturateI16(i32 x) { return i16(clampTo(x, -0x8000, 0x7fff)); }
[[gnu::always_inline]] inline u16 saturateU16(u32 x) { return u16(lesser<u32>(x, 0xffff)); }

/// V_MED3 of integers.
template <class T> [[gnu::always_inline]] inline T middle(T a, T b, T c) {
  return greater(lesser(a, b), lesser(greater(a, b), c));
}
/// V_MED3 of floating-point values, in the manual's words: the maximum of the two that a maximum leaves.
template <class T> [[gnu::always_inline]] inline T median(T a, T b, T c, Mode m) {
  const T greatest = maximum(maximum(a, b, m), c, m);
  T d = maximum(a, b, m);
  d = greatest == b ? maximum(a, c, m) : d;
  d = greatest == a ? maximum(b, c, m) : d;
  return isNan(a) || isNan(b) || isNan(c) ? minimum(minimum(a, b, m), c, m) : d;
}

/// The same of gfx12's v_med3_num.
template <class T> [[gnu::always_inline]] inline T medianNumber(T a, T b, T c) {
  const T most = greatestNumber(greatestNumber(a, b), c);
  T d = greatestNumber(a, b);
  d = most == b ? greatestNumber(a, c) : d;
  d = most == a ? greatestNumber(b, c) : d;
  return isNan(a) || isNan(b) || isNan(c) ? leastNumber(leastNumber(a, b), c) : d;
}

/// x * 2^n with one rounding.
[[gnu::always_inline]] inline f32 scaleBy(f32 x, i32 n) {
  // Beyond +-300 every f32 over- or underflows; within, f64 has room for the exact product.
  return static_cast<f32>(static_cast<f64>(x) * powerOfTwo(clampTo(n, -300, 300)));
}
[[gnu::always_inline]] inline f64 scaleBy(f64 x, i32 n) {
  // Upwards by steps of 2^1023; downwards by steps that stop short of rounding to a denormal more than once.
  i32 e = clampTo(n, -2200, 2200);
  for (unsigned step = 0; step < 2; ++step) {
    const bool up = e > 1023, down = e < -1022;
    x *= up ? 0x1p1023 : down ? 0x1p-969 : 1.0;
    e += up ? -1023 : down ? 969 : 0;
  }
  return x * powerOfTwo(clampTo(e, -1022, 1023));
}

} // namespace luthier::vgpu::LUTHIER_VGPU_LEVEL
