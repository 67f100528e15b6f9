// The host side of prelude.h: what the device's builtins mean, written from the ISA manual (CDNA2, chapters 6, 8 and
// 12). A kernel becomes a function that runs one workgroup; its lanes are elements of an array, and every statement
// that exchanges values between lanes sees the values that all active lanes have at that point.
#pragma once

#include <cmath>

#ifdef PLANT_WRONG
// The fault that the negative test must find.
FN u32 plantedPopc(u32 x) { return (u32)__builtin_popcount(x) + (x == 0xffffffffu); }
#define POPC(x) plantedPopc(x)
#else
#define POPC(x) ((u32)__builtin_popcount(x))
#endif

// The exact sum rounded to odd at 53 bits, which then rounds to 11 bits as the exact sum would.
FN f16 fma16(f16 a, f16 b, f16 c) {
  const volatile f64 p = (f64)a * (f64)b, s = p + (f64)c;
  f64 r = s;
  if (std::isfinite(r)) {
    const volatile f64 t = s - p, u = s - t;
    const volatile f64 left = p - u, right = (f64)c - t;
    const f64 error = left + right;
    if (error != 0 && !(bits<u64>(r) & 1))
      r = bits<f64>(bits<u64>(r) + (((error > 0) == (r > 0)) ? 1 : -1ull));
  }
  return (f16)r;
}
FN f16x2 fma16x2(f16x2 a, f16x2 b, f16x2 c) { return (f16x2){fma16(a.x, b.x, c.x), fma16(a.y, b.y, c.y)}; }
FN f16x2 pair16(f16 a, f16 b) { return (f16x2){a, b}; }
FN f16 sqrt16(f16 x) { return (f16)std::sqrt((f32)x); }
FN f16 fmin0(f16 a, f16 b) { return (f16)(std::fmin((f32)a, (f32)b) + 0.0f); }
FN f16 fmax0(f16 a, f16 b) { return (f16)(std::fmax((f32)a, (f32)b) + 0.0f); }
FN f16 floor16(f16 x) { return (f16)std::floor((f32)x); }
FN f16 div16(f16 a, f16 b) { return (f16)((f32)a / (f32)b); }
template <class T> FN T minus(T a, T b) { return (T)(a - b); }
FN f16 rint16(f16 x) { return (f16)std::rint((f32)x); }
FN f32 ldexp32(f32 x, i32 n) { return std::ldexp(x, n); }
FN f64 ldexp64(f64 x, i32 n) { return std::ldexp(x, n); }
FN f32 fract32(f32 x) {
  x = x < 1e30f && x > -1e30f ? x : 0.5f;
  return std::fmin(x - std::floor(x), 0x1.fffffep-1f);
}
FN f64 fract64(f64 x) {
  x = x < 1e300 && x > -1e300 ? x : 0.5;
  return std::fmin(x - std::floor(x), 0x1.fffffffffffffp-1);
}
FN f32 mant32(f32 x) {
  int n;
  return std::isfinite(x) ? std::frexp(x, &n) : x;
}
FN i32 exp32(f32 x) {
  int n = 0;
  return std::isfinite(x) ? (std::frexp(x, &n), n) : 0;
}
FN f64 mant64(f64 x) {
  int n;
  return std::isfinite(x) ? std::frexp(x, &n) : x;
}
FN i32 exp64(f64 x) {
  int n = 0;
  return std::isfinite(x) ? (std::frexp(x, &n), n) : 0;
}

