// VOP3: vector instructions that only the long encoding has.
//
// Integer clamp: instructions that saturate have two lane functions, the second one for the clamp bit (opClamp).
// 16-bit results: instructions that the manual has with op_sel[3] keep the other half of the destination (kKeepsHigh);
// the LEGACY ones zero it, which is what lane loops do by themselves. The manual says so for V_MAD_F16, V_FMA_F16 and a
// few more; for V_MIN3_F16 and its kin, which came with them, it is silent and the same is assumed.

#include "vgpu/exec/arith.h"
#include "vgpu/exec/division.h"
#include "vgpu/exec/dot.h"
#include "vgpu/exec/fp8.h"
#include "vgpu/exec/tables.h"
#include "vgpu/exec/valu.h"

namespace luthier::vgpu::LUTHIER_VGPU_LEVEL {

namespace {

[[gnu::always_inline]] inline i32 i24(i32 x) { return i32(u32(x) << 8) >> 8; }
[[gnu::always_inline]] inline u32 u24(u32 x) { return x & 0xffffff; }

template <class T> [[gnu::always_inline]] inline T absDiff(T x, T y) { return x > y ? x - y : y - x; }

/// V_SAD_U8 without its accumulator; with `Masked`, V_MSAD_U8: bytes whose reference is 0 do not count.
template <bool Masked> [[gnu::always_inline]] inline u32 sadU8(u32 a, u32 reference) {
  u32 sum = 0;
  for (unsigned shift = 0; shift < 32; shift += 8) {
    const u32 x = a >> shift & 0xff, y = reference >> shift & 0xff;
    sum += Masked && y == 0 ? 0 : absDiff(x, y);
  }
  return sum;
}
[[gnu::always_inline]] inline u32 sadU16(u32 a, u32 b) {
  return absDiff(a >> 16, b >> 16) + absDiff(a & 0xffff, b & 0xffff);
}
/// Four SADs at successive bytes of `a`, added to the four words of `c`.
template <bool Masked, bool Saturate> [[gnu::always_inline]] inline u64 quadSad(u64 a, u32 reference, u64 c) {
  u64 d = 0;
  for (unsigned k = 0; k < 4; ++k) {
    const u32 sum = sadU8<Masked>(u32(a >> (8 * k)), reference) + u32(c >> (16 * k) & 0xffff);
    d |= u64(Saturate ? saturateU16(sum) : u16(sum)) << (16 * k);
  }
  return d;
}

/// The face of a cube map that (x, y, z) points at: its major axis, z before y before x.
struct CubeFace {
  bool z, y;
};
[[gnu::always_inline]] inline CubeFace cubeFace(f32 x, f32 y, f32 z) {
  const f32 ax = __builtin_fabsf(x), ay = __builtin_fabsf(y), az = __builtin_fabsf(z);
  return {az >= ax && az >= ay, ay >= ax};
}

/// One byte of V_PERM_B32.
[[gnu::always_inline]] inline u32 permuteByte(u64 data, u32 select) {
  // Selectors 8..11 replicate the sign of bytes 1, 3, 5, 7.
  const u32 signOf = (2 * select + 1) & 7;
  const u32 byte = u32(data >> (8 * (select & 7))) & 0xff;
  const u32 sign = data >> (8 * signOf + 7) & 1 ? 0xff : 0;
  return select >= 13 ? 0xff : select == 12 ? 0 : select >= 8 ? sign : byte;
}

/// A float as an unsigned byte. The manual does not say how it rounds; it truncates here, as V_CVT_U32_F32 does.
[[gnu::always_inline]] inline u32 toByte(f32 x) {
  const f32 clamped = x > 0.0f ? (x < 255.0f ? x : 255.0f) : 0.0f;
  return u32(i32(clamped));
}

/// Normalised integers: scaled, rounded to nearest even, NaN as 0. In f64 the scaled value is exact.
[[gnu::always_inline]] inline u32 toSnorm(f32 x) {
  const f64 y = x == x ? clampTo<f64>(f64(x), -1.0, 1.0) * 32767.0 : 0.0;
  return u32(i32(__builtin_roundeven(y))) & 0xffff;
}
[[gnu::always_inline]] inline u32 toUnorm(f32 x) {
  const f64 y = x == x ? clampTo<f64>(f64(x), 0.0, 1.0) * 65535.0 : 0.0;
  return u32(i32(__builtin_roundeven(y))) & 0xffff;
}

/// f32 to f16 toward zero, whatever the host's rounding mode: a result that is larger than the value is one too far.
[[gnu::always_inline]] inline u32 toHalfTowardZero(f32 x) {
  const f16 y = static_cast<f16>(x);
  const bool tooFar = __builtin_fabsf(static_cast<f32>(y)) > __builtin_fabsf(x);
  return bits<u16>(y) - u32(tooFar);
}

/// The first 1201 bits of 2/pi, most significant first, and zeros.
constexpr u64 kTwoOverPi[] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
    0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4,
    0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b0000, 0,
};

/// V_TRIG_PREOP_F64: a segment of 53 bits of 2/pi, chosen by the size of x, at its place value.
[[gnu::always_inline]] inline f64 trigPreop(f64 x, u32 segment) {
  const i64 e = exponent(x);
  const i64 shift = i64(segment & 31) * 53 + (e > 1077 ? e - 1077 : 0);
  const u64 word = lesser<u64>(u64(shift) / 64, 18), bit = u64(shift) % 64;
  const u64 top = kTwoOverPi[word] << bit | kTwoOverPi[word + 1] >> 1 >> (63 - bit);
  const u64 result = shift <= 1200 ? top >> 11 : 0;
  return scaleBy(f64(i64(result)), i32(-53 - shift + (e >= 1968 ? 128 : 0)));
}

/// VDST names an SGPR.
const Inst *v_readlane_b32(Wave &w, const Inst *i) {
  const u32 lane = u32(scalarSource(w, *i, 1)) & (w.lanes - 1);
  w.s[i->dst] = i->srcKind[0] == SrcKind::Vgpr ? w.v[i->src[0].reg][lane] : u32(scalarSource(w, *i, 0));
  return i->next();
}

/// For translated code.
[[maybe_unused]] bool attemptReadLane(Wave &w, const Inst *i) {
  if (i->srcKind[0] != SrcKind::Vgpr)
    return false;
  alignas(64) u32 lanes[N];
  memcpy(lanes, w.v[i->src[0].reg], sizeof lanes);
  w.s[i->dst] = lanes[u32(scalarSource(w, *i, 1)) & (N - 1)];
  return true;
}
constexpr Row readLane() {
  Row row = raw("v_readlane_b32", v_readlane_b32, Type::U32, Type::U32, Type::U32, Type::None, kScalarDst);
  if constexpr (kBitcode)
    row.attempt = attemptReadLane;
  return row;
}

const Inst *v_writelane_b32(Wave &w, const Inst *i) {
  w.v[i->dst][u32(scalarSource(w, *i, 1)) & (w.lanes - 1)] = u32(scalarSource(w, *i, 0));
  return i->next();
}

/// The only VALU result of 128 bits: four masked SADs at successive bytes of S0, added to the four dwords of S2.
const Inst *v_mqsad_u32_u8(Wave &w, const Inst *i) {
  if (i->srcKind[2] != SrcKind::Vgpr)
    return w.illegal(i, "has an accumulator that is not a VGPR");
  const u32 *a = sourceLanes<true>(w, *i, 0), *reference = sourceLanes<false>(w, *i, 1);
  u32 d[4 * kRow];
  memcpy(d, w.v[i->src[2].reg], sizeof d);
  for (unsigned k = 0; k < 4; ++k)
    for (unsigned n = 0; n < N; ++n) {
      const u64 sum = u64(d[k * kRow + n]) + sadU8<true>(u32(Lane<u64>::get(a, n) >> (8 * k)), reference[n]);
      d[k * kRow + n] = i->flags & kClamp ? saturateU32(sum) : u32(sum);
    }
  blend(w, w.v[i->dst], d, 4);
  return i->next();
}

/// Which lane of its row, or of the row beside it, each lane reads. VAR: as a VGPR says, without regard to EXEC; else
/// as two scalars say for all rows alike, and what lanes that EXEC disables have to give depends on op_sel, which is FI
/// and BOUND_CTRL of DPP here.
template <bool Other, bool Var> const Inst *v_permlane16(Wave &w, const Inst *i) {
  const u32 *from = sourceLanes<false>(w, *i, 0), *exec = execLanes(w);
  const u64 selects = Var ? 0 : u32(scalarSource(w, *i, 1)) | u64(u32(scalarSource(w, *i, 2))) << 32;
  const u32 *each = Var ? sourceLanes<false>(w, *i, 1) : nullptr;
  const bool fetchInactive = Var || (i->srcMods[0] & kOpSel), zero = i->srcMods[1] & kOpSel;
  u32 result[N];
  const u32 *old = w.v[i->dst];
  for (unsigned n = 0; n < N; ++n) {
    const u32 select = Var ? each[n] & 15 : u32(selects >> (4 * (n & 15))) & 15;
    const u32 lane = (n & ~15u) + select ^ (Other ? 16 : 0);
    result[n] = fetchInactive || exec[lane] ? from[lane] : zero ? 0 : old[n];
  }
  blend(w, w.v[i->dst], result, 1);
  return i->next();
}

// v_s_exp_f32 and its like: vector instructions on scalars, whatever EXEC says.
constexpr u32 kKeepInputs = mode::kDenormF64 & mode::kDenormF64 >> 1;
constexpr u32 kKeepOutputs = mode::kDenormF64 & ~kKeepInputs;

template <class T, auto F> const Inst *onScalar(Wave &w, const Inst *i) {
  if (sizeof(T) == 2 && (w.mode & mode::kFp16Overflow))
    return w.illegal(i, "runs with MODE.FP16_OVFL, which the virtual GPU does not support");
  using U = BitsOf<T>;
  U raw = static_cast<U>(scalarSource(w, *i, 0) >> (i->srcMods[0] & kOpSel ? 16 : 0));
  if (i->srcMods[0] & kAbs)
    raw &= static_cast<U>(~kSign<T>);
  if (i->srcMods[0] & kNeg)
    raw ^= kSign<T>;
  T x = bits<T>(raw);
  if (sizeof(T) == 2 && !(w.mode & kKeepInputs))
    x = flushed(x);
  T d = F(x);
  if (sizeof(T) == 2 && !(w.mode & kKeepOutputs))
    d = flushed(d);
  if (i->omod) {
    d = static_cast<T>(d * static_cast<T>(i->omod == 1 ? 2.0f : i->omod == 2 ? 4.0f : 0.5f));
    d = magnitude(d) < kMinNormal<T> ? T(0) : d;
  }
  if (i->flags & kClamp)
    d = d > T(0) ? (d > T(1) ? T(1) : d) : T(0);
  w.s[i->dst] = bits<U>(d);
  return i->next();
}
template <class T, auto F> constexpr Row scalarOp(std::string_view mnemonic) {
  Row row = raw(mnemonic, onScalar<T, F>, Lane<T>::type, Lane<T>::type, Type::None, Type::None, kScalarDst);
  return row.documented(sizeof(T) == 2 ? why::kHalfPrecision : why::kOneUlp);
}

[[gnu::always_inline]] inline f16 half(f32 x) { return static_cast<f16>(x); }

/// V_MULLIT_F32, of the lighting of old: a multiplication whose result is the least number where S1 or S2 say so.
[[gnu::always_inline]] inline f32 multiplyForLighting(f32 a, f32 b, f32 c) {
  constexpr f32 kLeast = -0x1.fffffep127f;
  const bool least = b <= kLeast || isNan(b) || !(c > 0.0f);
  return least ? kLeast : a == 0.0f || b == 0.0f ? 0.0f : a * b;
}

/// V_CNDMASK_B16: bits, whose sign can be changed as if they were an f16.
constexpr Row select16() {
  Row row = op<[](u16 a, u16 b, MaskIn m) { return m.set ? b : a; }>("v_cndmask_b16", kKeepsHigh | kMovesBits);
  row.dst = row.src[0] = row.src[1] = Type::F16;
  return row;
}

constexpr Row kRows[] = {
    // Floating point.
    op<[](f32 a, f32 b, f32 c) {
      const bool zero = flushed(a) == 0.0f || flushed(b) == 0.0f;
      return zero ? 0.0f + flushed(c) : mad(a, b, c);
    }>("v_mad_legacy_f32")
        .chosen(why::kMad),
    op<[](f32 a, f32 b, f32 c) { return mad(a, b, c); }>("v_mad_f32").chosen(why::kMad),
    op<[](f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }>("v_fma_f32"),
    op<[](f64 a, f64 b, f64 c) { return __builtin_fma(a, b, c); }>("v_fma_f64"),
    op<[](f64 a, f64 b) { return a + b; }>("v_add_f64"),
    op<[](f64 a, f64 b) { return a * b; }>("v_mul_f64"),
    op<[](f64 a, f64 b, Mode m) { return minimum(a, b, m); }>("v_min_f64"),
    op<[](f64 a, f64 b, Mode m) { return maximum(a, b, m); }>("v_max_f64"),
    op<[](f32 a, i32 n) { return scaleBy(a, n); }>("v_ldexp_f32"),
    op<[](f64 a, i32 n) { return scaleBy(a, n); }>("v_ldexp_f64"),
    op<[](f32 a, f32 b) { return a == 0.0f || b == 0.0f ? 0.0f : a * b; }>("v_mul_legacy_f32"),
    op<[](f64 a, u32 segment) { return trigPreop(a, segment); }>("v_trig_preop_f64"),

    op<[](f32 x, f32 d, f32 n, MaskOut &vcc) { return divScale(x, d, n, vcc); }>("v_div_scale_f32")
        .chosen(why::kDivision),
    op<[](f64 x, f64 d, f64 n, MaskOut &vcc) { return divScale(x, d, n, vcc); }>("v_div_scale_f64")
        .chosen(why::kDivision),
    op<[](f32 a, f32 b, f32 c, MaskIn vcc) { return divFmas(a, b, c, vcc.set); }>("v_div_fmas_f32")
        .chosen(why::kDivision),
    op<[](f64 a, f64 b, f64 c, MaskIn vcc) { return divFmas(a, b, c, vcc.set); }>("v_div_fmas_f64")
        .chosen(why::kDivision),
    op<[](f32 q, f32 d, f32 n) { return divFixup(q, d, n); }>("v_div_fixup_f32").chosen(why::kDivision),
    op<[](f64 q, f64 d, f64 n) { return divFixup(q, d, n); }>("v_div_fixup_f64").chosen(why::kDivision),
    op<[](f16 q, f16 d, f16 n) { return divFixup(q, d, n); }>("v_div_fixup_f16", kKeepsHigh),
    op<[](f16 q, f16 d, f16 n) { return divFixup(q, d, n); }>("v_div_fixup_legacy_f16"),

    op<[](f16 a, f16 b, f16 c) { return fma16(a, b, c); }>("v_fma_f16", kKeepsHigh),
    op<[](f16 a, f16 b, f16 c) { return fma16(a, b, c); }>("v_fma_legacy_f16"),
    op<[](f16 a, f16 b, f16 c) { return mad(a, b, c); }>("v_mad_f16", kKeepsHigh).chosen(why::kMad),
    op<[](f16 a, f16 b, f16 c) { return mad(a, b, c); }>("v_mad_legacy_f16").chosen(why::kMad),

    op<[](f32 x, f32 y, f32 z) {
      const CubeFace face = cubeFace(x, y, z);
      return face.z ? (z < 0.0f ? 5.0f : 4.0f) : face.y ? (y < 0.0f ? 3.0f : 2.0f) : x < 0.0f ? 1.0f : 0.0f;
    }>("v_cubeid_f32"),
    op<[](f32 x, f32 y, f32 z) {
      const CubeFace face = cubeFace(x, y, z);
      return face.z ? (z < 0.0f ? -x : x) : face.y ? x : x < 0.0f ? z : -z;
    }>("v_cubesc_f32"),
    op<[](f32 x, f32 y, f32 z) {
      const CubeFace face = cubeFace(x, y, z);
      return face.z ? -y : face.y ? (y < 0.0f ? -z : z) : -y;
    }>("v_cubetc_f32"),
    op<[](f32 x, f32 y, f32 z) {
      const CubeFace face = cubeFace(x, y, z);
      return 2.0f * (face.z ? z : face.y ? y : x);
    }>("v_cubema_f32"),

    op<[](f32 a, f32 b, f32 c) { return fmaZero(a, b, c); }>("v_fma_legacy_f32"),
    op<[](f32 a, f32 b, f32 c) { return multiplyForLighting(a, b, c); }>("v_mullit_f32")
        .chosen("the manual's pseudo-code does not have the rule of its text that zero times anything is zero"),

    // gfx11
    op<[](f32 a, f32 b, f32 c, Mode m) { return minimum(maximum(a, b, m), c, m); }>("v_maxmin_f32"),
    op<[](f32 a, f32 b, f32 c, Mode m) { return maximum(minimum(a, b, m), c, m); }>("v_minmax_f32"),
    op<[](f16 a, f16 b, f16 c, Mode m) { return minimum(maximum(a, b, m), c, m); }>("v_maxmin_f16", kKeepsHigh),
    op<[](f16 a, f16 b, f16 c, Mode m) { return maximum(minimum(a, b, m), c, m); }>("v_minmax_f16", kKeepsHigh),
    op<[](i32 a, i32 b, i32 c) { return lesser(greater(a, b), c); }>("v_maxmin_i32"),
    op<[](i32 a, i32 b, i32 c) { return greater(lesser(a, b), c); }>("v_minmax_i32"),
    op<[](u32 a, u32 b, u32 c) { return lesser(greater(a, b), c); }>("v_maxmin_u32"),
    op<[](u32 a, u32 b, u32 c) { return greater(lesser(a, b), c); }>("v_minmax_u32"),
    op<[](u16 a, u16 b) { return u16(a & b); }>("v_and_b16", kKeepsHigh),
    op<[](u16 a, u16 b) { return u16(a | b); }>("v_or_b16", kKeepsHigh),
    op<[](u16 a, u16 b) { return u16(a ^ b); }>("v_xor_b16", kKeepsHigh),
    select16(),
    op<[](f32 a, f32 b) {
      return u32(u16(saturateI16(saturated<i32>(a)))) | u32(u16(saturateI16(saturated<i32>(b)))) << 16;
    }>("v_cvt_pk_i16_f32")
        .documented("the manual does not say that it saturates; as v_cvt_i16_f16 does"),
    op<[](f32 a, f32 b) { return u32(saturateU16(saturated<u32>(a))) | u32(saturateU16(saturated<u32>(b))) << 16; }>(
        "v_cvt_pk_u16_f32")
        .documented("the manual does not say that it saturates; as v_cvt_u16_f16 does"),

    // gfx12: minimum, maximum, minimumNumber and maximumNumber of IEEE 754-2019.
    op<[](f32 a, f32 b) { return leastValue(a, b); }>("v_minimum_f32"),
    op<[](f32 a, f32 b) { return greatestValue(a, b); }>("v_maximum_f32"),
    op<[](f16 a, f16 b) { return leastValue(a, b); }>("v_minimum_f16", kKeepsHigh),
    op<[](f16 a, f16 b) { return greatestValue(a, b); }>("v_maximum_f16", kKeepsHigh),
    op<[](f64 a, f64 b) { return leastValue(a, b); }>("v_minimum_f64"),
    op<[](f64 a, f64 b) { return greatestValue(a, b); }>("v_maximum_f64"),
    op<[](f32 a, f32 b, f32 c) { return leastNumber(leastNumber(a, b), c); }>("v_min3_num_f32"),
    op<[](f32 a, f32 b, f32 c) { return greatestNumber(greatestNumber(a, b), c); }>("v_max3_num_f32"),
    op<[](f32 a, f32 b, f32 c) { return medianNumber(a, b, c); }>("v_med3_num_f32"),
    op<[](f32 a, f32 b, f32 c) { return leastNumber(greatestNumber(a, b), c); }>("v_maxmin_num_f32"),
    op<[](f32 a, f32 b, f32 c) { return greatestNumber(leastNumber(a, b), c); }>("v_minmax_num_f32"),
    op<[](f32 a, f32 b, f32 c) { return leastValue(leastValue(a, b), c); }>("v_minimum3_f32"),
    op<[](f32 a, f32 b, f32 c) { return greatestValue(greatestValue(a, b), c); }>("v_maximum3_f32"),
    op<[](f32 a, f32 b, f32 c) { return leastValue(greatestValue(a, b), c); }>("v_maximumminimum_f32"),
    op<[](f32 a, f32 b, f32 c) { return greatestValue(leastValue(a, b), c); }>("v_minimummaximum_f32"),
    op<[](f16 a, f16 b, f16 c) { return leastNumber(leastNumber(a, b), c); }>("v_min3_num_f16", kKeepsHigh),
    op<[](f16 a, f16 b, f16 c) { return greatestNumber(greatestNumber(a, b), c); }>("v_max3_num_f16", kKeepsHigh),
    op<[](f16 a, f16 b, f16 c) { return medianNumber(a, b, c); }>("v_med3_num_f16", kKeepsHigh),
    op<[](f16 a, f16 b, f16 c) { return leastNumber(greatestNumber(a, b), c); }>("v_maxmin_num_f16", kKeepsHigh),
    op<[](f16 a, f16 b, f16 c) { return greatestNumber(leastNumber(a, b), c); }>("v_minmax_num_f16", kKeepsHigh),
    op<[](f16 a, f16 b, f16 c) { return leastValue(leastValue(a, b), c); }>("v_minimum3_f16", kKeepsHigh),
    op<[](f16 a, f16 b, f16 c) { return greatestValue(greatestValue(a, b), c); }>("v_maximum3_f16", kKeepsHigh),
    op<[](f16 a, f16 b, f16 c) { return leastValue(greatestValue(a, b), c); }>("v_maximumminimum_f16", kKeepsHigh),
    op<[](f16 a, f16 b, f16 c) { return greatestValue(leastValue(a, b), c); }>("v_minimummaximum_f16", kKeepsHigh),
    scalarOp<f32, [](f32 a) { return flushed(exp2(flushed(a))); }>("v_s_exp_f32"),
    scalarOp<f32, [](f32 a) { return log2(a); }>("v_s_log_f32"),
    scalarOp<f32, [](f32 a) { return flushed(1.0f / flushed(a)); }>("v_s_rcp_f32"),
    scalarOp<f32, [](f32 a) { return static_cast<f32>(1.0 / __builtin_sqrt(static_cast<f64>(flushed(a)))); }>(
        "v_s_rsq_f32"),
    scalarOp<f32, [](f32 a) { return __builtin_sqrtf(flushed(a)); }>("v_s_sqrt_f32"),
    scalarOp<f16, [](f16 a) { return half(exp2(f32(a))); }>("v_s_exp_f16"),
    scalarOp<f16, [](f16 a) { return half(log2(f32(a))); }>("v_s_log_f16"),
    scalarOp<f16, [](f16 a) { return half(1.0f / f32(a)); }>("v_s_rcp_f16"),
    scalarOp<f16, [](f16 a) { return half(1.0f / __builtin_sqrtf(f32(a))); }>("v_s_rsq_f16"),
    scalarOp<f16, [](f16 a) { return half(__builtin_sqrtf(f32(a))); }>("v_s_sqrt_f16"),

    // Minimum, maximum and median of three.
    op<[](f32 a, f32 b, f32 c, Mode m) { return minimum(minimum(a, b, m), c, m); }>("v_min3_f32"),
    op<[](f32 a, f32 b, f32 c, Mode m) { return maximum(maximum(a, b, m), c, m); }>("v_max3_f32"),
    op<[](f32 a, f32 b, f32 c, Mode m) { return median(a, b, c, m); }>("v_med3_f32"),
    op<[](f16 a, f16 b, f16 c, Mode m) { return minimum(minimum(a, b, m), c, m); }>("v_min3_f16", kKeepsHigh)
        .chosen(why::kOtherHalf),
    op<[](f16 a, f16 b, f16 c, Mode m) { return maximum(maximum(a, b, m), c, m); }>("v_max3_f16", kKeepsHigh)
        .chosen(why::kOtherHalf),
    op<[](f16 a, f16 b, f16 c, Mode m) { return median(a, b, c, m); }>("v_med3_f16", kKeepsHigh)
        .chosen(why::kOtherHalf),
    op<[](i32 a, i32 b, i32 c) { return lesser(lesser(a, b), c); }>("v_min3_i32"),
    op<[](i32 a, i32 b, i32 c) { return greater(greater(a, b), c); }>("v_max3_i32"),
    op<[](i32 a, i32 b, i32 c) { return middle(a, b, c); }>("v_med3_i32"),
    op<[](u32 a, u32 b, u32 c) { return lesser(lesser(a, b), c); }>("v_min3_u32"),
    op<[](u32 a, u32 b, u32 c) { return greater(greater(a, b), c); }>("v_max3_u32"),
    op<[](u32 a, u32 b, u32 c) { return middle(a, b, c); }>("v_med3_u32"),
    op<[](i16 a, i16 b, i16 c) { return lesser(lesser(a, b), c); }>("v_min3_i16", kKeepsHigh).chosen(why::kOtherHalf),
    op<[](i16 a, i16 b, i16 c) { return greater(greater(a, b), c); }>("v_max3_i16", kKeepsHigh).chosen(why::kOtherHalf),
    op<[](i16 a, i16 b, i16 c) { return middle(a, b, c); }>("v_med3_i16", kKeepsHigh).chosen(why::kOtherHalf),
    op<[](u16 a, u16 b, u16 c) { return lesser(lesser(a, b), c); }>("v_min3_u16", kKeepsHigh).chosen(why::kOtherHalf),
    op<[](u16 a, u16 b, u16 c) { return greater(greater(a, b), c); }>("v_max3_u16", kKeepsHigh).chosen(why::kOtherHalf),
    op<[](u16 a, u16 b, u16 c) { return middle(a, b, c); }>("v_med3_u16", kKeepsHigh).chosen(why::kOtherHalf),

    // Integer arithmetic.
    op<[](u32 a, u32 b) { return a * b; }>("v_mul_lo_u32"),
    op<[](u32 a, u32 b) { return u32(u64(a) * b >> 32); }>("v_mul_hi_u32"),
    op<[](i32 a, i32 b) { return i32(i64(a) * b >> 32); }>("v_mul_hi_i32"),
    opClamp<[](i32 a, i32 b, i32 c) { return i32(u32(i24(a)) * u32(i24(b)) + u32(c)); },
            [](i32 a, i32 b, i32 c) { return saturateI32(i64(i24(a)) * i24(b) + c); }>("v_mad_i32_i24"),
    opClamp<[](u32 a, u32 b, u32 c) { return u24(a) * u24(b) + c; },
            [](u32 a, u32 b, u32 c) { return saturateU32(u64(u24(a)) * u24(b) + c); }>("v_mad_u32_u24"),
    opClamp<[](u32 a, u32 b, u64 c, MaskOut &carry) {
      const u64 product = u64(a) * b, d = product + c;
      carry.set = d < c;
      return d;
    },
            [](u32 a, u32 b, u64 c, MaskOut &carry) {
              const u64 product = u64(a) * b, d = product + c;
              carry.set = d < c;
              return d < c ? ~u64(0) : d;
            }>("v_mad_u64_u32"),
    // The mask is bit 64 of a 65-bit sum of sign-extended operands.
    opClamp<[](i32 a, i32 b, i64 c, MaskOut &bit64) {
      const i64 product = i64(a) * b;
      const u64 d = u64(product) + u64(c);
      bit64.set = (product < 0) ^ (c < 0) ^ (d < u64(c));
      return i64(d);
    },
            [](i32 a, i32 b, i64 c, MaskOut &bit64) {
              const i64 product = i64(a) * b;
              const u64 d = u64(product) + u64(c);
              bit64.set = (product < 0) ^ (c < 0) ^ (d < u64(c));
              const bool overflow = bit64.set != (i64(d) < 0);
              return overflow ? (bit64.set ? i64(u64(1) << 63) : i64(~u64(0) >> 1)) : i64(d);
            }>("v_mad_i64_i32"),
    opClamp<[](u16 a, u16 b, u32 c) { return u32(a) * b + c; },
            [](u16 a, u16 b, u32 c) { return saturateU32(u64(u32(a) * b) + c); }>("v_mad_u32_u16"),
    opClamp<[](i16 a, i16 b, i32 c) { return i32(u32(i32(a) * b) + u32(c)); },
            [](i16 a, i16 b, i32 c) { return saturateI32(i64(i32(a) * b) + c); }>("v_mad_i32_i16"),
    opClamp<[](u16 a, u16 b, u16 c) { return u16(u32(a) * b + c); },
            [](u16 a, u16 b, u16 c) { return saturateU16(u32(a) * b + c); }>("v_mad_u16", kKeepsHigh),
    opClamp<[](u16 a, u16 b, u16 c) { return u16(u32(a) * b + c); },
            [](u16 a, u16 b, u16 c) { return saturateU16(u32(a) * b + c); }>("v_mad_legacy_u16"),
    opClamp<[](i16 a, i16 b, i16 c) { return i16(i32(a) * b + c); },
            [](i16 a, i16 b, i16 c) { return saturateI16(i32(a) * b + c); }>("v_mad_i16", kKeepsHigh),
    opClamp<[](i16 a, i16 b, i16 c) { return i16(i32(a) * b + c); },
            [](i16 a, i16 b, i16 c) { return saturateI16(i32(a) * b + c); }>("v_mad_legacy_i16"),
    opClamp<[](i32 a, i32 b) { return i32(u32(a) + u32(b)); }, [](i32 a, i32 b) { return saturateI32(i64(a) + b); }>(
        "v_add_i32"),
    opClamp<[](i32 a, i32 b) { return i32(u32(a) - u32(b)); }, [](i32 a, i32 b) { return saturateI32(i64(a) - b); }>(
        "v_sub_i32"),
    opClamp<[](i16 a, i16 b) { return i16(a + b); }, [](i16 a, i16 b) { return saturateI16(a + b); }>("v_add_i16",
                                                                                                      kKeepsHigh),
    opClamp<[](i16 a, i16 b) { return i16(a - b); }, [](i16 a, i16 b) { return saturateI16(a - b); }>("v_sub_i16",
                                                                                                      kKeepsHigh),
    op<[](u32 a, u32 b, u32 c) { return a + b + c; }>("v_add3_u32"),
    op<[](u32 a, u32 b, u32 c) { return (a << (b & 31)) + c; }>("v_lshl_add_u32"),
    // By 4 at most: "unsupported shift counts" are 0.
    op<[](u64 a, u32 n, u64 c) { return ((n & 7) <= 4 ? shiftLeft(a, n & 7) : a) + c; }>("v_lshl_add_u64"),
    op<[](u32 a, u32 b, u32 c) { return (a + b) << (c & 31); }>("v_add_lshl_u32"),
    op<[](u32 a, u32 b, u32 c) { return (a ^ b) + c; }>("v_xad_u32"),
    op<[](u32 a, u32 b, u32 c) { return a ^ b ^ c; }>("v_xor3_b32"),

    opClamp<[](u32 a, u32 b, u32 c) { return sadU8<false>(a, b) + c; },
            [](u32 a, u32 b, u32 c) { return saturateU32(u64(sadU8<false>(a, b)) + c); }>("v_sad_u8"),
    opClamp<[](u32 a, u32 b, u32 c) { return (sadU8<false>(a, b) << 16) + c; },
            [](u32 a, u32 b, u32 c) { return saturateU32(u64(sadU8<false>(a, b) << 16) + c); }>("v_sad_hi_u8"),
    opClamp<[](u32 a, u32 b, u32 c) { return sadU16(a, b) + c; },
            [](u32 a, u32 b, u32 c) { return saturateU32(u64(sadU16(a, b)) + c); }>("v_sad_u16"),
    opClamp<[](u32 a, u32 b, u32 c) { return absDiff(a, b) + c; },
            [](u32 a, u32 b, u32 c) { return saturateU32(u64(absDiff(a, b)) + c); }>("v_sad_u32"),
    opClamp<[](u32 a, u32 b, u32 c) { return sadU8<true>(a, b) + c; },
            [](u32 a, u32 b, u32 c) { return saturateU32(u64(sadU8<true>(a, b)) + c); }>("v_msad_u8"),
    opClamp<[](u64 a, u32 b, u64 c) { return quadSad<false, false>(a, b, c); },
            [](u64 a, u32 b, u64 c) { return quadSad<false, true>(a, b, c); }>("v_qsad_pk_u16_u8"),
    opClamp<[](u64 a, u32 b, u64 c) { return quadSad<true, false>(a, b, c); },
            [](u64 a, u32 b, u64 c) { return quadSad<true, true>(a, b, c); }>("v_mqsad_pk_u16_u8"),
    raw("v_mqsad_u32_u8", v_mqsad_u32_u8, Type::U32, Type::U64, Type::U32, Type::U32),
    op<[](u32 a, u32 b, u32 c) {
      u32 d = 0;
      for (unsigned shift = 0; shift < 32; shift += 8)
        d |= ((a >> shift & 0xff) + (b >> shift & 0xff) + (c >> shift & 1)) >> 1 << shift;
      return d;
    }>("v_lerp_u8"),

    // Bits.
    op<[](u32 a, u32 offset, u32 width) { return a >> (offset & 31) & ((1u << (width & 31)) - 1); }>("v_bfe_u32"),
    op<[](i32 a, u32 offset, u32 width) {
      const u32 unused = (32 - width) & 31;
      return width & 31 ? i32(u32(a >> (offset & 31)) << unused) >> unused : 0;
    }>("v_bfe_i32"),
    op<[](u32 mask, u32 a, u32 b) { return (mask & a) | (~mask & b); }>("v_bfi_b32"),
    op<[](u32 width, u32 offset) { return ((1u << (width & 31)) - 1) << (offset & 31); }>("v_bfm_b32"),
    op<[](u32 a, u32 b, u32 n) { return u32((u64(a) << 32 | b) >> (n & 31)); }>("v_alignbit_b32"),
    // S2[4:0] in the MI200 manual, S2[1:0] in MI300's and in OpenCL's amd_bytealign, which compiles to it.
    op<[](u32 a, u32 b, u32 n) { return u32((u64(a) << 32 | b) >> (8 * (n & 3))); }>("v_alignbyte_b32")
        .chosen("the manuals disagree on how many bits of the count matter; two, as in MI300's and OpenCL's"),
    op<[](u32 a, u32 b, u32 select) {
      const u64 data = u64(a) << 32 | b;
      return permuteByte(data, select & 0xff) | permuteByte(data, select >> 8 & 0xff) << 8 |
             permuteByte(data, select >> 16 & 0xff) << 16 | permuteByte(data, select >> 24) << 24;
    }>("v_perm_b32"),
    op<[](u32 a, u32 b, u32 c) { return (a << (b & 31)) | c; }>("v_lshl_or_b32"),
    op<[](u32 a, u32 b, u32 c) { return (a & b) | c; }>("v_and_or_b32"),
    op<[](u32 a, u32 b, u32 c) { return a | b | c; }>("v_or3_b32"),
    op<[](u32 n, u64 a) { return shiftLeft(a, n & 63); }>("v_lshlrev_b64"),
    op<[](u32 n, u64 a) { return shiftRight(a, n & 63); }>("v_lshrrev_b64"),
    op<[](u32 n, i64 a) { return a >> (n & 63); }>("v_ashrrev_i64"),
    op<[](u32 a, u32 b) { return b + u32(__builtin_popcount(a)); }>("v_bcnt_u32_b32"),
    op<[](u32 mask, u32 b, LaneId lane) {
      const u32 below = lane.value < 32 ? (1u << (lane.value & 31)) - 1 : ~0u;
      return b + u32(__builtin_popcount(mask & below));
    }>("v_mbcnt_lo_u32_b32"),
    op<[](u32 mask, u32 b, LaneId lane) {
      const u32 below = lane.value < 32 ? 0 : (1u << (lane.value & 31)) - 1;
      return b + u32(__builtin_popcount(mask & below));
    }>("v_mbcnt_hi_u32_b32"),
    readLane(),
    raw("v_writelane_b32", v_writelane_b32, Type::U32, Type::U32, Type::U32),
    raw("v_permlane16_b32", v_permlane16<false, false>, Type::U32, Type::U32, Type::U32, Type::U32),
    raw("v_permlanex16_b32", v_permlane16<true, false>, Type::U32, Type::U32, Type::U32, Type::U32),
    raw("v_permlane16_var_b32", v_permlane16<false, true>, Type::U32, Type::U32, Type::U32)
        .chosen("the manual's pseudo-code reads lanes that EXEC disables; its text does not say so"),
    raw("v_permlanex16_var_b32", v_permlane16<true, true>, Type::U32, Type::U32, Type::U32)
        .chosen("the manual's pseudo-code reads lanes that EXEC disables; its text does not say so"),

    // Conversions that pack.
    op<[](f32 a, u32 byte, u32 old) {
      const u32 shift = 8 * (byte & 3);
      return (old & ~(0xffu << shift)) | toByte(a) << shift;
    }>("v_cvt_pk_u8_f32")
        .chosen("the manual does not say how it rounds; towards zero here"),
    op<[](f32 a, u32 byte, u32 old) {
      const u32 shift = 8 * (byte & 3);
      return (old & ~(0xffu << shift)) | toByte(a) << shift;
    }>("v_cvt_pkaccum_u8_f32", kAccumulates)
        .chosen("the manual does not say how it rounds; towards zero here"),
    op<[](f32 a, f32 b) { return toSnorm(a) | toSnorm(b) << 16; }>("v_cvt_pknorm_i16_f32").chosen(why::kNormalised),
    op<[](f32 a, f32 b) { return toUnorm(a) | toUnorm(b) << 16; }>("v_cvt_pknorm_u16_f32").chosen(why::kNormalised),
    op<[](f16 a, f16 b) { return toSnorm(f32(a)) | toSnorm(f32(b)) << 16; }>("v_cvt_pknorm_i16_f16")
        .chosen(why::kNormalised),
    op<[](f16 a, f16 b) { return toUnorm(f32(a)) | toUnorm(f32(b)) << 16; }>("v_cvt_pknorm_u16_f16")
        .chosen(why::kNormalised),
    op<[](f32 a, f32 b) { return toHalfTowardZero(a) | toHalfTowardZero(b) << 16; }>("v_cvt_pkrtz_f16_f32"),
    // They saturate: LLVM clamps 64-bit integers to 16 bits with them.
    op<[](u32 a, u32 b) { return u32(saturateU16(a)) | u32(saturateU16(b)) << 16; }>("v_cvt_pk_u16_u32")
        .documented("the manual does not say that it saturates; LLVM relies on it"),
    op<[](i32 a, i32 b) { return u32(u16(saturateI16(a))) | u32(u16(saturateI16(b))) << 16; }>("v_cvt_pk_i16_i32")
        .documented("the manual does not say that it saturates; LLVM relies on it"),
    op<[](f16 a, f16 b) { return u32(bits<u16>(a)) | u32(bits<u16>(b)) << 16; }>("v_pack_b32_f16"),

    withRule(
        looped("v_dot2_f16_f16", dot2HalfLanes<HalfFormat>, Type::F16, Type::PkF16, Type::PkF16, Type::F16, kKeepsHigh),
        isa::MatrixFormat::DotF16)
        .chosen(why::kHalfDot),
    withRule(looped("v_dot2_bf16_bf16", dot2HalfLanes<BrainFormat>, Type::U16, Type::PkBf16, Type::PkBf16, Type::U16,
                    kKeepsHigh),
             isa::MatrixFormat::DotBf16)
        .chosen(why::kHalfDot),
    fp8Row("v_cvt_pk_fp8_f32", cvtPkFp8F32<Fp8>, Type::U16, Type::F32, Type::F32, Type::None, kKeepsHigh),
    fp8Row("v_cvt_pk_bf8_f32", cvtPkFp8F32<Bf8>, Type::U16, Type::F32, Type::F32, Type::None, kKeepsHigh),
    fp8Row("v_cvt_sr_fp8_f32", cvtSrFp8F32<Fp8>, Type::U32, Type::F32, Type::U32, Type::U32, kAccumulates)
        .documented(why::kRandom),
    fp8Row("v_cvt_sr_bf8_f32", cvtSrFp8F32<Bf8>, Type::U32, Type::F32, Type::U32, Type::U32, kAccumulates)
        .documented(why::kRandom),
};

} // namespace

std::span<const Row> vop3Rows() { return kRows; }

} // namespace luthier::vgpu::LUTHIER_VGPU_LEVEL
