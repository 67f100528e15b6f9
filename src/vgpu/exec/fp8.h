// Numbers of eight bits: FP8 (E4M3) and BF8 (E5M2), as isa::Fp8Kind says what they are. Written as integer arithmetic,
// so that the host's rounding and flushing have no say.
#pragma once

#include "isa/matrix.h"
#include "vgpu/exec/float_math.h"
#include "vgpu/exec/valu.h"

namespace luthier::vgpu::LUTHIER_VGPU_LEVEL {

using isa::Fp8Kind;

/// One of the two formats, by the bits of its fraction.
template <unsigned Fraction> struct Fp8Format {
  static constexpr unsigned kFraction = Fraction;
  static constexpr unsigned kExponent = 7 - Fraction;
  static constexpr i32 kOcpBias = (1 << (kExponent - 1)) - 1;
  /// The code of the greatest finite number, without its sign.
  [[gnu::always_inline]] static u32 greatest(Fp8Kind kind) {
    if (kind == Fp8Kind::Fnuz)
      return 0x7f;
    return Fraction == 3 ? 0x7e : 0x7b;
  }
  [[gnu::always_inline]] static i32 bias(Fp8Kind kind) { return kOcpBias + (kind == Fp8Kind::Fnuz); }
};
using Fp8 = Fp8Format<3>;
using Bf8 = Fp8Format<2>;

/// The number that the low eight bits of `x` are. Exact: f32 has them all.
template <class Format> [[gnu::always_inline]] inline f32 fromFp8(u32 x, Fp8Kind kind) {
  constexpr unsigned kFraction = Format::kFraction;
  const u32 code = x & 0x7f, fraction = code & ((1u << kFraction) - 1);
  const u32 sign = (x & 0x80) << 24;
  const i32 bias = Format::bias(kind);
  // A subnormal is a multiple of the least number.
  const f32 least = bits<f32>(static_cast<u32>(127 + 1 - bias - i32(kFraction)) << 23);
  const u32 subnormal = rawBits(static_cast<f32>(fraction) * least);
  const u32 normal = (code << (23 - kFraction)) + (static_cast<u32>(127 - bias) << 23);
  const u32 value = code < 1u << kFraction ? subnormal : normal;
  const bool nan = kind == Fp8Kind::Fnuz ? (x & 0xff) == 0x80 : Format::greatest(kind) + (kFraction == 2) < code;
  const bool infinite = kind == Fp8Kind::Ocp && kFraction == 2 && code == 0x7c;
  return bits<f32>(nan ? kDefaultNan<f32> : sign | (infinite ? kInfinity<f32> : value));
}

/// What rounding to FP8 or BF8 starts from: the bits that are kept, with those of the exponent, and 24 bits of what is
/// cut off. Subnormals of f32 are far too small to matter.
struct Fp8Cut {
  u32 kept, lost;
};
template <class Format> [[gnu::always_inline]] inline Fp8Cut cutToFp8(u32 magnitude, Fp8Kind kind) {
  constexpr unsigned kFraction = Format::kFraction;
  const i32 exponent = static_cast<i32>(magnitude >> 23) - 127, least = 1 - Format::bias(kind);
  const u32 significand = magnitude < kMinNormal<f32> ? 0 : (magnitude & 0x7fffff) | 0x800000;
  const i32 below = exponent < least ? least - exponent : 0; // subnormals move further down
  const u64 wide = static_cast<u64>(significand) << 24 >> (23 - kFraction + static_cast<u32>(below > 24 ? 24 : below));
  const u32 binades = below ? 0 : static_cast<u32>(exponent - least); // the leading bit is worth one
  return {static_cast<u32>(wide >> 24) + (binades << kFraction), static_cast<u32>(wide & 0xffffff)};
}

/// The code of the finite number `code`, or of what stands for one that is too great: the greatest if `saturates`, else
/// infinity, or NaN where there is none.
template <class Format> [[gnu::always_inline]] inline u32 fp8Code(f32 x, u32 code, Fp8Kind kind, bool saturates) {
  const u32 m = magnitude(x), sign = rawBits(x) >> 24 & 0x80, greatest = Format::greatest(kind);
  const bool fnuz = kind == Fp8Kind::Fnuz;
  const u32 nan = fnuz ? 0x80 : sign | 0x7f;
  const u32 infinity = !fnuz && Format::kFraction == 2 ? sign | 0x7c : nan;
  const u32 finite = fnuz && code == 0 ? 0 : sign | code; // FNUZ has no -0
  const bool beyond = m == kInfinity<f32> || code > greatest;
  return m > kInfinity<f32> ? nan : beyond ? (saturates ? sign | greatest : infinity) : finite;
}

/// `x` rounded to nearest even.
template <class Format> [[gnu::always_inline]] inline u32 toFp8(f32 x, Fp8Kind kind, bool saturates) {
  const Fp8Cut cut = cutToFp8<Format>(magnitude(x), kind);
  const bool up = cut.lost > 0x800000 || (cut.lost == 0x800000 && (cut.kept & 1));
  return fp8Code<Format>(x, cut.kept + up, kind, saturates);
}

/// `x` plus the high bits of `random`, which start below the last bit that is kept, cut off.
template <class Format> [[gnu::always_inline]] inline u32 toFp8Random(f32 x, u32 random, Fp8Kind kind, bool saturates) {
  const Fp8Cut cut = cutToFp8<Format>(magnitude(x), kind);
  const bool up = cut.lost + (random >> 8) > 0xffffff;
  return fp8Code<Format>(x, cut.kept + up, kind, saturates);
}

// Conversions as lane loops; they use the general path in every encoding. `LaneArgs::imm` has the target's kind and the
// instruction's op_sel.

[[gnu::always_inline]] inline Fp8Kind fp8Kind(const LaneArgs &args) {
  return isa::MatrixArithmetic::unpacked(args.imm).fp8;
}
[[gnu::always_inline]] inline u32 opSelOf(const LaneArgs &args) {
  return static_cast<u32>(args.imm) >> kOpSelShift & 15;
}

/// V_CVT_F32_FP8: of op_sel, bit 0 is the high bit of the byte's number.
template <class Format> void cvtF32Fp8(const LaneArgs &args) {
  const Fp8Kind kind = fp8Kind(args);
  const u32 opSel = opSelOf(args), shift = 16 * (opSel & 1) + 8 * (opSel >> 1 & 1);
  for (unsigned n = 0; n < N; ++n)
    args.d[n] = rawBits(fromFp8<Format>(args.s[0][n] >> shift, kind));
}
/// V_CVT_PK_F32_FP8.
template <class Format> void cvtPkF32Fp8(const LaneArgs &args) {
  const Fp8Kind kind = fp8Kind(args);
  const u32 shift = 16 * (opSelOf(args) & 1);
  for (unsigned n = 0; n < N; ++n) {
    const u32 x = args.s[0][n] >> shift;
    args.d[n] = rawBits(fromFp8<Format>(x, kind));
    args.d[n + kRow] = rawBits(fromFp8<Format>(x >> 8, kind));
  }
}
/// V_CVT_PK_FP8_F32: MODE.FP16_OVFL makes it saturate.
template <class Format> void cvtPkFp8F32(const LaneArgs &args) {
  const Fp8Kind kind = fp8Kind(args);
  const bool saturates = args.mode & mode::kFp16Overflow;
  for (unsigned n = 0; n < N; ++n)
    put16(args.d, n,
          static_cast<u16>(toFp8<Format>(bits<f32>(args.s[0][n]), kind, saturates) |
                           toFp8<Format>(bits<f32>(args.s[1][n]), kind, saturates) << 8));
}
/// V_CVT_SR_FP8_F32: op_sel's upper bits say which byte of the destination, source 2 here, it replaces.
template <class Format> void cvtSrFp8F32(const LaneArgs &args) {
  const Fp8Kind kind = fp8Kind(args);
  const bool saturates = args.mode & mode::kFp16Overflow;
  const u32 shift = 8 * (opSelOf(args) >> 2);
  for (unsigned n = 0; n < N; ++n)
    args.d[n] = (args.s[2][n] & ~(0xffu << shift)) |
                toFp8Random<Format>(bits<f32>(args.s[0][n]), args.s[1][n], kind, saturates) << shift;
}

/// A row for one of them.
constexpr Row fp8Row(std::string_view mnemonic, LaneLoop loop, Type dst, Type s0, Type s1 = Type::None,
                     Type s2 = Type::None, u16 traits = 0) {
  return withRule(looped(mnemonic, loop, dst, s0, s1, s2, traits), isa::MatrixFormat::Fp8Conversion);
}

} // namespace luthier::vgpu::LUTHIER_VGPU_LEVEL
