// From a lane function to a vector instruction.
//
// A row of a vector instruction is written as a lambda over the values of one lane:
//
//     op<[](f32 a, f32 b) { return a + b; }>("v_add_f32")
//
// The lambda's parameter types are the operand types. MaskIn reads a lane mask, MaskOut & writes one, LaneId is the
// lane's number. The lane loop is instantiated once; a handler for the plain case (no modifiers) calls it inline.
#pragma once

#include "vgpu/exec/lanes.h"

#include <cstddef>
#include <type_traits>

namespace luthier::vgpu::LUTHIER_VGPU_LEVEL {

template <class F> struct Signature;
template <class C, class R, class... A> struct Signature<R (C::*)(A...) const> {
  using Result = R;
  template <template <class...> class T> using Args = T<A...>;
};

template <class... A> struct ArgList {
  static constexpr size_t size = sizeof...(A);
};

template <class A>
inline constexpr bool isValue = !std::is_same_v<A, MaskIn> && !std::is_same_v<A, MaskOut &> && !std::is_same_v<A, LaneId>;

/// The number of value operands before parameter `I`: which source it is.
template <class... A> constexpr unsigned valuesBefore(unsigned index) {
  constexpr bool values[] = {isValue<A>..., false};
  unsigned count = 0;
  for (unsigned i = 0; i < index; ++i)
    count += values[i];
  return count;
}

template <class A, unsigned SrcIndex>
[[gnu::always_inline]] inline decltype(auto) laneArgument(const LaneArgs &args, unsigned i, MaskOut &out) {
  if constexpr (std::is_same_v<A, MaskIn>)
    return MaskIn{args.in[i] != 0};
  else if constexpr (std::is_same_v<A, MaskOut &>)
    return (out);
  else if constexpr (std::is_same_v<A, LaneId>)
    return LaneId{i};
  else
    return Lane<A>::get(args.s[SrcIndex], i);
}

template <auto F, class Result, class List> struct Loop;
template <auto F, class Result, class... A> struct Loop<F, Result, ArgList<A...>> {
  static constexpr bool writesMask = (std::is_same_v<A, MaskOut &> || ...);
  static constexpr bool readsMask = (std::is_same_v<A, MaskIn> || ...);
  static constexpr unsigned values = (unsigned(isValue<A>) + ... + 0u);

  template <size_t... I>
  [[gnu::always_inline]] static void lanes(const LaneArgs &args, std::index_sequence<I...>) {
    // Lanes are independent: a destination that is also a source overlaps only lane by lane.
#pragma clang loop vectorize(assume_safety)
    for (unsigned i = 0; i < N; ++i) {
      MaskOut out;
      if constexpr (std::is_same_v<Result, bool>) {
        args.out[i] = F(laneArgument<A, valuesBefore<A...>(I)>(args, i, out)...) ? ~0u : 0;
      } else {
        const Result result = F(laneArgument<A, valuesBefore<A...>(I)>(args, i, out)...);
        if constexpr (writesMask)
          args.out[i] = out.set ? ~0u : 0;
        Lane<Result>::put(args.d, i, result);
      }
    }
  }
  [[gnu::always_inline]] static void inlined(const LaneArgs &args) { lanes(args, std::index_sequence_for<A...>()); }
  static void run(const LaneArgs &args) { inlined(args); }

  template <unsigned K> static constexpr Type sourceType() {
    Type type = Type::None;
    unsigned k = 0;
    ((isValue<A> ? (k++ == K ? (type = typeOf<A>(), 0) : 0) : 0), ...);
    return type;
  }
  template <class T> static constexpr Type typeOf() {
    if constexpr (isValue<T>)
      return Lane<T>::type;
    else
      return Type::None;
  }
  template <unsigned K> static constexpr bool wide() { return is64(sourceType<K>()); }

  /// The plain case: no modifier, sources straight from registers.
  static const Inst *handler(Wave &w, const Inst *i) {
    LaneArgs args;
    if constexpr (values > 0)
      args.s[0] = sourceLanes<wide<0>()>(w, *i, 0);
    if constexpr (values > 1)
      args.s[1] = sourceLanes<wide<1>()>(w, *i, 1);
    if constexpr (values > 2)
      args.s[2] = sourceLanes<wide<2>()>(w, *i, 2);
    if constexpr (readsMask) {
      // The mask is the source after the values, VCC when the row reads VCC beside three sources (v_div_fmas).
      expandMask(values < 3 ? scalarSource(w, *i, values) : w.vcc(), w.tmp[3]);
      args.in = w.tmp[3];
    }
    args.out = w.tmp[4];
    if constexpr (std::is_same_v<Result, bool>) {
      inlined(args);
      return finishCompare(w, i);
    } else {
      if (w.exec() == w.allLanes()) [[likely]] {
        args.d = w.v[i->dst];
        inlined(args);
      } else {
        args.d = w.tmp[5];
        run(args);
        blend(w, w.v[i->dst], w.tmp[5], sizeof(Result) == 8 ? 2 : 1);
      }
      if constexpr (writesMask)
        w.setScalar64(i->sdst, compressMask(args.out) & w.exec());
      return i->next();
    }
  }

  [[gnu::always_inline]] static const Inst *finishCompare(Wave &w, const Inst *i) {
    const u64 mask = compressMask(w.tmp[4]) & w.exec();
    w.setScalar64(i->sdst, mask);
    if (i->row->traits & kWritesExec)
      w.setExec(mask);
    return i->next();
  }
};

/// A row for the lane function F.
template <auto F> constexpr Row op(std::string_view mnemonic, uint8_t traits = 0) {
  using S = Signature<decltype(&decltype(F)::operator())>;
  using L = Loop<F, typename S::Result, typename S::template Args<ArgList>>;
  Row row;
  row.mnemonic = mnemonic;
  row.handler = &L::handler;
  row.loop = &L::run;
  if constexpr (std::is_same_v<typename S::Result, bool>) {
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
  return row;
}

/// A row for an instruction that needs the whole wave and does everything itself.
constexpr Row raw(std::string_view mnemonic, Handler handler, Type dst, Type s0 = Type::None, Type s1 = Type::None,
                  Type s2 = Type::None, uint8_t traits = 0) {
  return Row{mnemonic, handler, nullptr, dst, {s0, s1, s2}, traits};
}

/// Executes any row that has a lane loop, with SDWA, DPP, op_sel, abs, neg, omod and clamp as the instruction says.
const Inst *general(Wave &w, const Inst *i);

} // namespace luthier::vgpu::LUTHIER_VGPU_LEVEL
