// VOP3P: packed instructions, mixed-precision multiply-adds, dot products. Matrix instructions are in mfma.cc.

#include "vgpu/exec/dot.h"
#include "vgpu/exec/packed.h"
#include "vgpu/exec/tables.h"

namespace luthier::vgpu::LUTHIER_VGPU_LEVEL {

namespace {

/// MODE's denormal field for f64 and f16.
constexpr u32 kKeepInputs = mode::kDenormF64 & mode::kDenormF64 >> 1;
constexpr u32 kKeepOutputs = mode::kDenormF64 & ~kKeepInputs;

constexpr bool isPacked16(Type t) {
  return t == Type::PkF16 || t == Type::PkBf16 || t == Type::PkI16 || t == Type::PkU16;
}

/// Moves the halves of each dword to where the low and the high result take them, and negates them.
void selectHalves(u8 mods, const u32 *from, u32 *to) {
  const u32 low = mods & kOpSel ? 16 : 0, high = mods & kOpSelHi ? 16 : 0;
  const u32 sign = (mods & kNeg ? 0x8000 : 0) | (mods & kNegHi ? 0x80000000 : 0);
  for (unsigned n = 0; n < N; ++n)
    to[n] = ((from[n] >> low & 0xffff) | (from[n] >> high & 0xffff) << 16) ^ sign;
}

/// The same for the dwords of register pairs.
void selectDwords(u8 mods, const u32 *from, u32 *to) {
  const unsigned low = mods & kOpSel ? kRow : 0, high = mods & kOpSelHi ? kRow : 0;
  const u32 signLow = mods & kNeg ? 0x80000000 : 0, signHigh = mods & kNegHi ? 0x80000000 : 0;
  for (unsigned n = 0; n < N; ++n) {
    const u32 x = from[n + low] ^ signLow, y = from[n + high] ^ signHigh;
    to[n] = x;
    to[n + kRow] = y;
  }
}

void flushHalves(u32 *x) {
  for (unsigned n = 0; n < N; ++n)
    x[n] &= (x[n] & 0x7c00 ? 0xffff : 0x8000) | (x[n] & 0x7c000000 ? 0xffff0000 : 0x80000000);
}

/// Clamps to [0, 1]; NaN becomes 0 under DX10_CLAMP.
[[gnu::always_inline]] inline f32 clamped(f32 x, bool dx10) {
  const f32 y = x > 0.0f ? (x > 1.0f ? 1.0f : x) : 0.0f;
  return x != x && !dx10 ? x : y;
}
void clampDwords(bool dx10, u32 *x, unsigned count) {
  for (unsigned n = 0; n < count; ++n)
    x[n] = bits<u32>(clamped(bits<f32>(x[n]), dx10));
}
[[gnu::always_inline]] inline u32 clampedHalf(u32 x, bool dx10) {
  return bits<u16>(static_cast<f16>(clamped(static_cast<f32>(bits<f16>(static_cast<u16>(x))), dx10)));
}
void clampHalves(bool dx10, u32 *x) {
  for (unsigned n = 0; n < N; ++n)
    x[n] = clampedHalf(x[n], dx10) | clampedHalf(x[n] >> 16, dx10) << 16;
}

/// D's dwords come from the dwords that op_sel selects of S0 and S1; op_sel_hi does nothing.
const Inst *v_pk_mov_b32(Wave &w, const Inst *i) {
  if ((i->flags & kClamp) || ((i->srcMods[0] | i->srcMods[1]) & (kNeg | kNegHi)))
    return w.illegal(i, "has modifiers that the virtual GPU does not support for it");
  const u32 *low = sourceLanes<true>(w, *i, 0) + (i->srcMods[0] & kOpSel ? kRow : 0);
  const u32 *high = sourceLanes<true>(w, *i, 1) + (i->srcMods[1] & kOpSel ? kRow : 0);
  u32 *d = w.v[i->dst];
  if (activeLanes(w) == kAllLanes) [[likely]] {
#pragma clang loop vectorize(assume_safety)
    for (unsigned n = 0; n < N; ++n) {
      const u32 x = low[n], y = high[n];
      d[n] = x;
      d[n + kRow] = y;
    }
  } else {
    const u32 *mask = execLanes(w);
#pragma clang loop vectorize(assume_safety)
    for (unsigned n = 0; n < N; ++n) {
      const u32 x = low[n], y = high[n];
      d[n] = mask[n] ? x : d[n];
      d[n + kRow] = mask[n] ? y : d[n + kRow];
    }
  }
  return i->next();
}

/// The same without modifiers, for translated code.
[[maybe_unused]] bool attemptPackedMove(Wave &w, const Inst *i) {
  if (i->imm & kPackedModifies)
    return false;
  alignas(64) u32 active[N], result[2 * kRow];
  copyPair(w, *i, 0, i->srcMods[0] & kOpSel, result);
  copyPair(w, *i, 1, i->srcMods[1] & kOpSel, result + kRow);
  expandMask(activeLanes(w), active);
  putActive(w.v[i->dst], result, active);
  putActive(w.v[i->dst + 1], result + kRow, active);
  return true;
}
constexpr Row packedMove() {
  Row row = raw("v_pk_mov_b32", v_pk_mov_b32, Type::U64, Type::PkF32, Type::PkF32);
  if constexpr (kBitcode)
    row.attempt = attemptPackedMove;
  return row;
}

/// A source of the mixed-precision multiply-adds as f32: op_sel_hi makes it a half, which op_sel selects; neg_hi is
/// abs.
bool mixSource(Wave &w, const Inst *i, unsigned n, f32 *out, u64 &writable) {
  const u8 mods = i->srcMods[n];
  const u32 *lanes = sourceLanes<false>(w, *i, n);
  if (n == 0 && (i->flags & kDpp)) {
    if (!applyDpp(w, *i, lanes, w.tmp[0], false, writable))
      return false;
    lanes = w.tmp[0];
  }
  if (mods & kOpSelHi) {
    const u32 shift = mods & kOpSel ? 16 : 0;
    const bool flush = !(w.mode & kKeepInputs);
    for (unsigned k = 0; k < N; ++k) {
      const f16 x = bits<f16>(static_cast<u16>(lanes[k] >> shift));
      out[k] = static_cast<f32>(flush ? flushed(x) : x);
    }
  } else {
    for (unsigned k = 0; k < N; ++k)
      out[k] = bits<f32>(lanes[k]);
  }
  const u32 keep = mods & kNegHi ? 0x7fffffff : 0xffffffff, sign = mods & kNeg ? 0x80000000 : 0;
  for (unsigned k = 0; k < N; ++k)
    out[k] = bits<f32>((bits<u32>(out[k]) & keep) ^ sign);
  return true;
}

/// V_FMA_MIX_F32 and, with a result converted to f16, V_FMA_MIXLO_F16 and V_FMA_MIXHI_F16. MI200's manual calls them
/// V_MAD_MIX and says that they are fused; those of gfx900, which LLVM calls V_MAD_MIX, are not. The f16 results are
/// rounded twice, as the pseudo-code has it.
enum class MixResult { F32, Low, High };
template <MixResult Where, bool Fused> const Inst *mix(Wave &w, const Inst *i) {
  if (Where != MixResult::F32 && (w.mode & mode::kFp16Overflow))
    return w.illegal(i, "runs with MODE.FP16_OVFL, which the virtual GPU does not support");
  f32 s[3][N];
  u64 writable = activeLanes(w);
  for (unsigned n = 0; n < 3; ++n)
    if (!mixSource(w, i, n, s[n], writable))
      return w.illegal(i, "has a DPP control that does not exist");
  const bool clamp = i->flags & kClamp, dx10 = w.mode & mode::kDx10Clamp, flush = !(w.mode & kKeepOutputs);
  u32 *d = w.v[i->dst];
  u32 result[N];
  for (unsigned n = 0; n < N; ++n) {
    f32 x = Fused ? __builtin_fmaf(s[0][n], s[1][n], s[2][n]) : mad(s[0][n], s[1][n], s[2][n]);
    x = clamp ? clamped(x, dx10) : x;
    if constexpr (Where == MixResult::F32) {
      result[n] = bits<u32>(x);
    } else {
      const f16 half = static_cast<f16>(x);
      const u32 y = bits<u16>(flush ? flushed(half) : half);
      result[n] = Where == MixResult::Low ? (d[n] & 0xffff0000) | y : (d[n] & 0xffff) | y << 16;
    }
  }
  expandMask(writable, w.tmp[1]);
  for (unsigned n = 0; n < N; ++n)
    d[n] = (result[n] & w.tmp[1][n]) | (d[n] & ~w.tmp[1][n]);
  return i->next();
}

/// The sum of the products of fields of `Width` bits.
template <unsigned Width, class I> [[gnu::always_inline]] inline i64 dotProduct(u32 a, u32 b) {
  i64 sum = 0;
  for (unsigned shift = 0; shift < 32; shift += Width) {
    const I x = static_cast<I>(a << (32 - Width - shift)) >> (32 - Width);
    const I y = static_cast<I>(b << (32 - Width - shift)) >> (32 - Width);
    sum += i64(x) * i64(y);
  }
  return sum;
}
template <unsigned Width> constexpr Row dotSigned(std::string_view mnemonic) {
  Row row = opClamp<[](u32 a, u32 b, i32 c) { return i32(u32(c) + u32(dotProduct<Width, i32>(a, b))); },
                    [](u32 a, u32 b, i32 c) { return saturateI32(dotProduct<Width, i32>(a, b) + c); }>(mnemonic);
  row.handler = packedGeneral;
  row.threaded = nullptr;
  row.attempt = nullptr;
  return row;
}
template <unsigned Width> constexpr Row dotUnsigned(std::string_view mnemonic) {
  Row row = opClamp<[](u32 a, u32 b, u32 c) { return c + u32(dotProduct<Width, u32>(a, b)); },
                    [](u32 a, u32 b, u32 c) { return saturateU32(u64(dotProduct<Width, u32>(a, b)) + c); }>(mnemonic);
  row.handler = packedGeneral;
  row.threaded = nullptr;
  row.attempt = nullptr;
  return row;
}
/// Sources whose halves op_sel selects.
constexpr Row withHalves(Row row, Type type) {
  row.src[0] = row.src[1] = type;
  return row;
}

constexpr Row kRows[] = {
    packedClamp<[](i16 a, i16 b, i16 c) { return i16(i32(a) * b + c); },
                [](i16 a, i16 b, i16 c) { return saturateI16(i32(a) * b + c); }>("v_pk_mad_i16"),
    packedClamp<[](u16 a, u16 b, u16 c) { return u16(u32(a) * b + c); },
                [](u16 a, u16 b, u16 c) { return saturateU16(u32(a) * b + c); }>("v_pk_mad_u16"),
    packedClamp<[](u16 a, u16 b) { return u16(u32(a) * b); }, [](u16 a, u16 b) { return saturateU16(u32(a) * b); }>(
        "v_pk_mul_lo_u16"),
    packedClamp<[](i16 a, i16 b) { return i16(a + b); }, [](i16 a, i16 b) { return saturateI16(a + b); }>(
        "v_pk_add_i16"),
    packedClamp<[](i16 a, i16 b) { return i16(a - b); }, [](i16 a, i16 b) { return saturateI16(a - b); }>(
        "v_pk_sub_i16"),
    packedClamp<[](u16 a, u16 b) { return u16(a + b); }, [](u16 a, u16 b) { return saturateU16(u32(a) + b); }>(
        "v_pk_add_u16"),
    packedClamp<[](u16 a, u16 b) { return u16(a - b); }, [](u16 a, u16 b) { return u16(a > b ? a - b : 0); }>(
        "v_pk_sub_u16"),
    packed<[](u16 n, u16 a) { return u16(a << (n & 15)); }>("v_pk_lshlrev_b16"),
    packed<[](u16 n, u16 a) { return u16(a >> (n & 15)); }>("v_pk_lshrrev_b16"),
    packed<[](i16 n, i16 a) { return i16(a >> (n & 15)); }>("v_pk_ashrrev_i16"),
    packed<[](i16 a, i16 b) { return greater(a, b); }>("v_pk_max_i16"),
    packed<[](i16 a, i16 b) { return lesser(a, b); }>("v_pk_min_i16"),
    packed<[](u16 a, u16 b) { return greater(a, b); }>("v_pk_max_u16"),
    packed<[](u16 a, u16 b) { return lesser(a, b); }>("v_pk_min_u16"),
    packed<[](f16 a, f16 b, f16 c) { return fma16(a, b, c); }>("v_pk_fma_f16"),
    packed<[](f16 a, f16 b) { return static_cast<f16>(a + b); }>("v_pk_add_f16"),
    packed<[](f16 a, f16 b) { return static_cast<f16>(a * b); }>("v_pk_mul_f16"),
    packed<[](f16 a, f16 b, Mode m) { return minimum(a, b, m); }>("v_pk_min_f16"),
    packed<[](f16 a, f16 b, Mode m) { return maximum(a, b, m); }>("v_pk_max_f16"),
    packed<[](f16 a, f16 b) { return leastNumber(a, b); }>("v_pk_min_num_f16"),
    packed<[](f16 a, f16 b) { return greatestNumber(a, b); }>("v_pk_max_num_f16"),
    packed<[](f16 a, f16 b) { return leastValue(a, b); }>("v_pk_minimum_f16"),
    packed<[](f16 a, f16 b) { return greatestValue(a, b); }>("v_pk_maximum_f16"),

    packedF32<[](f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }>("v_pk_fma_f32"),
    packedF32<[](f32 a, f32 b) { return a * b; }>("v_pk_mul_f32"),
    packedF32<[](f32 a, f32 b) { return a + b; }>("v_pk_add_f32"),
    packedMove(),

    raw("v_fma_mix_f32", mix<MixResult::F32, true>, Type::F32, Type::F32, Type::F32, Type::F32, kTakesDpp),
    raw("v_fma_mixlo_f16", mix<MixResult::Low, true>, Type::F16, Type::F32, Type::F32, Type::F32, kTakesDpp)
        .documented("rounded to f32 and then to f16, as the manual's pseudo-code has it"),
    raw("v_fma_mixhi_f16", mix<MixResult::High, true>, Type::F16, Type::F32, Type::F32, Type::F32, kTakesDpp)
        .documented("rounded to f32 and then to f16, as the manual's pseudo-code has it"),
    raw("v_mad_mix_f32", mix<MixResult::F32, false>, Type::F32, Type::F32, Type::F32, Type::F32).chosen(why::kMad),
    raw("v_mad_mixlo_f16", mix<MixResult::Low, false>, Type::F16, Type::F32, Type::F32, Type::F32).chosen(why::kMad),
    raw("v_mad_mixhi_f16", mix<MixResult::High, false>, Type::F16, Type::F32, Type::F32, Type::F32).chosen(why::kMad),

    withRule({"v_dot2_f32_f16", packedGeneral, dot2Lanes<HalfFormat>, Type::F32, {Type::PkF16, Type::PkF16, Type::F32}},
             isa::MatrixFormat::DotF16)
        .chosen(why::kDot),
    withRule(
        {"v_dot2_f32_bf16", packedGeneral, dot2Lanes<BrainFormat>, Type::F32, {Type::PkBf16, Type::PkBf16, Type::F32}},
        isa::MatrixFormat::DotBf16)
        .chosen(why::kDot),
    withRule(raw("v_dot4_f32_fp8_fp8", dot4Fp8<Fp8, Fp8>, Type::F32, Type::U32, Type::U32, Type::F32),
             isa::MatrixFormat::Fp8Fp8)
        .chosen(why::kDot),
    withRule(raw("v_dot4_f32_fp8_bf8", dot4Fp8<Fp8, Bf8>, Type::F32, Type::U32, Type::U32, Type::F32),
             isa::MatrixFormat::Fp8Fp8)
        .chosen(why::kDot),
    withRule(raw("v_dot4_f32_bf8_fp8", dot4Fp8<Bf8, Fp8>, Type::F32, Type::U32, Type::U32, Type::F32),
             isa::MatrixFormat::Fp8Fp8)
        .chosen(why::kDot),
    withRule(raw("v_dot4_f32_bf8_bf8", dot4Fp8<Bf8, Bf8>, Type::F32, Type::U32, Type::U32, Type::F32),
             isa::MatrixFormat::Fp8Fp8)
        .chosen(why::kDot),
    raw("v_dot4_i32_iu8", dotIu<8>, Type::I32, Type::U32, Type::U32, Type::I32),
    raw("v_dot8_i32_iu4", dotIu<4>, Type::I32, Type::U32, Type::U32, Type::I32),
    withHalves(dotSigned<16>("v_dot2_i32_i16"), Type::PkI16),
    withHalves(dotUnsigned<16>("v_dot2_u32_u16"), Type::PkU16),
    dotSigned<8>("v_dot4_i32_i8"),
    dotUnsigned<8>("v_dot4_u32_u8"),
    dotSigned<4>("v_dot8_i32_i4"),
    dotUnsigned<4>("v_dot8_u32_u4"),
};

} // namespace

const Inst *packedGeneral(Wave &w, const Inst *i) {
  const Row &row = *i->row;
  LaneLoop loop = row.loop;
  if ((i->flags & kClamp) && !isFloat(row.dst)) {
    if (!row.clamped)
      return w.illegal(i, "has the clamp bit set, which the virtual GPU does not support for it");
    loop = row.clamped;
  }
  if (row.dst == Type::PkF16 && (w.mode & mode::kFp16Overflow))
    return w.illegal(i, "runs with MODE.FP16_OVFL, which the virtual GPU does not support");

  LaneArgs args{};
  args.mode = w.mode;
  args.imm = i->imm;
  args.d = w.tmp[5];
  u64 writable = activeLanes(w);
  for (unsigned n = 0; n < 3 && row.src[n] != Type::None; ++n) {
    const Type type = row.src[n];
    const u8 mods = i->srcMods[n];
    if ((mods & (kNeg | kNegHi)) && (!isFloat(type) || (type == Type::F32 && (mods & kNegHi))))
      return w.illegal(i, "has modifiers that the virtual GPU does not support for it");
    const u32 *lanes = is64(type) ? sourceLanes<true>(w, *i, n) : sourceLanes<false>(w, *i, n);
    u32 *out = w.tmp[n];
    if (n == 0 && (i->flags & kDpp)) {
      if (!applyDpp(w, *i, lanes, out, is64(type), writable))
        return w.illegal(i, "has a DPP control that does not exist");
      lanes = out;
    }
    const bool flush = row.dst == Type::PkF16 && !(w.mode & kKeepInputs);
    if (mods == kOpSelHi && !flush) {
      args.s[n] = lanes;
      continue;
    }
    if (type == Type::PkF32) {
      selectDwords(mods, lanes, out);
    } else if (isPacked16(type)) {
      selectHalves(mods, lanes, out);
      if (flush)
        flushHalves(out);
    } else {
      for (unsigned k = 0; k < N; ++k)
        out[k] = lanes[k] ^ (mods & kNeg ? 0x80000000 : 0);
    }
    args.s[n] = out;
  }
  loop(args);

  const bool dx10 = w.mode & mode::kDx10Clamp;
  if (row.dst == Type::PkF16 && !(w.mode & kKeepOutputs))
    flushHalves(args.d);
  if (i->flags & kClamp) {
    if (row.dst == Type::PkF16)
      clampHalves(dx10, args.d);
    else if (isFloat(row.dst))
      clampDwords(dx10, args.d, is64(row.dst) ? kRow + N : N);
  }
  u32 *d = w.v[i->dst];
  expandMask(writable, w.tmp[3]);
  for (unsigned r = 0; r < (is64(row.dst) ? 2u : 1u); ++r)
    for (unsigned n = 0; n < N; ++n)
      d[r * kRow + n] = (args.d[r * kRow + n] & w.tmp[3][n]) | (d[r * kRow + n] & ~w.tmp[3][n]);
  return i->next();
}

std::span<const Row> vop3pRows() { return kRows; }

} // namespace luthier::vgpu::LUTHIER_VGPU_LEVEL
