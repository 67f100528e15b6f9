// Dot products of a lane's packed values, for VOP2, VOP3 and VOP3P. How those of f16 and bf16 add up is the target's
// (isa/matrix.h): `LaneArgs::imm` says it.
#pragma once

#include "vgpu/exec/fp8.h"
#include "vgpu/exec/matrix.h"
#include "vgpu/exec/packed.h"

namespace luthier::vgpu::LUTHIER_VGPU_LEVEL {

/// 16-bit formats of matrix instructions and dot products.
struct HalfFormat {
  static constexpr i32 kLeastExponent = -14;
  static constexpr f32 kLeastNormal = 0x1p-14f;
  [[gnu::always_inline]] static f32 value(u32 x) { return static_cast<f32>(bits<f16>(static_cast<u16>(x))); }
  [[gnu::always_inline]] static u32 rounded(f32 x, bool = false) { return bits<u16>(static_cast<f16>(x)); }
};
struct BrainFormat {
  static constexpr i32 kLeastExponent = -126;
  static constexpr f32 kLeastNormal = 0x1p-126f;
  [[gnu::always_inline]] static f32 value(u32 x) { return bits<f32>(x << 16); }
  /// To nearest even, or towards zero; NaNs stay NaNs.
  [[gnu::always_inline]] static u32 rounded(f32 x, bool cut = false) {
    const u32 raw = rawBits(x);
    return isNan(x) ? raw >> 16 | 0x40 : (raw + (cut ? 0 : 0x7fff + (raw >> 16 & 1))) >> 16;
  }
};

/// c plus the products of both halves, as f32. The host rounds to nearest; it flushes if the rule does.
template <class Format> [[gnu::always_inline]] inline f32 dot2(u32 a, u32 b, f32 c, const isa::MatrixArithmetic &rule) {
  f32 x[2], y[2];
  for (unsigned half = 0; half < 2; ++half) {
    x[half] = Format::value(a >> (16 * half));
    y[half] = Format::value(b >> (16 * half));
    if (rule.flushes) {
      x[half] = flushedToPlus(x[half], Format::kLeastNormal);
      y[half] = flushedToPlus(y[half], Format::kLeastNormal);
    }
  }
  switch (rule.sum) {
  case isa::MatrixSum::Pairwise:
    return x[0] * y[0] + x[1] * y[1] + c;
  case isa::MatrixSum::FramedBlock: {
    const f32 *rows[2] = {&y[0], &y[1]};
    addFramedBlock<2>(&c, x, rows, 1, Format::kLeastExponent);
    return c;
  }
  default: // FmaChain
    return __builtin_fmaf(x[1], y[1], __builtin_fmaf(x[0], y[0], c));
  }
}

/// A lane loop for a dot product with an f32 result.
template <class Format> void dot2Lanes(const LaneArgs &args) {
  const auto rule = isa::MatrixArithmetic::unpacked(args.imm);
  HostMode mode(rule.flushes ? HostMode::kNearest | HostMode::kFlush : HostMode::kNearest);
  for (unsigned n = 0; n < N; ++n)
    args.d[n] = rawBits(dot2<Format>(args.s[0][n], args.s[1][n], bits<f32>(args.s[2][n]), rule));
}
/// The same with a result, and a third source, of 16 bits: computed as f32 and rounded once.
template <class Format> void dot2HalfLanes(const LaneArgs &args) {
  const auto rule = isa::MatrixArithmetic::unpacked(args.imm);
  HostMode mode(rule.flushes ? HostMode::kNearest | HostMode::kFlush : HostMode::kNearest);
  for (unsigned n = 0; n < N; ++n)
    Lane<u16>::put(args.d, n,
                   static_cast<u16>(Format::rounded(
                       dot2<Format>(args.s[0][n], args.s[1][n], Format::value(args.s[2][n]), rule), rule.cutsBf16)));
}

/// V_DOT4_I32_IU8 and V_DOT8_I32_IU4: NEG says which source is signed.
template <unsigned Width> const Inst *dotIu(Wave &w, const Inst *i) {
  if (((i->srcMods[0] | i->srcMods[1] | i->srcMods[2]) & kNegHi) || (i->srcMods[2] & kNeg))
    return w.illegal(i, "has modifiers that the virtual GPU does not support for it");
  const u32 *s[3];
  for (unsigned n = 0; n < 3; ++n)
    s[n] = sourceLanes<false>(w, *i, n);
  const bool signs[2] = {(i->srcMods[0] & kNeg) != 0, (i->srcMods[1] & kNeg) != 0}, clamp = i->flags & kClamp;
  const auto field = [](u32 x, unsigned shift, bool isSigned) {
    const u32 top = x << (32 - Width - shift);
    return isSigned ? static_cast<i32>(top) >> (32 - Width) : static_cast<i32>(top >> (32 - Width));
  };
  u32 result[N];
  for (unsigned n = 0; n < N; ++n) {
    i64 sum = static_cast<i32>(s[2][n]);
    for (unsigned shift = 0; shift < 32; shift += Width)
      sum += i64(field(s[0][n], shift, signs[0])) * field(s[1][n], shift, signs[1]);
    result[n] = clamp ? static_cast<u32>(saturateI32(sum)) : static_cast<u32>(sum);
  }
  blend(w, w.v[i->dst], result, 1);
  return i->next();
}

/// V_DOT4_F32_FP8_BF8 and its kin: fused multiply-adds in the order of the manual. It rounds to nearest whatever MODE
/// says; NEG and NEG_HI are neg and abs of source 2.
template <class A, class B> const Inst *dot4Fp8(Wave &w, const Inst *i) {
  if (((i->srcMods[0] | i->srcMods[1]) & (kNeg | kNegHi)) || (i->flags & kClamp))
    return w.illegal(i, "has modifiers that the virtual GPU does not support for it");
  const auto rule = isa::MatrixArithmetic::unpacked(i->imm);
  const u32 *a = sourceLanes<false>(w, *i, 0), *b = sourceLanes<false>(w, *i, 1), *c = sourceLanes<false>(w, *i, 2);
  const u32 keep = i->srcMods[2] & kNegHi ? 0x7fffffff : 0xffffffff, sign = i->srcMods[2] & kNeg ? 0x80000000 : 0;
  u32 result[N];
  {
    HostMode mode(HostMode::kNearest);
    for (unsigned n = 0; n < N; ++n) {
      f32 sum = bits<f32>((c[n] & keep) ^ sign);
      for (unsigned shift = 0; shift < 32; shift += 8)
        sum = __builtin_fmaf(fromFp8<A>(a[n] >> shift, rule.fp8), fromFp8<B>(b[n] >> shift, rule.fp8), sum);
      result[n] = rawBits(sum);
    }
  }
  blend(w, w.v[i->dst], result, 1);
  return i->next();
}

} // namespace luthier::vgpu::LUTHIER_VGPU_LEVEL
