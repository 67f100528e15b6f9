// VOP2: vector instructions with two sources (manual, section 12.7).

#include "vgpu/exec/dot.h"
#include "vgpu/exec/float_math.h"
#include "vgpu/exec/tables.h"
#include "vgpu/exec/valu.h"

namespace luthier::vgpu::LUTHIER_VGPU_LEVEL {

namespace {

/// A row whose arithmetic ignores MODE: round to nearest, all denormals flushed.
template <auto F> struct FixedMode {
  using L = typename LoopOf<F>::type;
  static constexpr u32 kNearestAndFlush = 0x1f80 | 0x8000 | 0x0040; // MXCSR: exceptions masked, FTZ, DAZ

  template <class Call> [[gnu::always_inline]] static auto with(Call call) {
    const u32 saved = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(kNearestAndFlush);
    asm volatile("" ::: "memory");
    struct Restore {
      u32 mxcsr;
      ~Restore() {
        asm volatile("" ::: "memory");
        __builtin_ia32_ldmxcsr(mxcsr);
      }
    } restore{saved};
    return call();
  }
  static const Inst *handler(Wave &w, const Inst *i) {
    return with([&] { return L::handler(w, i); });
  }
  static void run(const LaneArgs &args) {
    with([&] { L::run(args); });
  }
};
template <auto F> constexpr Row opFixedMode(std::string_view mnemonic, uint16_t traits) {
  Row row = op<F>(mnemonic, traits);
  row.handler = &FixedMode<F>::handler;
  row.threaded = nullptr;
  row.loop = &FixedMode<F>::run;
  row.attempt = nullptr;
  return row;
}

template <class I> [[gnu::always_inline]] inline I low24(I x) { return static_cast<I>(x << 8) >> 8; }

/// The sum of the products of signed fields of `Width` bits.
template <unsigned Width> [[gnu::always_inline]] inline i64 dot(u32 a, u32 b) {
  i64 sum = 0;
  for (unsigned shift = 0; shift < 32; shift += Width) {
    const i32 x = static_cast<i32>(a << (32 - Width - shift)) >> (32 - Width);
    const i32 y = static_cast<i32>(b << (32 - Width - shift)) >> (32 - Width);
    sum += i64(x) * y;
  }
  return sum;
}
template <unsigned Width> constexpr Row dotRow(std::string_view mnemonic) {
  return opClamp<[](u32 a, u32 b, u32 c) { return c + static_cast<u32>(dot<Width>(a, b)); },
                 [](u32 a, u32 b, u32 c) {
                   const i64 d = dot<Width>(a, b) + static_cast<i32>(c);
                   return static_cast<u32>(d > 0x7fffffff ? 0x7fffffff : d < -0x80000000ll ? -0x80000000ll : d);
                 }>(mnemonic, kAccumulates);
}

// Unsigned a + b + c and a - b - c, with the carry or borrow out. Clamped, they stop at the largest number and at 0.
template <class T> [[gnu::always_inline]] inline T plus(T a, T b, bool c, bool &carry) {
  const T sum = static_cast<T>(a + b);
  const T d = static_cast<T>(sum + c);
  carry = sum < a || d < sum;
  return d;
}
template <class T> [[gnu::always_inline]] inline T minus(T a, T b, bool c, bool &borrow) {
  const T difference = static_cast<T>(a - b);
  borrow = a < b || difference < T(c);
  return static_cast<T>(difference - c);
}
template <class T> [[gnu::always_inline]] inline T plusClamped(T a, T b, bool c, bool &carry) {
  const T d = plus(a, b, c, carry);
  return carry ? static_cast<T>(~T(0)) : d;
}
template <class T> [[gnu::always_inline]] inline T minusClamped(T a, T b, bool c, bool &borrow) {
  const T d = minus(a, b, c, borrow);
  return borrow ? T(0) : d;
}

constexpr auto add = [](u32 a, u32 b, MaskOut &c) { return plus(a, b, false, c.set); };
constexpr auto addWithCarry = [](u32 a, u32 b, MaskIn in, MaskOut &c) { return plus(a, b, in.set, c.set); };
constexpr auto subtract = [](u32 a, u32 b, MaskOut &c) { return minus(a, b, false, c.set); };
constexpr auto subtractWithBorrow = [](u32 a, u32 b, MaskIn in, MaskOut &c) { return minus(a, b, in.set, c.set); };

/// 64-bit additions and subtractions: `Low` on the low halves, then `High`, which takes its carry, on the high ones.
/// The carry stays in host registers.
template <auto Low, auto High, unsigned UniformLow, unsigned UniformHigh> const Inst *carried(Wave &w, const Inst *i) {
  if (activeLanes(w) != kAllLanes) [[unlikely]]
    [[clang::musttail]] return i->row->handler(w, i);
  const Inst *second = i->next();
  using L = typename LoopOf<Low>::type;
  using H = typename LoopOf<High>::type;
  LaneArgs low, high;
  u32 same[4][kRow + 1], carry[N];
  L::template source<0, UniformLow>(w, *i, low, same[0]);
  L::template source<1, UniformLow>(w, *i, low, same[1]);
  H::template source<0, UniformHigh>(w, *second, high, same[2]);
  H::template source<1, UniformHigh>(w, *second, high, same[3]);
  u32 *dLow = w.v[i->dst], *dHigh = w.v[second->dst];
#pragma clang loop vectorize(assume_safety) vectorize_width(kVectorLanes)
  for (unsigned n = 0; n < N; ++n) {
    MaskOut between, out;
    // In this order: the second instruction may read what the first has written.
    dLow[n] = Low(low.s[0][UniformLow & 1 ? 0 : n], low.s[1][n], between);
    dHigh[n] = High(high.s[0][UniformHigh & 1 ? 0 : n], high.s[1][n], MaskIn{between.set}, out);
    carry[n] = out.set ? ~0u : 0;
  }
  setMask(w, second->sdst, compressMask(carry));
  LUTHIER_THREAD(w, second);
}
template <auto Low, auto High> constexpr Fusion carriedInto(std::string_view second) {
  return {second,
          {carried<Low, High, 0, 0>, carried<Low, High, 1, 0>, carried<Low, High, 0, 1>, carried<Low, High, 1, 1>}};
}
constexpr Fusion kWideAdd = carriedInto<add, addWithCarry>("v_addc_co_u32");
constexpr Fusion kWideSubtract = carriedInto<subtract, subtractWithBorrow>("v_subb_co_u32");
constexpr Row fused(Row row, const Fusion *fusion) {
  if constexpr (!kBitcode)
    row.fusion = fusion;
  return row;
}

constexpr Row kRows[] = {
    // f32, so that abs and neg apply; a select does not touch the bits.
    op<[](f32 a, f32 b, MaskIn m) { return m.set ? b : a; }>("v_cndmask_b32"),

    op<[](f32 a, f32 b) { return a + b; }>("v_add_f32"),
    op<[](f32 a, f32 b) { return a - b; }>("v_sub_f32"),
    op<[](f32 a, f32 b) { return b - a; }>("v_subrev_f32"),
    op<[](f32 a, f32 b) { return a * b; }>("v_mul_f32"),
    op<[](f32 a, f32 b, Mode m) { return minimum(a, b, m); }>("v_min_f32"),
    op<[](f32 a, f32 b, Mode m) { return maximum(a, b, m); }>("v_max_f32"),
    op<[](f32 a, f32 b, f32 c) { return mad(a, b, c); }>("v_mac_f32", kAccumulates).chosen(why::kMad),
    op<[](f32 a, f32 b, f32 c) { return mad(a, b, c); }>("v_madmk_f32").chosen(why::kMad),
    op<[](f32 a, f32 b, f32 c) { return mad(a, b, c); }>("v_madak_f32").chosen(why::kMad),
    op<[](f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }>("v_fmac_f32", kAccumulates),
    op<[](f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }>("v_fmamk_f32"),
    op<[](f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }>("v_fmaak_f32"),
    op<[](f64 a, f64 b, f64 c) { return __builtin_fma(a, b, c); }>("v_fmac_f64", kAccumulates),
    op<[](f32 a, f32 b, f32 c) {
      const bool zero = flushed(a) == 0.0f || flushed(b) == 0.0f;
      return zero ? 0.0f + flushed(c) : mad(a, b, c);
    }>("v_mac_legacy_f32", kAccumulates)
        .chosen(why::kMad),
    op<[](f32 a, f32 b, f32 c) { return fmaZero(a, b, c); }>("v_fmac_legacy_f32", kAccumulates),
    op<[](f16 a, f16 b, f16 c) { return fma16(a, b, c); }>("v_fmac_f16", kAccumulates),
    op<[](f16 a, f16 b, f16 c) { return fma16(a, b, c); }>("v_fmamk_f16"),
    op<[](f16 a, f16 b, f16 c) { return fma16(a, b, c); }>("v_fmaak_f16"),
    // gfx12: minimumNumber and maximumNumber of IEEE 754-2019.
    op<[](f32 a, f32 b) { return leastNumber(a, b); }>("v_min_num_f32"),
    op<[](f32 a, f32 b) { return greatestNumber(a, b); }>("v_max_num_f32"),
    op<[](f16 a, f16 b) { return leastNumber(a, b); }>("v_min_num_f16"),
    op<[](f16 a, f16 b) { return greatestNumber(a, b); }>("v_max_num_f16"),
    op<[](f64 a, f64 b) { return leastNumber(a, b); }>("v_min_num_f64"),
    op<[](f64 a, f64 b) { return greatestNumber(a, b); }>("v_max_num_f64"),

    op<[](f16 a, f16 b) { return static_cast<f16>(a + b); }>("v_add_f16"),
    op<[](f16 a, f16 b) { return static_cast<f16>(a - b); }>("v_sub_f16"),
    op<[](f16 a, f16 b) { return static_cast<f16>(b - a); }>("v_subrev_f16"),
    op<[](f16 a, f16 b) { return static_cast<f16>(a * b); }>("v_mul_f16"),
    op<[](f16 a, f16 b, Mode m) { return minimum(a, b, m); }>("v_min_f16"),
    op<[](f16 a, f16 b, Mode m) { return maximum(a, b, m); }>("v_max_f16"),
    op<[](f16 a, f16 b, f16 c) { return mad(a, b, c); }>("v_mac_f16", kAccumulates).chosen(why::kMad),
    op<[](f16 a, f16 b, f16 c) { return mad(a, b, c); }>("v_madmk_f16").chosen(why::kMad),
    op<[](f16 a, f16 b, f16 c) { return mad(a, b, c); }>("v_madak_f16").chosen(why::kMad),
    op<[](f16 a, i16 b) {
      // Beyond 40 every f16 overflows or vanishes; up to it f32 is exact.
      const i32 n = b > 41 ? 41 : b < -41 ? -41 : b;
      return static_cast<f16>(static_cast<f32>(a) * bits<f32>(static_cast<u32>(n + 127) << 23));
    }>("v_ldexp_f16"),
    op<[](Half2 a, Half2 b, Half2 c) { return Half2{fma16(a.low, b.low, c.low), fma16(a.high, b.high, c.high)}; }>(
        "v_pk_fmac_f16", kAccumulates),
    // Denormals are flushed whatever MODE says, f16 ones by hand: they are normal numbers in f32.
    opFixedMode<[](Half2 a, Half2 b, f32 c) {
      const f32 low = static_cast<f32>(flushed(a.low)) * static_cast<f32>(flushed(b.low));
      const f32 high = static_cast<f32>(flushed(a.high)) * static_cast<f32>(flushed(b.high));
      return low + high + c;
    }>("v_dot2c_f32_f16", kAccumulates)
        .chosen(why::kDot),
    withRule(looped("v_dot2acc_f32_f16", dot2Lanes<HalfFormat>, Type::F32, Type::PkF16, Type::PkF16, Type::F32,
                    kAccumulates),
             isa::MatrixFormat::DotF16)
        .chosen(why::kDot),

    opClamp<[](u32 a, u32 b) { return low24(a) * low24(b); },
            [](u32 a, u32 b) {
              const u64 d = u64(low24(a)) * low24(b);
              return u32(d < 0xffffffff ? d : 0xffffffff);
            }>("v_mul_u32_u24"),
    opClamp<[](i32 a, i32 b) { return static_cast<i32>(static_cast<u32>(low24(a)) * static_cast<u32>(low24(b))); },
            [](i32 a, i32 b) {
              const i64 d = i64(low24(a)) * low24(b);
              return static_cast<i32>(d > 0x7fffffff ? 0x7fffffff : d < -0x80000000ll ? -0x80000000ll : d);
            }>("v_mul_i32_i24"),
    op<[](u32 a, u32 b) { return u32(u64(low24(a)) * low24(b) >> 32); }>("v_mul_hi_u32_u24"),
    op<[](i32 a, i32 b) { return i32(i64(low24(a)) * low24(b) >> 32); }>("v_mul_hi_i32_i24"),
    dotRow<16>("v_dot2c_i32_i16"),
    dotRow<8>("v_dot4c_i32_i8"),
    dotRow<4>("v_dot8c_i32_i4"),

    op<[](i32 a, i32 b) { return a < b ? a : b; }>("v_min_i32"),
    op<[](i32 a, i32 b) { return a >= b ? a : b; }>("v_max_i32"),
    op<[](u32 a, u32 b) { return a < b ? a : b; }>("v_min_u32"),
    op<[](u32 a, u32 b) { return a >= b ? a : b; }>("v_max_u32"),
    op<[](i16 a, i16 b) { return a < b ? a : b; }>("v_min_i16"),
    op<[](i16 a, i16 b) { return a >= b ? a : b; }>("v_max_i16"),
    op<[](u16 a, u16 b) { return a < b ? a : b; }>("v_min_u16"),
    op<[](u16 a, u16 b) { return a >= b ? a : b; }>("v_max_u16"),

    op<[](u32 a, u32 b) { return b >> (a & 31); }>("v_lshrrev_b32"),
    op<[](i32 a, i32 b) { return b >> (a & 31); }>("v_ashrrev_i32"),
    op<[](u32 a, u32 b) { return b << (a & 31); }>("v_lshlrev_b32"),
    op<[](u16 a, u16 b) { return u16(u32(b) >> (a & 15)); }>("v_lshrrev_b16"),
    op<[](i16 a, i16 b) { return i16(i32(b) >> (a & 15)); }>("v_ashrrev_i16"),
    op<[](u16 a, u16 b) { return u16(u32(b) << (a & 15)); }>("v_lshlrev_b16"),
    op<[](u32 a, u32 b) { return a & b; }>("v_and_b32"),
    op<[](u32 a, u32 b) { return a | b; }>("v_or_b32"),
    op<[](u32 a, u32 b) { return a ^ b; }>("v_xor_b32"),
    op<[](u32 a, u32 b) { return ~(a ^ b); }>("v_xnor_b32"),

    fused(opClamp<add, [](u32 a, u32 b, MaskOut &c) { return plusClamped(a, b, false, c.set); }>("v_add_co_u32"),
          &kWideAdd),
    fused(opClamp<subtract, [](u32 a, u32 b, MaskOut &c) { return minusClamped(a, b, false, c.set); }>("v_sub_co_u32"),
          &kWideSubtract),
    opClamp<[](u32 a, u32 b, MaskOut &c) { return minus(b, a, false, c.set); },
            [](u32 a, u32 b, MaskOut &c) { return minusClamped(b, a, false, c.set); }>("v_subrev_co_u32"),
    opClamp<addWithCarry, [](u32 a, u32 b, MaskIn in, MaskOut &c) { return plusClamped(a, b, in.set, c.set); }>(
        "v_addc_co_u32"),
    opClamp<subtractWithBorrow, [](u32 a, u32 b, MaskIn in, MaskOut &c) { return minusClamped(a, b, in.set, c.set); }>(
        "v_subb_co_u32"),
    // The manual's borrow of v_subbrev has the operands of v_subb; LLVM expects that of the subtraction.
    opClamp<[](u32 a, u32 b, MaskIn in, MaskOut &c) { return minus(b, a, in.set, c.set); },
            [](u32 a, u32 b, MaskIn in, MaskOut &c) { return minusClamped(b, a, in.set, c.set); }>("v_subbrev_co_u32")
        .documented("the manual's borrow has the operands of v_subb; that of the subtraction, as LLVM expects"),

    opClamp<[](u32 a, u32 b) { return a + b; },
            [](u32 a, u32 b) {
              bool c;
              return plusClamped(a, b, false, c);
            }>("v_add_u32"),
    opClamp<[](u32 a, u32 b) { return a - b; },
            [](u32 a, u32 b) {
              bool c;
              return minusClamped(a, b, false, c);
            }>("v_sub_u32"),
    opClamp<[](u32 a, u32 b) { return b - a; },
            [](u32 a, u32 b) {
              bool c;
              return minusClamped(b, a, false, c);
            }>("v_subrev_u32"),
    opClamp<[](u16 a, u16 b) { return u16(a + b); },
            [](u16 a, u16 b) {
              bool c;
              return plusClamped(a, b, false, c);
            }>("v_add_u16"),
    opClamp<[](u16 a, u16 b) { return u16(a - b); },
            [](u16 a, u16 b) {
              bool c;
              return minusClamped(a, b, false, c);
            }>("v_sub_u16"),
    opClamp<[](u16 a, u16 b) { return u16(b - a); },
            [](u16 a, u16 b) {
              bool c;
              return minusClamped(b, a, false, c);
            }>("v_subrev_u16"),
    opClamp<[](u16 a, u16 b) { return u16(u32(a) * b); },
            [](u16 a, u16 b) { return u16(u32(a) * b > 0xffff ? 0xffff : u32(a) * b); }>("v_mul_lo_u16"),
};

} // namespace

std::span<const Row> vop2Rows() { return kRows; }

} // namespace luthier::vgpu::LUTHIER_VGPU_LEVEL
