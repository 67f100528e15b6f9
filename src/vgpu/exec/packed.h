// VOP3P: from a lane function over one element to a packed instruction.
//
//     packed<[](f16 a, f16 b) { return a + b; }>("v_pk_add_f16")
//
// makes a row that applies the function to both halves of its sources. Sources whose halves are where they belong
// (op_sel all 0, op_sel_hi all 1, nothing negated) go straight into the lane loop. All else takes packedGeneral, which
// first moves halves to where the loop expects them. The decoder says in `Inst::imm` which it is.
//
// Packed f32 works on register pairs; there, selecting a half is only a matter of which register is read.
#pragma once

#include "vgpu/exec/arith.h"
#include "vgpu/exec/valu.h"

namespace luthier::vgpu::LUTHIER_VGPU_LEVEL {

/// Executes any packed row, with op_sel, op_sel_hi, neg_lo, neg_hi and clamp as the instruction says, and in the modes
/// that the plain handlers leave to it.
const Inst *packedGeneral(Wave &w, const Inst *i);

/// What a lane function over 16-bit elements becomes as one over dwords.
template <auto F, class Result, class List> struct Halves;
template <auto F, class Result, class... A> struct Halves<F, Result, ArgList<A...>> {
  template <class T> [[gnu::always_inline]] static T half(u32 x, unsigned shift) {
    return bits<T>(static_cast<u16>(x >> shift));
  }
  template <class T, class X> [[gnu::always_inline]] static decltype(auto) element(X x, unsigned shift) {
    if constexpr (std::is_same_v<T, Mode>)
      return x;
    else
      return half<T>(x, shift);
  }
  template <class... X> [[gnu::always_inline]] static u32 apply(unsigned shift, X... x) {
    [[clang::always_inline]] return bits<u16>(static_cast<Result>(F(element<A>(x, shift)...)));
  }
  template <class... X> [[gnu::always_inline]] static u32 both(X... x) {
    return apply(0, x...) | apply(16, x...) << 16;
  }
  static constexpr unsigned values = (unsigned(isValue<A>) + ... + 0u);
  static constexpr bool usesMode = (std::is_same_v<A, Mode> || ...);
};

template <auto F> struct HalvesOf {
  using S = typename LoopOf<F>::S;
  using H = Halves<F, typename S::Result, typename S::template Args<ArgList>>;
  static constexpr auto lane() {
    if constexpr (H::values == 3)
      return [](u32 a, u32 b, u32 c) { return H::both(a, b, c); };
    else if constexpr (H::usesMode)
      return [](u32 a, u32 b, Mode m) { return H::both(a, b, m); };
    else
      return [](u32 a, u32 b) { return H::both(a, b); };
  }
  using L = typename LoopOf<lane()>::type;
  static constexpr bool isHalf = std::is_same_v<typename S::Result, f16>;

  static const Inst *handler(Wave &w, const Inst *i) {
    if (i->imm) [[unlikely]]
      return packedGeneral(w, i);
    if constexpr (isHalf)
      if ((w.mode & (mode::kDenormF64 | mode::kFp16Overflow)) != mode::kDenormF64) [[unlikely]]
        return packedGeneral(w, i);
    return L::handler(w, i);
  }
};

/// A row for the function F over 16-bit elements.
template <auto F> constexpr Row packed(std::string_view mnemonic) {
  using P = HalvesOf<F>;
  using Result = typename P::S::Result;
  Row row = op<P::lane()>(mnemonic);
  row.handler = &P::handler;
  row.threaded = nullptr;
  row.attempt = nullptr;
  row.dst = P::isHalf ? Type::PkF16 : std::is_same_v<Result, i16> ? Type::PkI16 : Type::PkU16;
  for (unsigned n = 0; n < P::H::values; ++n)
    row.src[n] = row.dst;
  return row;
}
/// The same for an integer instruction, with the function for when its clamp bit is set.
template <auto F, auto Clamped> constexpr Row packedClamp(std::string_view mnemonic) {
  Row row = packed<F>(mnemonic);
  row.clamped = &HalvesOf<Clamped>::L::run;
  return row;
}

/// A dword of a source that is a scalar register or a constant.
[[gnu::always_inline]] inline u32 uniformDword(const Wave &w, const Inst &i, unsigned n, unsigned half) {
  return i.srcKind[n] == SrcKind::Scalar ? w.s[i.src[n].reg + half] : i.src[n].lanes[half * kRow];
}
/// The low or the high dwords of source n, for translated code.
[[gnu::always_inline]] inline void copyPair(const Wave &w, const Inst &i, unsigned n, bool high, u32 *to) {
  if (i.srcKind[n] == SrcKind::Vgpr) {
    memcpy(to, w.v[i.src[n].reg + (high ? 1 : 0)], N * sizeof(u32));
    return;
  }
  const u32 value = uniformDword(w, i, n, high ? 1 : 0);
  for (unsigned lane = 0; lane < N; ++lane)
    to[lane] = value;
}

/// Packed f32.
template <auto F, class List> struct Pairs;
template <auto F, class... A> struct Pairs<F, ArgList<A...>> {
  static constexpr unsigned values = sizeof...(A);

  /// `low` and `high`: where the sources of the two results are.
  template <bool Masked, size_t... I>
  [[gnu::always_inline]] static void lanes(u32 *d, const u32 *const *low, const u32 *const *high, const u32 *mask,
                                           std::index_sequence<I...>) {
    // Both results of a lane before either is written: with op_sel, the high one may read what the low one overwrites.
#pragma clang loop vectorize(assume_safety)
    for (unsigned n = 0; n < N; ++n) {
      const f32 x = F(Lane<A>::get(low[I], n)...), y = F(Lane<A>::get(high[I], n)...);
      if constexpr (Masked) {
        putMasked<f32>(d, n, x, mask[n]);
        putMasked<f32>(d + kRow, n, y, mask[n]);
      } else {
        Lane<f32>::put(d, n, x);
        Lane<f32>::put(d + kRow, n, y);
      }
    }
  }
  static void run(const LaneArgs &args) {
    const u32 *high[values];
    for (unsigned n = 0; n < values; ++n)
      high[n] = args.s[n] + kRow;
    lanes<false>(args.d, args.s, high, nullptr, std::index_sequence_for<A...>());
  }

  [[gnu::noinline]] static const Inst *handler(Wave &w, const Inst *i) {
    if (i->imm & kPackedModifies) [[unlikely]]
      return packedGeneral(w, i);
    const u32 *low[values], *high[values];
    for (unsigned n = 0; n < values; ++n) {
      const u32 *source = sourceLanes<true>(w, *i, n);
      low[n] = source + (i->srcMods[n] & kOpSel ? kRow : 0);
      high[n] = source + (i->srcMods[n] & kOpSelHi ? kRow : 0);
    }
    if (activeLanes(w) == kAllLanes) [[likely]]
      lanes<false>(w.v[i->dst], low, high, nullptr, std::index_sequence_for<A...>());
    else
      lanes<true>(w.v[i->dst], low, high, execLanes(w), std::index_sequence_for<A...>());
    return i->next();
  }

  /// No op_sel, no modifier, EXEC full.
  template <unsigned Uniform> static const Inst *threaded(Wave &w, const Inst *i) {
    if (activeLanes(w) != kAllLanes || i->imm) [[unlikely]]
      [[clang::musttail]] return handler(w, i);
    const u32 *s[values];
    u32 same[values][kRow + 1]; // in host registers
    for (unsigned k = 0; k < values; ++k) {
      if (Uniform >> k & 1) {
        const u64 value = uniformSource<true>(w, *i, k);
        same[k][0] = static_cast<u32>(value);
        same[k][kRow] = static_cast<u32>(value >> 32);
        s[k] = same[k];
      } else {
        s[k] = w.v[i->src[k].reg];
      }
    }
    threadedLanes<Uniform>(w.v[i->dst], s, std::index_sequence_for<A...>());
    LUTHIER_THREAD(w, i);
  }
  template <unsigned Uniform, size_t... I>
  [[gnu::always_inline]] static void threadedLanes(u32 *d, const u32 *const *s, std::index_sequence<I...>) {
#pragma clang loop vectorize(assume_safety)
    for (unsigned n = 0; n < N; ++n) {
      const f32 x = F(Lane<A>::get(s[I], Uniform >> I & 1 ? 0 : n)...);
      const f32 y = F(Lane<A>::get(s[I] + kRow, Uniform >> I & 1 ? 0 : n)...);
      Lane<f32>::put(d, n, x);
      Lane<f32>::put(d + kRow, n, y);
    }
  }
  /// For translated code: no modifier but op_sel. See Loop::attempt.
  static bool attempt(Wave &w, const Inst *i) {
    if (i->imm & kPackedModifies)
      return false;
    alignas(64) u32 sources[values][2 * kRow], result[2 * kRow], active[N];
    const u32 *low[values], *high[values];
    unsigned registers = 0;
    bool shared = false;
    for (unsigned k = 0; k < values; ++k) {
      copyPair(w, *i, k, i->srcMods[k] & kOpSel, sources[k]);
      copyPair(w, *i, k, i->srcMods[k] & kOpSelHi, sources[k] + kRow);
      low[k] = sources[k];
      high[k] = sources[k] + kRow;
      if (i->srcKind[k] == SrcKind::Vgpr)
        ++registers;
      else
        shared |= isNanF32(uniformDword(w, *i, k, 0)) || isNanF32(uniformDword(w, *i, k, 1));
    }
    for (unsigned k = 0; k < values; ++k)
      hideVectors(sources[k], 2 * kRow);
    lanes<false>(result, low, high, nullptr, std::index_sequence_for<A...>());
    expandMask(activeLanes(w), active);
    if ((registers > 1 || shared) && (anyNanF32(result, active) || anyNanF32(result + kRow, active)))
      return false;
    putActive(w.v[i->dst], result, active);
    putActive(w.v[i->dst + 1], result + kRow, active);
    return true;
  }

  template <unsigned Uniform> static constexpr Handler threadedFor() {
    if constexpr (Uniform < 1u << values && Uniform + 1 != 1u << values)
      return &threaded<Uniform>;
    else
      return nullptr;
  }
  static constexpr Handler kThreaded[8] = {threadedFor<0>(), threadedFor<1>(), threadedFor<2>(), threadedFor<3>(),
                                           threadedFor<4>(), threadedFor<5>(), threadedFor<6>(), threadedFor<7>()};
};

/// A row for the function F over f32 elements.
template <auto F> constexpr Row packedF32(std::string_view mnemonic) {
  using P = Pairs<F, typename LoopOf<F>::S::template Args<ArgList>>;
  Row row{};
  row.mnemonic = mnemonic;
  if constexpr (kBitcode) {
    row.attempt = &P::attempt;
  } else {
    row.handler = &P::handler;
    row.loop = &P::run;
    row.threaded = P::kThreaded;
  }
  row.dst = Type::PkF32;
  for (unsigned n = 0; n < P::values; ++n)
    row.src[n] = Type::PkF32;
  return row;
}

/// Sets the host's floating-point mode (MXCSR) for a scope, for instructions that ignore MODE. The barriers keep
/// arithmetic inside: what it reads and writes is memory.
class [[nodiscard]] HostMode {
public:
  static constexpr u32 kNearest = 0x1f80, kFlush = 0x8040;

  [[gnu::always_inline]] explicit HostMode(u32 mxcsr) : saved_(__builtin_ia32_stmxcsr()) {
    __builtin_ia32_ldmxcsr(mxcsr);
    asm volatile("" ::: "memory");
  }
  [[gnu::always_inline]] ~HostMode() {
    asm volatile("" ::: "memory");
    __builtin_ia32_ldmxcsr(saved_);
  }
  HostMode(const HostMode &) = delete;
  HostMode &operator=(const HostMode &) = delete;

private:
  u32 saved_;
};

} // namespace luthier::vgpu::LUTHIER_VGPU_LEVEL