FN u32 byteOf(u32 x, u32 n) { return x >> 8 * n & 0xff; }
FN u32 distance(u32 a, u32 b) { return a > b ? a - b : b - a; }
FN u32 ubfe(u32 a, u32 b, u32 c) { return (c & 31) ? a >> (b & 31) & ((1u << (c & 31)) - 1) : 0; }
FN i32 sbfe(i32 a, u32 b, u32 c) {
  const u32 offset = b & 31, width = c & 31;
  if (!width)
    return 0;
  return offset + width < 32 ? (i32)((u32)a << (32 - offset - width)) >> (32 - width) : a >> offset;
}
FN u32 alignbit(u32 a, u32 b, u32 c) { return (u32)(((u64)a << 32 | b) >> (c & 31)); }
FN u32 alignbyte(u32 a, u32 b, u32 c) { return (u32)(((u64)a << 32 | b) >> 8 * (c & 3)); }
FN u32 perm(u32 a, u32 b, u32 select) {
  u32 r = 0;
  for (u32 n = 0; n < 4; ++n) {
    const u32 s = byteOf(select, n);
    u32 byte = 0;
    if (s < 8)
      byte = byteOf(s < 4 ? b : a, s & 3);
    else if (s < 12)
      byte = byteOf(s < 10 ? b : a, s & 1 ? 3 : 1) & 0x80 ? 0xff : 0;
    else
      byte = s == 12 ? 0 : 0xff;
    r |= byte << 8 * n;
  }
  return r;
}
FN u32 lerp(u32 a, u32 b, u32 c) {
  u32 r = 0;
  for (u32 n = 0; n < 4; ++n)
    r |= ((byteOf(a, n) + byteOf(b, n) + (byteOf(c, n) & 1)) >> 1) << 8 * n;
  return r;
}
FN u32 sadU8(u32 a, u32 b, u32 c) {
  for (u32 n = 0; n < 4; ++n)
    c += distance(byteOf(a, n), byteOf(b, n));
  return c;
}
FN u32 sadHiU8(u32 a, u32 b, u32 c) { return (sadU8(a, b, 0) << 16) + c; }
FN u32 sadU16(u32 a, u32 b, u32 c) { return c + distance(a & 0xffff, b & 0xffff) + distance(a >> 16, b >> 16); }
FN u32 msadU8(u32 a, u32 b, u32 c) {
  for (u32 n = 0; n < 4; ++n)
    if (byteOf(b, n))
      c += distance(byteOf(a, n), byteOf(b, n));
  return c;
}
FN u32 udot4(u32 a, u32 b, u32 c) {
  for (u32 n = 0; n < 4; ++n)
    c += byteOf(a, n) * byteOf(b, n);
  return c;
}
FN u32 udot8(u32 a, u32 b, u32 c) {
  for (u32 n = 0; n < 32; n += 4)
    c += (a >> n & 15) * (b >> n & 15);
  return c;
}
FN i32 sdot4(u32 a, u32 b, u32 c) {
  for (u32 n = 0; n < 4; ++n)
    c += (u32)((i32)(signed char)byteOf(a, n) * (signed char)byteOf(b, n));
  return (i32)c;
}

#define TID t
#define LANE (t & (WAVE - 1))
#define WG wg
#define V(n) l[t].v##n
#define P32(i) l[t].p32[(i) & 15]
#define P64(i) l[t].p64[(i) & 7]
FN u32 bitsBelow(u64 m, u32 base, u32 lane) { return base + (u32)__builtin_popcountll(m & ((1ull << lane) - 1)); }
#define mbcnt(m, base) bitsBelow(m, base, LANE)
#define KERNEL(name, threads)                                                                                          \
  extern "C" __attribute__((visibility("default"))) void name(const u8 *in, u8 *out, u8 *atom, u32 arg, u32 wg)
#define SHARED
#define LANES(m)                                                                                                       \
  for (u32 t = 0; t < NT; ++t)                                                                                         \
    if (m[t])

template <class T> FN void apply_add(T &a, T b) { a = a + b; }
template <class T> FN void apply_and(T &a, T b) { a = a & b; }
template <class T> FN void apply_or(T &a, T b) { a = a | b; }
template <class T> FN void apply_xor(T &a, T b) { a = a ^ b; }
template <class T> FN void apply_min(T &a, T b) { a = b < a ? b : a; }
template <class T> FN void apply_max(T &a, T b) { a = a < b ? b : a; }
#define ATOMIC(op, T, index, value) apply_##op(((T *)(atom + ATOM_##op##_##T))[(index) & 63], (T)(value))
#define LDS_ATOMIC(op, T, index, value) apply_##op(((T *)lds)[index], (T)(value))
template <class T, class F> FN T exchange(T &a, T b, F apply) {
  const T old = a;
  apply(a, b);
  return old;
}
#define OWN_ATOMIC(op, T, index, value) exchange(OWN_AS(T, index), (T)(value), [](T &a, T b) { apply_##op(a, b); })
#define OWN_SWAP(T, index, value) exchange(OWN_AS(T, index), (T)(value), [](T &a, T b) { a = b; })
template <class T> FN T compareSwap(T &own, T expected, T value) {
  return exchange(own, value, [&](T &a, T b) { a = a == expected ? b : a; });
}
FN void casMax(u8 *p, u32 value) { apply_max(*(u32 *)p, value); }

