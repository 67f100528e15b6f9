// What every generated program starts with, on both sides: the types, and one function or macro per operation of the
// generator's table whose C is longer than an operator. The device side (__HIP__) maps them to builtins that select
// particular instructions; the host side says what they mean, in plain C++.
//
// WAVE is the number of lanes of a wave, HALVES whether its halves do not meet in permutations through LDS.
//
// Everything is defined for all operands: shifts are masked, conversions guarded, NaNs made one NaN before their bits
// are looked at, and zeros of a minimum or maximum made positive (IEEE leaves their sign open).
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef _Float16 f16;
typedef float f32;
typedef double f64;
typedef u16 u16x2 __attribute__((ext_vector_type(2)));
typedef i16 i16x2 __attribute__((ext_vector_type(2)));
typedef f16 f16x2 __attribute__((ext_vector_type(2)));
typedef f32 f32x2 __attribute__((ext_vector_type(2)));
typedef u32 u32x4 __attribute__((ext_vector_type(4)));

#ifdef __HIP__
#define FN static inline __attribute__((device, always_inline))
#else
#define FN static inline
#endif

template <class To, class From> FN To bits(From x) { return __builtin_bit_cast(To, x); }

// One NaN for all: payloads and signs of NaNs differ between processors.
FN f16 canon(f16 x) { return x != x ? bits<f16>((u16)0x7e00) : x; }
FN f32 canon(f32 x) { return x != x ? bits<f32>(0x7fc00000u) : x; }
FN f64 canon(f64 x) { return x != x ? bits<f64>(0x7ff8000000000000ull) : x; }
FN f16x2 canon(f16x2 x) { return (f16x2){canon(x.x), canon(x.y)}; }
FN f32x2 canon(f32x2 x) { return (f32x2){canon(x.x), canon(x.y)}; }
template <class T> FN T canon(T x) { return x; }

FN u32 clz32(u32 x) { return x ? (u32)__builtin_clz(x) : 32; }
FN u32 ctz32(u32 x) { return x ? (u32)__builtin_ctz(x) : 32; }
FN u32 clz64(u64 x) { return x ? (u32)__builtin_clzll(x) : 64; }
FN u32 ctz64(u64 x) { return x ? (u32)__builtin_ctzll(x) : 64; }
FN u32 mulhi(u32 a, u32 b) { return (u32)((u64)a * b >> 32); }
FN i32 mulhi(i32 a, i32 b) { return (i32)((i64)a * b >> 32); }
FN u64 mulhi(u64 a, u64 b) { return (u64)((unsigned __int128)a * b >> 64); }
FN u32 med3(u32 a, u32 b, u32 c) {
  return __builtin_elementwise_max(__builtin_elementwise_min(a, b),
                                   __builtin_elementwise_min(__builtin_elementwise_max(a, b), c));
}
FN i32 sdiv(i32 a, i32 b) { return b == 0 || b == -1 ? a : a / b; }
FN i32 srem(i32 a, i32 b) { return b == 0 || b == -1 ? a : a % b; }
// Clang 19 divides unsigned numbers of many leading ones as if they were small (LLVM PR 118928): it must not see them.
#ifdef __HIP__
template <class T> FN T unknown(T x) {
  asm volatile("" : "+v"(x));
  return x;
}
#else
template <class T> FN T unknown(T x) { return x; }
#endif
FN u32 udiv(u32 a, u32 b) { return unknown(a) / (b ? b : 7); }
FN u32 urem(u32 a, u32 b) { return unknown(a) % (b ? b : 7); }
FN u64 udiv64(u64 a, u64 b) { return unknown(a) / (b ? b : 7); }
FN i64 srem64(i64 a, i64 b) { return b == 0 || b == -1 ? a : a % b; }

FN i32 toI32(f32 x) { return x > -2147483000.0f && x < 2147483000.0f ? (i32)x : 5; }
FN u32 toU32(f32 x) { return x > -1.0f && x < 4294967000.0f ? (u32)x : 5; }
FN i64 toI64(f32 x) { return x > -9.2e18f && x < 9.2e18f ? (i64)x : 5; }
FN i32 toI32(f64 x) { return x > -2147483648.0 && x < 2147483647.0 ? (i32)x : 5; }
FN u32 toU32(f64 x) { return x > -1.0 && x < 4294967295.0 ? (u32)x : 5; }
FN i64 toI64(f64 x) { return x > -9.2e18 && x < 9.2e18 ? (i64)x : 5; }
FN u64 toU64(f64 x) { return x > -1.0 && x < 1.8e19 ? (u64)x : 5; }
FN i32 toI16(f16 x) { return x > (f16)-32000.0f && x < (f16)32000.0f ? (i32)(i16)x : 5; }
FN u16 toU16(f16 x) { return x > (f16)-1.0f && x < (f16)65000.0f ? (u16)x : 5; }

