// VOP1: vector instructions with one source (manual, section 12.8).
//
// v_exp_legacy_f32 and v_log_legacy_f32 have "legacy semantics", which the manual names and does not describe. Its
// formulas are those of v_exp_f32 and v_log_f32, and so are the results here. LLVM never selects them.

#include "vgpu/exec/float_math.h"
#include "vgpu/exec/fp8.h"
#include "vgpu/exec/tables.h"
#include "vgpu/exec/valu.h"

namespace luthier::vgpu::LUTHIER_VGPU_LEVEL {

namespace {

const Inst *nothing(Wave &, const Inst *i) { return i->next(); }

// Not the lane loop: compilers unroll a loop that only copies, and then copy dword by dword.
const Inst *v_mov_b32(Wave &w, const Inst *i) {
  const u32 *from = sourceLanes<false>(w, *i, 0);
  u32 *to = w.v[i->dst];
  if (activeLanes(w) == kAllLanes)
    memmove(to, from, N * sizeof(u32));
  else
    blend(w, to, from, 1);
  return i->next();
}
template <bool Uniform> const Inst *v_mov_b32Threaded(Wave &w, const Inst *i) {
  if (activeLanes(w) != kAllLanes) [[unlikely]]
    [[clang::musttail]] return v_mov_b32(w, i);
  typedef u32 Vec __attribute__((vector_size(64), may_alias));
  Vec *to = reinterpret_cast<Vec *>(w.v[i->dst]);
  const Vec *from = reinterpret_cast<const Vec *>(w.v[Uniform ? 0 : i->src[0].reg]);
  const u32 value = Uniform ? static_cast<u32>(uniformSource<false>(w, *i, 0)) : 0;
  for (unsigned n = 0; n < N / 16; ++n)
    to[n] = Uniform ? Vec{} + value : from[n];
  LUTHIER_THREAD(w, i);
}
constexpr Handler kThreadedMoves[8] = {v_mov_b32Threaded<false>, v_mov_b32Threaded<true>};
void moveLanes(const LaneArgs &args) { memmove(args.d, args.s[0], N * sizeof(u32)); }
constexpr Row moveRow() {
  Row row = op<[](u32 a) { return a; }>("v_mov_b32");
  if constexpr (!kBitcode) {
    row.handler = v_mov_b32;
    row.loop = moveLanes;
    row.threaded = kThreadedMoves;
  }
  return row;
}

const Inst *v_readfirstlane_b32(Wave &w, const Inst *i) {
  const u64 exec = activeLanes(w);
  const unsigned lane = exec ? static_cast<unsigned>(__builtin_ctzll(exec)) : 0;
  w.s[i->dst] = i->srcKind[0] == SrcKind::Vgpr ? w.v[i->src[0].reg][lane] : static_cast<u32>(scalarSource(w, *i, 0));
  return i->next();
}

/// For translated code: with the lanes in a copy, as EXEC says which it is.
[[maybe_unused]] bool attemptReadFirstLane(Wave &w, const Inst *i) {
  if (i->srcKind[0] != SrcKind::Vgpr)
    return false;
  alignas(64) u32 lanes[N];
  memcpy(lanes, w.v[i->src[0].reg], sizeof lanes);
  const u64 exec = activeLanes(w);
  w.s[i->dst] = lanes[exec ? __builtin_ctzll(exec) : 0];
  return true;
}
constexpr Row readFirstLane() {
  Row row = raw("v_readfirstlane_b32", v_readfirstlane_b32, Type::U32, Type::U32, Type::None, Type::None, kScalarDst);
  if constexpr (kBitcode)
    row.attempt = attemptReadFirstLane;
  return row;
}

const Inst *v_swap_b32(Wave &w, const Inst *i) {
  const u32 *exec = execLanes(w);
  u32 *a = w.v[i->dst];
  u32 *b = w.v[i->src[0].reg];
  for (unsigned n = 0; n < N; ++n) {
    const u32 difference = (a[n] ^ b[n]) & exec[n];
    a[n] ^= difference;
    b[n] ^= difference;
  }
  return i->next();
}

const Inst *v_accvgpr_mov_b32(Wave &w, const Inst *i) {
  blend(w, w.v[i->dst], w.v[i->src[0].reg], 1);
  return i->next();
}

// Relative addressing: M0 is added to the number of a source, of the result, or of both (with a field of M0 for each).
// A source that is out of range is v0, and a result that is out of range is not written (RDNA manuals, "VGPR
// Indexing").
struct Relative {
  u32 source, result;
};
Relative relative(const Wave &w, bool movesSource, bool movesResult, bool apart) {
  const u32 m0 = w.s[kM0];
  return {movesSource ? (apart ? m0 & 0x3ff : m0) : 0, movesResult ? (apart ? m0 >> 16 & 0x3ff : m0) : 0};
}
bool inRange(const Wave &w, u64 reg) { return reg < (w.vgprCount < kAccBase ? w.vgprCount : kAccBase); }

template <bool Source, bool Result, bool Apart> const Inst *moveRelative(Wave &w, const Inst *i) {
  const Relative by = relative(w, Source, Result, Apart);
  Inst moved = *i;
  if (Source) {
    if (i->srcKind[0] != SrcKind::Vgpr)
      return w.illegal(i, "has a relative source that is not a VGPR");
    const u64 reg = u64(i->src[0].reg) + by.source;
    moved.src[0].reg = inRange(w, reg) ? static_cast<u32>(reg) : 0;
  }
  const u64 reg = u64(i->dst) + by.result;
  if (!inRange(w, reg))
    return i->next();
  moved.dst = static_cast<u16>(reg);
  const bool modified = moved.flags & (kClamp | kOpSelDst | kSdwa | kDpp) || moved.omod || moved.srcMods[0];
  const Inst *next = modified ? general(w, &moved) : v_mov_b32(w, &moved);
  if (!next) {
    w.ip = i;
    return nullptr;
  }
  return i->next();
}
template <bool Source, bool Result, bool Apart> constexpr Row relativeMove(std::string_view mnemonic) {
  Row row = moveRow();
  row.mnemonic = mnemonic;
  row.traits |= kRelative;
  row.threaded = nullptr;
  row.attempt = nullptr;
  if constexpr (!kBitcode)
    row.handler = moveRelative<Source, Result, Apart>;
  return row;
}

const Inst *v_swaprel_b32(Wave &w, const Inst *i) {
  const Relative by = relative(w, true, true, true);
  const u64 from = u64(i->src[0].reg) + by.source, to = u64(i->dst) + by.result;
  if (!inRange(w, from) || !inRange(w, to))
    return i->next();
  Inst moved = *i;
  moved.src[0].reg = static_cast<u32>(from);
  moved.dst = static_cast<u16>(to);
  v_swap_b32(w, &moved);
  return i->next();
}

/// The halves of the wave change places; whether a lane is read does not depend on EXEC. Nothing in waves of 32 lanes.
const Inst *v_permlane64_b32(Wave &w, const Inst *i) {
  if constexpr (N == 64) {
    u32 swapped[N];
    const u32 *from = sourceLanes<false>(w, *i, 0);
    for (unsigned n = 0; n < N; ++n)
      swapped[n] = from[n ^ 32];
    blend(w, w.v[i->dst], swapped, 1);
  }
  return i->next();
}

const Inst *v_illegal(Wave &w, const Inst *i) { return w.illegal(i, "is the one that is always illegal"); }

/// Instructions that move 16 bits; signs can be changed as if these were an f16.
template <auto F> constexpr Row bits16(std::string_view mnemonic, unsigned sources) {
  Row row = op<F>(mnemonic, kMovesBits);
  row.dst = Type::F16;
  for (unsigned n = 0; n < sources; ++n)
    row.src[n] = Type::F16;
  return row;
}

/// Clamp makes these conversions signal inexact results and nothing else.
template <auto F> constexpr Row conversion(std::string_view mnemonic) {
  Row row = op<F>(mnemonic);
  row.clamped = row.loop;
  return row;
}

/// f16 to integer. A 16-bit value is finite or at least 65536 in f32.
template <class I> [[gnu::always_inline]] inline I saturatedF16(f16 x) {
  constexpr bool isSigned = I(-1) < I(0);
  constexpr i32 kMax = isSigned ? 32767 : 65535;
  constexpr i32 kMin = isSigned ? -32768 : 0;
  const i32 n = saturated<i32>(static_cast<f32>(x));
  return static_cast<I>(n > kMax ? kMax : n < kMin ? kMin : n);
}

/// f16 to a normalised 16-bit integer; in f64, where the product is exact.
template <i32 Low, i32 Scale> [[gnu::always_inline]] inline i32 normalisedF16(f16 x) {
  const f64 y = static_cast<f64>(static_cast<f32>(x)) * Scale;
  const f64 z = y > Low ? (y < Scale ? y : Scale) : Low;
  return isNan(x) ? 0 : static_cast<i32>(__builtin_rint(z));
}

[[gnu::always_inline]] inline f32 reciprocal(f32 x) { return flushed(1.0f / flushed(x)); }

/// In f64: the rounding of an f32 square root alone could cost the result more than an ulp.
[[gnu::always_inline]] inline f32 reciprocalSqrt(f32 x) {
  return static_cast<f32>(1.0 / __builtin_sqrt(static_cast<f64>(flushed(x))));
}

/// Which of the four screen engines a rectangle of 32-pixel tiles covers: the engine of tile (x, y) has the number
/// {x[0] ^ y[1], y[0] ^ x[1]}. The select is {x_min, y_min, x_max, y_max}, two bits each, which wrap around. The manual
/// gives a table of the 256 results as well, which is the same.
[[gnu::always_inline]] inline u32 screenPartition(u32 select) {
  const u32 left = select >> 6 & 3, top = select >> 4 & 3, width = (select >> 2) - left & 3, height = select - top & 3;
  u32 covered = 0;
  for (u32 dx = 0; dx < 4; ++dx)
    for (u32 dy = 0; dy < 4; ++dy) {
      const u32 x = left + dx, y = top + dy;
      const u32 engine = ((x ^ y >> 1) & 1) << 1 | ((y ^ x >> 1) & 1);
      covered |= dx <= width && dy <= height ? 1u << engine : 0;
    }
  return covered;
}

[[gnu::always_inline]] inline f16 half(f32 x) { return static_cast<f16>(x); }

constexpr Row kRows[] = {
    raw("v_nop", nothing, Type::None, Type::None, Type::None, Type::None, kTakesDpp),
    raw("v_clrexcp", nothing, Type::None)
        .documented("no exception is recorded, so there is none to clear"), // no exception state is kept
    moveRow(),
    readFirstLane(),
    raw("v_swap_b32", v_swap_b32, Type::U32, Type::U32),
    raw("v_accvgpr_mov_b32", v_accvgpr_mov_b32, Type::U32, Type::U32),

    op<[](u64 a) { return a; }>("v_mov_b64"),

    op<[](u32 a) { return ~a; }>("v_not_b32"),
    op<[](u32 a) { return __builtin_bitreverse32(a); }>("v_bfrev_b32"),
    op<[](u32 a) { return a ? u32(__builtin_clz(a)) : ~0u; }>("v_ffbh_u32"),
    op<[](u32 a) { return a ? u32(__builtin_ctz(a)) : ~0u; }>("v_ffbl_b32"),
    op<[](i32 a) {
      const u32 differs = u32(a) ^ u32(a >> 31);
      return differs ? u32(__builtin_clz(differs)) : ~0u;
    }>("v_ffbh_i32"),
    op<[](u32 a) {
      const i32 low = i16(a), high = i16(a >> 16);
      return u16(u32(low < 0 ? 0 : low > 255 ? 255 : low) | u32(high < 0 ? 0 : high > 255 ? 255 : high) << 8);
    }>("v_sat_pk_u8_i16"),
    op<[](u32 a) { return screenPartition(a); }>("v_screen_partition_4se_b32"),

    conversion<[](f64 a) { return saturated<i32>(a); }>("v_cvt_i32_f64"),
    conversion<[](f64 a) { return saturated<u32>(a); }>("v_cvt_u32_f64"),
    conversion<[](f32 a) { return saturated<i32>(a); }>("v_cvt_i32_f32"),
    conversion<[](f32 a) { return saturated<u32>(a); }>("v_cvt_u32_f32"),
    conversion<[](f16 a) { return saturatedF16<i16>(a); }>("v_cvt_i16_f16"),
    conversion<[](f16 a) { return saturatedF16<u16>(a); }>("v_cvt_u16_f16"),
    // In f64, where adding a half is exact.
    conversion<[](f32 a) { return saturated<i32>(__builtin_floor(f64(a) + 0.5)); }>("v_cvt_rpi_i32_f32")
        .chosen("the manual does not say whether the sum with 0.5 is rounded; it is not"),
    conversion<[](f32 a) { return saturated<i32>(__builtin_floorf(a)); }>("v_cvt_flr_i32_f32"),
    conversion<[](f16 a) { return i16(normalisedF16<-32767, 32767>(a)); }>("v_cvt_norm_i16_f16")
        .chosen("the manual does not say how normalised integers are rounded; as MODE says here"),
    conversion<[](f16 a) { return u16(normalisedF16<0, 65535>(a)); }>("v_cvt_norm_u16_f16")
        .chosen("the manual does not say how normalised integers are rounded; as MODE says here"),

    op<[](i32 a) { return f64(a); }>("v_cvt_f64_i32"),
    op<[](u32 a) { return f64(a); }>("v_cvt_f64_u32"),
    op<[](i32 a) { return f32(a); }>("v_cvt_f32_i32"),
    op<[](u32 a) { return f32(a); }>("v_cvt_f32_u32"),
    op<[](i16 a) { return half(f32(a)); }>("v_cvt_f16_i16"),
    op<[](u16 a) { return half(f32(a)); }>("v_cvt_f16_u16"),
    op<[](u32 a) { return f32(i32(a & 0xff)); }>("v_cvt_f32_ubyte0"),
    op<[](u32 a) { return f32(i32(a >> 8 & 0xff)); }>("v_cvt_f32_ubyte1"),
    op<[](u32 a) { return f32(i32(a >> 16 & 0xff)); }>("v_cvt_f32_ubyte2"),
    op<[](u32 a) { return f32(i32(a >> 24)); }>("v_cvt_f32_ubyte3"),
    op<[](u32 a) { return f32(i32(a << 28) >> 28) * 0.0625f; }>("v_cvt_off_f32_i4"),
    op<[](f64 a) { return f32(a); }>("v_cvt_f32_f64"),
    op<[](f32 a) { return f64(a); }>("v_cvt_f64_f32"),
    op<[](f32 a) { return half(a); }>("v_cvt_f16_f32"),
    op<[](f16 a) { return f32(a); }>("v_cvt_f32_f16"),

    op<[](f32 a) { return __builtin_truncf(a); }>("v_trunc_f32"),
    op<[](f32 a) { return __builtin_ceilf(a); }>("v_ceil_f32"),
    op<[](f32 a) { return __builtin_roundevenf(a); }>("v_rndne_f32"),
    op<[](f32 a) { return __builtin_floorf(a); }>("v_floor_f32"),
    op<[](f32 a) { return fraction(a, __builtin_floorf(a)); }>("v_fract_f32").chosen(why::kLessThanOne),
    op<[](f64 a) { return __builtin_trunc(a); }>("v_trunc_f64"),
    op<[](f64 a) { return __builtin_ceil(a); }>("v_ceil_f64"),
    op<[](f64 a) { return __builtin_roundeven(a); }>("v_rndne_f64"),
    op<[](f64 a) { return __builtin_floor(a); }>("v_floor_f64"),
    op<[](f64 a) { return fraction(a, __builtin_floor(a)); }>("v_fract_f64").chosen(why::kLessThanOne),
    op<[](f16 a) { return half(__builtin_truncf(f32(a))); }>("v_trunc_f16"),
    op<[](f16 a) { return half(__builtin_ceilf(f32(a))); }>("v_ceil_f16"),
    op<[](f16 a) { return half(__builtin_roundevenf(f32(a))); }>("v_rndne_f16"),
    op<[](f16 a) { return half(__builtin_floorf(f32(a))); }>("v_floor_f16"),
    op<[](f16 a) {
      const f32 d = f32(a) - __builtin_floorf(f32(a));
      return half(d > 0x1.ffcp-1f ? 0x1.ffcp-1f : d);
    }>("v_fract_f16")
        .chosen(why::kLessThanOne),

    // f32: denormals are flushed in every mode, on the way in and out.
    op<[](f32 a) { return reciprocal(a); }>("v_rcp_f32").documented(why::kOneUlp),
    op<[](f32 a) { return reciprocal(a); }>("v_rcp_iflag_f32").documented(why::kOneUlp),
    op<[](f32 a) { return reciprocalSqrt(a); }>("v_rsq_f32").documented(why::kOneUlp),
    op<[](f32 a) { return __builtin_sqrtf(flushed(a)); }>("v_sqrt_f32").documented(why::kOneUlp),
    op<[](f32 a) { return flushed(exp2(flushed(a))); }>("v_exp_f32").documented(why::kOneUlp),
    op<[](f32 a) { return log2(a); }>("v_log_f32").documented(why::kOneUlp),
    op<[](f32 a) { return flushed(exp2(flushed(a))); }>("v_exp_legacy_f32")
        .chosen("the manual does not describe its \"legacy semantics\"; as without \"legacy\" here"),
    op<[](f32 a) { return log2(a); }>("v_log_legacy_f32")
        .chosen("the manual does not describe its \"legacy semantics\"; as without \"legacy\" here"),
    op<[](f32 a) { return sine<false>(a); }>("v_sin_f32").documented(why::kOneUlp),
    op<[](f32 a) { return sine<true>(a); }>("v_cos_f32").documented(why::kOneUlp),
    op<[](f64 a) { return 1.0 / a; }>("v_rcp_f64").documented(why::kRoughF64),
    op<[](f64 a) { return 1.0 / __builtin_sqrt(a); }>("v_rsq_f64").documented(why::kRoughF64),
    op<[](f64 a) { return __builtin_sqrt(a); }>("v_sqrt_f64").documented(why::kRoughF64),
    op<[](f16 a) { return half(1.0f / f32(a)); }>("v_rcp_f16").documented(why::kHalfPrecision),
    op<[](f16 a) { return half(1.0f / __builtin_sqrtf(f32(a))); }>("v_rsq_f16").documented(why::kHalfPrecision),
    op<[](f16 a) { return half(__builtin_sqrtf(f32(a))); }>("v_sqrt_f16").documented(why::kHalfPrecision),
    op<[](f16 a) { return half(exp2(f32(a))); }>("v_exp_f16").documented(why::kHalfPrecision),
    op<[](f16 a) { return half(log2(f32(a))); }>("v_log_f16").documented(why::kHalfPrecision),
    op<[](f16 a) { return half(sine<false>(f32(a))); }>("v_sin_f16").documented(why::kHalfPrecision),
    op<[](f16 a) { return half(sine<true>(f32(a))); }>("v_cos_f16").documented(why::kHalfPrecision),

    // gfx10 and later
    raw("v_pipeflush", nothing, Type::None),
    raw("v_illegal", v_illegal, Type::None).refused("it is illegal"),
    relativeMove<true, false, false>("v_movrels_b32"),
    relativeMove<false, true, false>("v_movreld_b32"),
    relativeMove<true, true, false>("v_movrelsd_b32"),
    relativeMove<true, true, true>("v_movrelsd_2_b32"),
    raw("v_swaprel_b32", v_swaprel_b32, Type::U32, Type::U32),
    raw("v_permlane64_b32", v_permlane64_b32, Type::U32, Type::U32),
    bits16<[](u16 a) { return a; }>("v_mov_b16", 1),
    op<[](u16 a) { return u16(~a); }>("v_not_b16"),
    op<[](i16 a) { return i32(a); }>("v_cvt_i32_i16"),
    op<[](u16 a) { return u32(a); }>("v_cvt_u32_u16"),

    op<[](f64 a) { return frexpExponent(a); }>("v_frexp_exp_i32_f64"),
    op<[](f64 a) { return frexpMantissa(a); }>("v_frexp_mant_f64"),
    op<[](f32 a) { return frexpExponent(a); }>("v_frexp_exp_i32_f32"),
    op<[](f32 a) { return frexpMantissa(a); }>("v_frexp_mant_f32"),
    op<[](f16 a) { return i16(frexpExponent(f32(a))); }>("v_frexp_exp_i16_f16"),
    op<[](f16 a) { return half(frexpMantissa(f32(a))); }>("v_frexp_mant_f16"),

    fp8Row("v_cvt_f32_fp8", cvtF32Fp8<Fp8>, Type::F32, Type::U32),
    fp8Row("v_cvt_f32_bf8", cvtF32Fp8<Bf8>, Type::F32, Type::U32),
    fp8Row("v_cvt_pk_f32_fp8", cvtPkF32Fp8<Fp8>, Type::U64, Type::U32),
    fp8Row("v_cvt_pk_f32_bf8", cvtPkF32Fp8<Bf8>, Type::U64, Type::U32),
};

} // namespace

std::span<const Row> vop1Rows() { return kRows; }

} // namespace luthier::vgpu::LUTHIER_VGPU_LEVEL