// Exchanges: `x` and `index` have the values of all lanes of the workgroup, `m` says which are active
// (256 of them, whatever the workgroup's size).
#define FIRST (t & ~(WAVE - 1u)) // lane of the wave
template <class M> FN bool activeLane(const M &m, u32 t, u32 lane) { return m[FIRST + lane]; }
// The lane that a permutation through LDS leads to: on gfx10 and gfx11, one of the same half of the wave.
FN u32 lanesMet(u32 t, u32 index) { return HALVES ? (t & (WAVE - 1) & 32) | (index & 31) : index & (WAVE - 1); }
template <class M> FN u32 hostBperm(const M &m, u32 t, const u32 *x, const u32 *index) {
  const u32 from = lanesMet(t, index[t]);
  return activeLane(m, t, from) ? x[FIRST + from] : 0;
}
template <class M> FN u32 hostPerm(const M &m, u32 t, const u32 *x, const u32 *index) {
  u32 r = 0;
  for (u32 n = 0; n < WAVE; ++n)
    if (activeLane(m, t, n) && lanesMet(FIRST + n, index[FIRST + n]) == (t & (WAVE - 1)))
      r = x[FIRST + n];
  return r;
}
template <class M> FN u32 hostFirst(const M &m, u32 t, const u32 *x) {
  for (u32 n = 0; n < WAVE; ++n)
    if (activeLane(m, t, n))
      return x[FIRST + n];
  return 0;
}
template <class M> FN u32 hostReadlane(const M &, u32 t, const u32 *x, u32 n) { return x[FIRST + n]; }
template <class M> FN u32 hostSwizzle(const M &m, u32 t, const u32 *x, u32 pattern) {
  const u32 lane = t & (WAVE - 1);
  u32 from;
  if (pattern & 0x8000)
    from = (lane & ~3u) | (pattern >> 2 * (lane & 3) & 3);
  else
    from = (lane & 32) | ((((lane & 31) & (pattern & 31)) | (pattern >> 5 & 31)) ^ (pattern >> 10 & 31));
  return activeLane(m, t, from) ? x[FIRST + from] : 0;
}
template <class M>
FN u32 hostDpp(const M &m, u32 t, const u32 *old, const u32 *x, u32 ctrl, u32 rows, u32 banks, bool bound) {
  const i32 lane = t & (WAVE - 1), row = lane & ~15, n = ctrl & 15;
  if (!(rows >> (lane >> 4) & 1) || !(banks >> (lane >> 2 & 3) & 1))
    return old[t];
  i32 from = -1;
  if (ctrl < 0x100)
    from = (lane & ~3) | (ctrl >> 2 * (lane & 3) & 3);
  else if (ctrl < 0x110)
    from = (lane & 15) + n < 16 ? lane + n : -1;
  else if (ctrl < 0x120)
    from = (lane & 15) >= n ? lane - n : -1;
  else if (ctrl < 0x130)
    from = row | ((lane - n) & 15);
  else if (ctrl == 0x130)
    from = lane < WAVE - 1 ? lane + 1 : -1;
  else if (ctrl == 0x134)
    from = (lane + 1) & (WAVE - 1);
  else if (ctrl == 0x138)
    from = lane - 1;
  else if (ctrl == 0x13c)
    from = (lane - 1) & (WAVE - 1);
  else if (ctrl == 0x140)
    from = row | (15 - (lane & 15));
  else if (ctrl == 0x141)
    from = (lane & ~7) | (7 - (lane & 7));
  else if (ctrl == 0x142)
    from = row - 1;
  else if (ctrl == 0x143)
    from = lane >= 32 ? 31 : -1;
  else if (ctrl < 0x160)
    from = row | n;
  else
    from = lane ^ n;
  if (from < 0 || !activeLane(m, t, (u32)from))
    return bound ? 0 : old[t];
  return x[FIRST + (u32)from];
}
template <class M> FN u64 hostBallot(const M &m, u32 t, const u32 *x) {
  u64 r = 0;
  for (u32 n = 0; n < WAVE; ++n)
    if (activeLane(m, t, n) && x[FIRST + n])
      r |= 1ull << n;
  return r;
}