FN f32 fmin0(f32 a, f32 b) { return __builtin_fminf(a, b) + 0.0f; }
FN f32 fmax0(f32 a, f32 b) { return __builtin_fmaxf(a, b) + 0.0f; }
FN f64 fmin0(f64 a, f64 b) { return __builtin_fmin(a, b) + 0.0; }
FN f64 fmax0(f64 a, f64 b) { return __builtin_fmax(a, b) + 0.0; }
FN f32 saturate(f32 x) { return __builtin_fminf(__builtin_fmaxf(x, 0.0f), 1.0f) + 0.0f; }
FN f64 saturate(f64 x) { return __builtin_fmin(__builtin_fmax(x, 0.0), 1.0) + 0.0; }
FN i32 small(i32 n, i32 limit) { return n % limit; }

#ifdef __HIP__
#define POPC(x) ((u32)__builtin_popcount(x))
FN f16 fma16(f16 a, f16 b, f16 c) { return __builtin_fmaf16(a, b, c); }
FN f16x2 fma16x2(f16x2 a, f16x2 b, f16x2 c) { return __builtin_elementwise_fma(a, b, c); }
// Clang 19 selects {x, -0.0} as x & 0xffff, which is {x, 0.0}, and 0.0 - x as -x where an instruction can negate its
// source, which gives a zero the other sign: constants must not be seen.
template <class T> FN T hidden(T x) {
  if (__builtin_constant_p(x))
    asm volatile("" : "+v"(x));
  return x;
}
FN f16x2 pair16(f16 a, f16 b) { return (f16x2){hidden(a), hidden(b)}; }
FN f16 sqrt16(f16 x) { return __builtin_sqrtf16(x); }
FN f16 fmin0(f16 a, f16 b) { return __builtin_fminf16(a, b) + (f16)0.0f; }
FN f16 fmax0(f16 a, f16 b) { return __builtin_fmaxf16(a, b) + (f16)0.0f; }
FN f16 floor16(f16 x) { return __builtin_floorf16(x); }
template <class T> FN T minus(T a, T b) { return (T)(hidden(a) - b); }
// By float, of which LLVM must know nothing: its own division of halves is a product with v_rcp_f32, which is off by
// one unit where the exact quotient is half way between two numbers.
FN f16 div16(f16 a, f16 b) {
  f32 divisor = (f32)b;
  asm("" : "+v"(divisor));
  return (f16)((f32)a / divisor);
}
FN f16 rint16(f16 x) { return __builtin_rintf16(x); }
FN f32 ldexp32(f32 x, i32 n) { return __builtin_amdgcn_ldexpf(x, n); }
FN f64 ldexp64(f64 x, i32 n) { return __builtin_amdgcn_ldexp(x, n); }
FN f32 fract32(f32 x) { return __builtin_amdgcn_fractf(x < 1e30f && x > -1e30f ? x : 0.5f); }
FN f64 fract64(f64 x) { return __builtin_amdgcn_fract(x < 1e300 && x > -1e300 ? x : 0.5); }
FN f32 mant32(f32 x) { return __builtin_amdgcn_frexp_mantf(x); }
FN i32 exp32(f32 x) { return __builtin_amdgcn_frexp_expf(x); }
FN f64 mant64(f64 x) { return __builtin_amdgcn_frexp_mant(x); }
FN i32 exp64(f64 x) { return __builtin_amdgcn_frexp_exp(x); }
#define ubfe(a, b, c) ((u32)__builtin_amdgcn_ubfe(a, b, c))
#define sbfe(a, b, c) ((i32)__builtin_amdgcn_sbfe(a, b, c))
#define alignbit(a, b, c) ((u32)__builtin_amdgcn_alignbit(a, b, c))
#define alignbyte(a, b, c) ((u32)__builtin_amdgcn_alignbyte(a, b, c))
#define perm(a, b, c) ((u32)__builtin_amdgcn_perm(a, b, c))
#define lerp(a, b, c) ((u32)__builtin_amdgcn_lerp(a, b, c))
#define sadU8(a, b, c) ((u32)__builtin_amdgcn_sad_u8(a, b, c))
#define sadHiU8(a, b, c) ((u32)__builtin_amdgcn_sad_hi_u8(a, b, c))
#define sadU16(a, b, c) ((u32)__builtin_amdgcn_sad_u16(a, b, c))
#define msadU8(a, b, c) ((u32)__builtin_amdgcn_msad_u8(a, b, c))
#if defined(__gfx900__) || defined(__gfx1010__) // has none
FN u32 byteOf(u32 x, u32 n) { return x >> 8 * n & 255; }
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
#else
#define udot4(a, b, c) ((u32)__builtin_amdgcn_udot4(a, b, c, false))
#define udot8(a, b, c) ((u32)__builtin_amdgcn_udot8(a, b, c, false))
#if defined(__GFX11__) || defined(__GFX12__)
#define sdot4(a, b, c) ((i32)__builtin_amdgcn_sudot4(true, a, true, b, c, false))
#else
#define sdot4(a, b, c) ((i32)__builtin_amdgcn_sdot4(a, b, c, false))
#endif
#endif
FN u32 mbcnt(u64 m, u32 base) {
  return __builtin_amdgcn_mbcnt_hi((u32)(m >> 32), __builtin_amdgcn_mbcnt_lo((u32)m, base));
}

