// From a lane function to a vector instruction.
//
// A row of a vector instruction is written as a lambda over the values of one lane:
//
//     op<[](f32 a, f32 b) { return a + b; }>("v_add_f32")
//
// The lambda's parameter types are the operand types. MaskIn reads a lane mask, MaskOut & writes one, LaneId is the
// lane's number, Mode the MODE register. A handler for the plain case (no modifiers) has the lane loop inline, once for
// a full EXEC and once for a partial one; the general path (valu.cc) calls the loop through the row. The case that
// nearly all execution is, the plain one with EXEC full, has threaded handlers as well, one for each way in which
// sources are registers or the same in all lanes: they neither look at operand kinds nor call anything, so that they
// need no stack, and a value that all lanes share is broadcast in a host register.
#pragma once

#include "vgpu/exec/lanes.h"

#include <cstddef>
#include <type_traits>

namespace luthier::vgpu::LUTHIER_VGPU_LEVEL {

/// Executes any row that has a lane loop, with SDWA, DPP, op_sel, abs, neg, omod and clamp as the instruction says, and
/// in the modes that the plain handlers leave to it.
const Inst *general(Wave &w, const Inst *i);

/// Moves the lanes of source 0 as DPP says, from `from` to `to`; `writable` keeps those whose result may be written.
/// False for a control that does not exist.
bool applyDpp(Wave &w, const Inst &i, const u32 *from, u32 *to, bool wide, u64 &writable);

// Modifiers that translated code knows as well.

/// abs, then neg, on the sign bit of a floating-point source.
[[gnu::always_inline]] inline void applySign(Type type, u8 mods, u32 *x) {
  const unsigned high = type == Type::F64 ? kRow : 0;
  const u32 sign = type == Type::F16 ? 0x8000u : 0x80000000u;
  for (unsigned n = 0; n < N; ++n) {
    u32 y = x[high + n];
    if (mods & kAbs)
      y &= ~sign;
    if (mods & kNeg)
      y ^= sign;
    x[high + n] = y;
  }
}

/// Clamps to [0, 1]; NaN becomes 0 under DX10_CLAMP.
template <class T> [[gnu::always_inline]] inline void applyClamp(bool dx10, u32 *d) {
  for (unsigned n = 0; n < N; ++n) {
    const T x = Lane<T>::get(d, n);
    const T y = x > T(0) ? (x > T(1) ? T(1) : x) : T(0);
    Lane<T>::put(d, n, x != x && !dx10 ? x : y);
  }
}

template <class F> struct Signature;
template <class C, class R, class... A> struct Signature<R (C::*)(A...) const> {
  using Result = R;
  template <template <class...> class T> using Args = T<A...>;
};

template <class... A> struct ArgList {
  static constexpr size_t size = sizeof...(A);
};

template <class A>
inline constexpr bool isValue = !std::is_same_v<A, MaskIn> && !std::is_same_v<A, MaskOut &> &&
                                !std::is_same_v<A, LaneId> && !std::is_same_v<A, Mode>;

/// The number of value operands before parameter `I`: which source it is.
template <class... A> constexpr unsigned valuesBefore(unsigned index) {
  constexpr bool values[] = {isValue<A>..., false};
  unsigned count = 0;
  for (unsigned i = 0; i < index; ++i)
    count += values[i];
  return count;
}

// For translated code.

/// Keeps the optimiser from knowing values: it would compute with those that it knows, in a mode that is not the
/// guest's.
[[gnu::always_inline]] inline void hideVectors(u32 *lanes, unsigned count) {
  typedef u32 Vec __attribute__((vector_size(4 * kVectorLanes)));
  for (unsigned n = 0; n < count; n += kVectorLanes) {
    Vec x;
    memcpy(&x, lanes + n, sizeof x);
    asm("" : "+v"(x));
    memcpy(lanes + n, &x, sizeof x);
  }
}

[[gnu::always_inline]] inline bool isNanF32(u32 bits) { return (bits & 0x7fffffff) > 0x7f800000; }

/// Whether an active lane of f32 is no number.
[[gnu::always_inline]] inline bool anyNanF32(const u32 *lanes, const u32 *active) {
  typedef u32 Vec __attribute__((vector_size(4 * kVectorLanes)));
  typedef f32 Floats __attribute__((vector_size(4 * kVectorLanes)));
  Vec any{};
  for (unsigned n = 0; n < N; n += kVectorLanes) {
    Floats x;
    Vec mask;
    memcpy(&x, lanes + n, sizeof x);
    memcpy(&mask, active + n, sizeof mask);
    any |= (Vec)(x != x) & mask;
  }
  return __builtin_reduce_or(any) != 0;
}

/// `Uniform`: of sources with their bit set, lane 0 stands for all.
template <class A, unsigned SrcIndex, unsigned Uniform>
[[gnu::always_inline]] inline decltype(auto) laneArgument(const LaneArgs &args, unsigned i, MaskOut &out) {
  if constexpr (std::is_same_v<A, MaskIn>)
    return MaskIn{args.in[i] != 0};
  else if constexpr (std::is_same_v<A, MaskOut &>)
    return (out);
  else if constexpr (std::is_same_v<A, LaneId>)
    return LaneId{i};
  else if constexpr (std::is_same_v<A, Mode>)
    return Mode{args.mode};
  else
    return Lane<A>::get(args.s[SrcIndex], Uniform >> SrcIndex & 1 ? 0 : i);
}

/// Writes a result to lane i of `d`, where the dword mask `m` says so.
template <class T> [[gnu::always_inline]] inline void putMasked(u32 *d, unsigned i, const T &x, u32 m) {
  if constexpr (sizeof(T) == 8) {
    const u64 y = bits<u64>(x);
    d[i] = m ? static_cast<u32>(y) : d[i];
    d[i + kRow] = m ? static_cast<u32>(y >> 32) : d[i + kRow];
  } else {
    u32 y = sizeof(T) == 2 ? d[i] : 0;
    Lane<T>::put(&y, 0, x);
    d[i] = m ? y : d[i];
  }
}

template <auto F, class Result, class List> struct Loop;
template <auto F, class Result, class... A> struct Loop<F, Result, ArgList<A...>> {
  static constexpr bool compares = std::is_same_v<Result, bool>;
  static constexpr bool writesMask = (std::is_same_v<A, MaskOut &> || ...);
  static constexpr bool readsMask = (std::is_same_v<A, MaskIn> || ...);
  template <class T> static constexpr bool isF16 = std::is_same_v<T, f16> || std::is_same_v<T, Half2>;
  static constexpr bool usesF16 = isF16<Result> || (isF16<A> || ...);
  static constexpr unsigned values = (unsigned(isValue<A>) + ... + 0u);

  template <unsigned Uniform, size_t... I>
  [[gnu::always_inline]] static Result lane(const LaneArgs &args, unsigned i, MaskOut &out, std::index_sequence<I...>) {
    [[clang::always_inline]] return F(laneArgument<A, valuesBefore<A...>(I), Uniform>(args, i, out)...);
  }

  /// `mask`: which lanes of `d` are written, a dword per lane; null for all.
  template <bool Masked, unsigned Uniform = 0>
  [[gnu::always_inline]] static void lanes(const LaneArgs &args, const u32 *mask) {
    // Lanes are independent: a destination that is also a source overlaps only lane by lane.
#pragma clang loop vectorize(assume_safety) vectorize_width(kVectorLanes)
    for (unsigned i = 0; i < N; ++i) {
      MaskOut out;
      const Result result = lane<Uniform>(args, i, out, std::index_sequence_for<A...>());
      if constexpr (writesMask)
        args.out[i] = out.set ? ~0u : 0;
      if constexpr (compares)
        args.out[i] = result ? ~0u : 0;
      else if constexpr (Masked)
        putMasked<Result>(args.d, i, result, mask[i]);
      else
        Lane<Result>::put(args.d, i, result);
    }
  }
  static void run(const LaneArgs &args) { lanes<false>(args, nullptr); }

  template <unsigned K> static constexpr Type sourceType() {
    Type type = Type::None;
    unsigned k = 0;
    ((isValue<A> ? (k++ == K ? (type = typeOf<A>(), 0) : 0) : 0), ...);
    return type;
  }
  template <class T> static constexpr Type typeOf() {
    if constexpr (std::is_same_v<T, bool>)
      return Type::Mask;
    else if constexpr (isValue<T>)
      return Lane<T>::type;
    else
      return Type::None;
  }
  template <unsigned K> static constexpr bool wide() { return is64(sourceType<K>()); }

  /// The plain case: no modifier, sources straight from registers.
  [[gnu::noinline]] static const Inst *handler(Wave &w, const Inst *i) {
    if constexpr (usesF16)
      if ((w.mode & (mode::kDenormF64 | mode::kFp16Overflow)) != mode::kDenormF64) [[unlikely]]
        return general(w, i);
    LaneArgs args;
    u32 in[readsMask ? N : 1], out[compares || writesMask ? N : 1]; // here, so that they stay in host registers
    if constexpr (values > 0)
      args.s[0] = sourceLanes<wide<0>()>(w, *i, 0);
    if constexpr (values > 1)
      args.s[1] = sourceLanes<wide<1>()>(w, *i, 1);
    if constexpr (values > 2)
      args.s[2] = sourceLanes<wide<2>()>(w, *i, 2);
    if constexpr (readsMask) {
      // The mask is the source after the values, VCC when the row reads VCC beside three sources (v_div_fmas).
      expandMask(values < 3 ? scalarSource(w, *i, values) : maskAt(w, kVcc), in);
      args.in = in;
    }
    args.out = out;
    args.mode = w.mode;
    const u64 exec = activeLanes(w);
    if constexpr (compares) {
      lanes<false>(args, nullptr);
      const u64 mask = compressMask(args.out) & exec;
      setMask(w, i->sdst, mask);
      if (i->row->traits & kWritesExec)
        setMask(w, kExec, mask);
    } else {
      args.d = w.v[i->dst];
      if (exec == kAllLanes) [[likely]]
        lanes<false>(args, nullptr);
      else
        lanes<true>(args, execLanes(w));
      if constexpr (writesMask)
        setMask(w, i->sdst, compressMask(args.out) & exec);
    }
    return i->next();
  }

  /// The plain case with EXEC full and sources that are VGPRs or, where `Uniform` has their bit, SGPRs or constants.
  template <unsigned Uniform> static const Inst *threaded(Wave &w, const Inst *i) {
    if constexpr (usesF16)
      if ((w.mode & (mode::kDenormF64 | mode::kFp16Overflow)) != mode::kDenormF64) [[unlikely]]
        [[clang::musttail]] return handler(w, i);
    const u64 exec = activeLanes(w);
    if constexpr (!compares)
      if (exec != kAllLanes) [[unlikely]]
        [[clang::musttail]] return handler(w, i);
    LaneArgs args;
    u32 in[readsMask ? N : 1], out[compares || writesMask ? N : 1], same[3][kRow + 1]; // all of it in host registers
    [&]<unsigned... K>(std::integer_sequence<unsigned, K...>) {
      (source<K, Uniform>(w, *i, args, same[K]), ...);
    }(std::make_integer_sequence<unsigned, values>());
    if constexpr (readsMask) {
      expandMask(values < 3 ? w.scalar64(i->src[values < 3 ? values : 0].reg) : maskAt(w, kVcc), in);
      args.in = in;
    }
    args.out = out;
    args.mode = w.mode;
    if constexpr (!compares)
      args.d = w.v[i->dst];
    lanes<false, Uniform>(args, nullptr);
    if constexpr (compares || writesMask)
      setMask(w, i->sdst, compressMask(args.out) & exec);
    LUTHIER_THREAD(w, i);
  }

  template <unsigned K, unsigned Uniform>
  [[gnu::always_inline]] static void source(Wave &w, const Inst &i, LaneArgs &args, u32 *same) {
    if constexpr (Uniform >> K & 1) {
      const u64 value = uniformSource<wide<K>()>(w, i, K);
      same[0] = static_cast<u32>(value);
      same[kRow] = static_cast<u32>(value >> 32);
      args.s[K] = same;
    } else {
      args.s[K] = w.v[i.src[K].reg];
    }
  }

  /// The plain case, for the translator: `i` is a constant there, so that what looks like a choice is none. Sources are
  /// copied, which costs nothing where registers are values and not memory. Where EXEC is known to be full, so are
  /// masks.
  static bool attempt(Wave &w, const Inst *i) {
    if constexpr (usesF16)
      if ((w.mode & (mode::kDenormF64 | mode::kFp16Overflow)) != mode::kDenormF64)
        return false;
    LaneArgs args;
    alignas(64) u32 in[N], out[N], sources[3][2 * kRow], result[2 * kRow], active[N];
    const u64 exec = activeLanes(w);
    expandMask(exec, active);
    [&]<unsigned... K>(std::integer_sequence<unsigned, K...>) {
      (copySource<K>(w, *i, sources[K]), ...);
    }(std::make_integer_sequence<unsigned, values>());
    for (unsigned k = 0; k < 3; ++k)
      args.s[k] = sources[k];
    if constexpr (readsMask)
      expandMask(values < 3 ? w.scalar64(i->src[values < 3 ? values : 0].reg) : maskAt(w, kVcc), in);
    args.in = in;
    args.out = out;
    args.mode = w.mode;
    args.d = result;
    lanes<false>(args, nullptr);
    if (resultDependsOnOrder(w, *i, result, active) && anyLaneHasNans(sources, active))
      return false;
    if constexpr (takesModifiers(typeOf<Result>()))
      if (i->flags & kClamp)
        applyClamp<Result>(w.mode & mode::kDx10Clamp, result);
    if constexpr (!compares)
      for (unsigned half = 0; half < (is64(typeOf<Result>()) ? 2 : 1); ++half)
        putActive(w.v[i->dst + half], result + half * kRow, active);
    if constexpr (compares || writesMask)
      setMask(w, i->sdst, compressMask(out) & exec);
    if constexpr (compares)
      if (i->row->traits & kWritesExec)
        setMask(w, kExec, compressMask(out) & exec);
    return true;
  }

  /// Whether some active lane may have two sources or more that are no numbers. Which of them is returned depends on
  /// the order in which the host's instruction has them, and translated code leaves that to the optimiser. Such a
  /// lane's result is no number either.
  [[gnu::always_inline]] static bool resultDependsOnOrder(const Wave &w, const Inst &i, const u32 *result,
                                                          const u32 *active) {
    constexpr bool selects = readsMask && values == 2; // one of its sources as it is
    if constexpr (!isFloat(typeOf<Result>()) || values < 2 || selects)
      return false;
    unsigned registers = 0;
    bool shared = false; // by all lanes
    [&]<unsigned... K>(std::integer_sequence<unsigned, K...>) {
      (countNans<K>(w, i, registers, shared), ...);
    }(std::make_integer_sequence<unsigned, values>());
    return (registers > 1 || shared) && anyNan(result, active);
  }
  /// The thorough look: whether some active lane has two such sources, or one that may meet another in the middle of
  /// the operation, where an infinity has made it.
  [[gnu::always_inline]] static bool anyLaneHasNans(const u32 (&sources)[3][2 * kRow], const u32 *active) {
    u32 any = 0;
    for (unsigned i = 0; i < N; ++i)
      any |= weight<0>(sources[0], i) + weight<1>(sources[1], i) + weight<2>(sources[2], i) > 2 ? active[i] : 0;
    return any != 0;
  }
  /// 2 for no number, 1 for an infinity.
  template <unsigned K> [[gnu::always_inline]] static u32 weight(const u32 *source, unsigned i) {
    if constexpr (K >= values || !isFloat(sourceType<K>()))
      return 0;
    const u32 x = source[i], high = wide<K>() ? source[i + kRow] : 0;
    constexpr Type type = sourceType<K>();
    if constexpr (type == Type::F32)
      return u32((x & 0x7fffffff) > 0x7f800000) + u32((x & 0x7fffffff) >= 0x7f800000);
    else if constexpr (type == Type::F16)
      return u32((x & 0x7fff) > 0x7c00) + u32((x & 0x7fff) >= 0x7c00);
    else if constexpr (type == Type::F64)
      return u32((u64{high & 0x7fffffff} << 32 | x) > 0x7ff0000000000000) + u32((high & 0x7fffffff) >= 0x7ff00000);
    else
      return 3; // halves: not worth a look
  }

  template <unsigned K>
  [[gnu::always_inline]] static void countNans(const Wave &w, const Inst &i, unsigned &registers, bool &shared) {
    if (i.srcKind[K] == SrcKind::Vgpr)
      ++registers;
    else if (i.srcKind[K] == SrcKind::Scalar)
      shared |= isNanBits(sourceType<K>(), w.s[i.src[K].reg], wide<K>() ? w.s[i.src[K].reg + 1] : 0);
    else
      shared |= isNanBits(sourceType<K>(), i.src[K].lanes[0], i.src[K].lanes[kRow]);
  }
  [[gnu::always_inline]] static bool isNanBits(Type type, u32 low, u32 high) {
    return type == Type::F32   ? (low & 0x7fffffff) > 0x7f800000
           : type == Type::F16 ? (low & 0x7fff) > 0x7c00
           : type == Type::F64 ? (u64{high & 0x7fffffff} << 32 | low) > 0x7ff0000000000000
                               : false;
  }
  [[gnu::always_inline]] static bool anyNan(const u32 *result, const u32 *active) {
    if constexpr (typeOf<Result>() == Type::F32)
      return anyNanF32(result, active);
    u32 any = 0;
    for (unsigned i = 0; i < N; ++i) {
      const u32 x = result[i];
      const bool nan =
          isNanBits(typeOf<Result>(), x, is64(typeOf<Result>()) ? result[i + kRow] : 0) ||
          (typeOf<Result>() == Type::PkF16 && (isNanBits(Type::F16, x, 0) || isNanBits(Type::F16, x >> 16, 0)));
      any |= nan ? active[i] : 0;
    }
    return any != 0;
  }

  static constexpr bool takesModifiers(Type type) { return type == Type::F32 || type == Type::F64; }

  /// Any type of floating point: what the host computes depends on MXCSR.
  static constexpr bool computesFloat =
      isFloat(typeOf<Result>()) || isFloat(sourceType<0>()) || isFloat(sourceType<1>()) || isFloat(sourceType<2>());

  template <unsigned K> [[gnu::always_inline]] static void copySource(const Wave &w, const Inst &i, u32 *to) {
    constexpr unsigned kCount = wide<K>() ? 2 : 1;
    if (i.srcKind[K] == SrcKind::Vgpr) {
      memcpy(to, w.v[i.src[K].reg], kCount * kRow * sizeof(u32));
      if constexpr (computesFloat)
        hideVectors(to, kCount * kRow);
    } else {
      for (unsigned half = 0; half < kCount; ++half) {
        u32 value = i.srcKind[K] == SrcKind::Scalar ? w.s[i.src[K].reg + half] : i.src[K].lanes[half * kRow];
        if constexpr (computesFloat)
          asm("" : "+r"(value));
        for (unsigned n = 0; n < N; ++n)
          to[half * kRow + n] = value;
      }
    }
    if constexpr (takesModifiers(sourceType<K>()))
      if (i.srcMods[K] & (kAbs | kNeg)) {
        applySign(sourceType<K>(), i.srcMods[K], to);
        hideVectors(to, kCount * kRow); // which the optimiser would make part of an operation that keeps signs of NaNs
      }
  }

  template <unsigned Uniform> static constexpr Handler threadedFor() {
    // What compilers write. The short encodings have a scalar only as their first source, and compares are many.
    constexpr bool exists = Uniform < 1u << values;
    constexpr bool occurs = values == 3 ? Uniform != 5 && Uniform != 7 : Uniform != 3 && !(compares && Uniform == 2);
    if constexpr (exists && occurs)
      return &threaded<Uniform>;
    else
      return nullptr;
  }
  static constexpr Handler kThreaded[8] = {threadedFor<0>(), threadedFor<1>(), threadedFor<2>(), threadedFor<3>(),
                                           threadedFor<4>(), threadedFor<5>(), threadedFor<6>(), threadedFor<7>()};
};

template <auto F> struct LoopOf {
  using S = Signature<decltype(&decltype(F)::operator())>;
  using type = Loop<F, typename S::Result, typename S::template Args<ArgList>>;
};

/// A row for the lane function F.
template <auto F> constexpr Row op(std::string_view mnemonic, uint16_t traits = 0) {
  using S = typename LoopOf<F>::S;
  using L = typename LoopOf<F>::type;
  Row row{};
  row.mnemonic = mnemonic;
  if constexpr (kBitcode) {
    row.attempt = &L::attempt;
  } else {
    row.handler = &L::handler;
    row.loop = &L::run;
  }
  if constexpr (L::compares) {
    row.dst = Type::Mask;
    traits |= kWritesMask;
  } else {
    row.dst = Lane<typename S::Result>::type;
  }
  row.src[0] = L::template sourceType<0>();
  row.src[1] = L::template sourceType<1>();
  row.src[2] = L::template sourceType<2>();
  if (L::readsMask) {
    if (L::values < 3) {
      row.src[L::values] = Type::Mask;
      traits |= kReadsMask;
    } else {
      traits |= kReadsVcc;
    }
  }
  if (L::writesMask)
    traits |= kWritesMask;
  row.traits = traits;
  if constexpr (!kBitcode)
    if (!(traits & kWritesExec))
      row.threaded = L::kThreaded;
  return row;
}

/// The same for an integer instruction, with the lane function for when its clamp bit is set.
template <auto F, auto Clamped> constexpr Row opClamp(std::string_view mnemonic, uint16_t traits = 0) {
  Row row = op<F>(mnemonic, traits);
  if constexpr (!kBitcode)
    row.clamped = &LoopOf<Clamped>::type::run;
  return row;
}

/// A row with a lane loop that is more than a function of one lane; it takes the general path in every encoding.
constexpr Row looped(std::string_view mnemonic, LaneLoop loop, Type dst, Type s0, Type s1 = Type::None,
                     Type s2 = Type::None, uint16_t traits = 0) {
  return Row{mnemonic, kBitcode ? nullptr : general, kBitcode ? nullptr : loop, dst, {s0, s1, s2}, traits};
}

/// The same row with the target's rule for `format` in Inst::imm.
constexpr Row withRule(Row row, isa::MatrixFormat format) {
  row.matrix = format;
  return row;
}

/// A row for an instruction that needs the whole wave and does everything itself.
constexpr Row raw(std::string_view mnemonic, Handler handler, Type dst, Type s0 = Type::None, Type s1 = Type::None,
                  Type s2 = Type::None, uint16_t traits = 0) {
  return Row{mnemonic, kBitcode ? nullptr : handler, nullptr, dst, {s0, s1, s2}, traits};
}

} // namespace luthier::vgpu::LUTHIER_VGPU_LEVEL