#define TID                                                                                                            \
  ((u32)(WIDTH == NT ? __builtin_amdgcn_workitem_id_x()                                                                \
                     : __builtin_amdgcn_workitem_id_y() * WIDTH + __builtin_amdgcn_workitem_id_x()))
#define WG ((u32)(WIDTH == NT ? __builtin_amdgcn_workgroup_id_x() : __builtin_amdgcn_workgroup_id_y()))
#define LANE ((u32)__builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)))
#define V(n) v##n
#define P32(i) p32[(i) & 15]
#define P64(i) p64[(i) & 7]
#define KERNEL(name, threads)                                                                                          \
  extern "C" __attribute__((global, amdgpu_flat_work_group_size(threads, threads))) void name(                         \
      const u8 *__restrict in, u8 *__restrict out, u8 *__restrict atom, u32 arg)
#define SHARED __attribute__((shared))
// The empty assembly statement is a store to clang 19's pass that sinks machine instructions: fences and barriers are
// not, and it moves LDS loads behind them (docs/differential-test.md).
#define BARRIER                                                                                                        \
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");                                                               \
  __builtin_amdgcn_s_barrier();                                                                                        \
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");                                                               \
  asm volatile("" : : : "memory")
#define ATOMIC(op, T, index, value)                                                                                    \
  (void)__hip_atomic_fetch_##op((T *)(atom + ATOM_##op##_##T) + ((index) & 63), (T)(value), __ATOMIC_RELAXED,          \
                                __HIP_MEMORY_SCOPE_AGENT)
#define LDS_ATOMIC(op, T, index, value)                                                                                \
  (void)__hip_atomic_fetch_##op((T *)lds + (index), (T)(value), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP)
// On the work-item's own memory, with the old value as result.
#define OWN_ATOMIC(op, T, index, value)                                                                                \
  __hip_atomic_fetch_##op(&OWN_AS(T, index), (T)(value), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)
#define OWN_SWAP(T, index, value)                                                                                      \
  __hip_atomic_exchange(&OWN_AS(T, index), (T)(value), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)
template <class T> FN T compareSwap(T &own, T expected, T value) {
  __hip_atomic_compare_exchange_strong(&own, &expected, value, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                       __HIP_MEMORY_SCOPE_AGENT);
  return expected;
}
// A maximum by compare and swap.
FN void casMax(u8 *p, u32 value) {
  u32 old = *(u32 *)p;
  while (old < value && !__hip_atomic_compare_exchange_strong((u32 *)p, &old, value, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                                              __HIP_MEMORY_SCOPE_AGENT))
    ;
}

// Exchanges between the lanes of a wave.
FN u32 X_bperm(u32 x, u32 index) { return (u32)__builtin_amdgcn_ds_bpermute((i32)(index << 2), (i32)x); }
FN u32 X_perm(u32 x, u32 index) { return (u32)__builtin_amdgcn_ds_permute((i32)(index << 2), (i32)x); }
#define X_first(x) ((u32)__builtin_amdgcn_readfirstlane(x))
#define X_readlane(x, n) ((u32)__builtin_amdgcn_readlane(x, n))
#define X_swizzle(x, n) ((u32)__builtin_amdgcn_ds_swizzle(x, n))
#define X_dpp(old, x, ctrl, rows, banks, bound) ((u32)__builtin_amdgcn_update_dpp(old, x, ctrl, rows, banks, bound))
// Clang 19 makes an unordered comparison of a ballot of islessgreater; so it must not see what is asked.
#if WAVE == 32
FN u64 X_ballot(u32 x) { return __builtin_amdgcn_ballot_w32(unknown(x) != 0); }
#else
FN u64 X_ballot(u32 x) { return __builtin_amdgcn_ballot_w64(unknown(x) != 0); }
#endif
#else
#include "host.h"
#endif

#define IN(T, offset, index) (((const T *)(in + offset))[(index) & 255])
#define OWN(i) out[OWN_BYTES + (u64)GID * 16 + ((i) & 15)]
#define OWN_AS(T, i) (((T *)&OWN(0))[(i) & (16 / sizeof(T) - 1)])
#define GID (WG * NT + TID)
FN u32 fold(u32x4 x) { return x.x ^ (x.y + x.z) ^ (x.w << 1); }
