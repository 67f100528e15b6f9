// From a function over scalar values to a scalar ALU instruction.
//
//     salu<[](u32 a, u32 b, Scc &scc) { ... return d; }>("s_add_u32")
//
// The lambda's parameter types are the operand types; `Scc &` reads and writes SCC, `Scc` only reads it; a result of
// `void` writes no register. Instructions that need more (the PC, EXEC, other waves) are plain handlers.
#pragma once

#include "vgpu/exec/lanes.h"
#include "vgpu/state/code_chunk.h"

#include <type_traits>
#include <utility>

namespace luthier::vgpu {

using namespace LUTHIER_VGPU_LEVEL;

struct Scc {
  bool set;
};

/// Source n, which is a register or a constant.
template <class T> [[gnu::always_inline]] inline T plainOperand(const Wave &w, const Inst &i, unsigned n) {
  return static_cast<T>(uniformSource < sizeof(T) == 8 > (w, i, n));
}

/// Source n, whatever it is.
template <class T> [[gnu::always_inline]] inline T scalarOperand(const Wave &w, const Inst &i, unsigned n) {
  if (i.srcKind[n] == SrcKind::Special) [[unlikely]]
    return static_cast<T>(specialSource(w, i.src[n].reg));
  return plainOperand<T>(w, i, n);
}

template <class T> inline constexpr bool isScc = std::is_same_v<T, Scc &> || std::is_same_v<T, Scc>;

template <class F> struct ScalarSignature;
template <class C, class R, class... A> struct ScalarSignature<R (C::*)(A...) const> {
  static constexpr bool writesScc = (std::is_same_v<A, Scc &> || ...);
  static constexpr bool readsScc = (std::is_same_v<A, Scc> || ...);
  static constexpr Type kResult = std::is_void_v<R>                                            ? Type::None
                                  : sizeof(std::conditional_t<std::is_void_v<R>, u32, R>) == 8 ? Type::U64
                                                                                               : Type::U32;

  /// Which source parameter `index` is: the number of values before it.
  static constexpr unsigned sourceOf(size_t index) {
    constexpr bool values[] = {!isScc<A>..., false};
    unsigned count = 0;
    for (size_t k = 0; k < index; ++k)
      count += values[k];
    return count;
  }

  template <class T, unsigned Source, bool Special>
  [[gnu::always_inline]] static decltype(auto) argument(const Wave &w, const Inst &i, Scc &scc) {
    if constexpr (std::is_same_v<T, Scc &>)
      return (scc);
    else if constexpr (std::is_same_v<T, Scc>)
      return Scc{scc.set};
    else if constexpr (Special)
      return scalarOperand<T>(w, i, Source);
    else
      return plainOperand<T>(w, i, Source);
  }

  template <auto F, bool Special, size_t... I>
  [[gnu::always_inline]] static R call(const Wave &w, const Inst &i, Scc &scc, std::index_sequence<I...>) {
    return F(argument<A, sourceOf(I), Special>(w, i, scc)...);
  }

  template <auto F, bool Special> [[gnu::always_inline]] static const Inst *execute(Wave &w, const Inst *i) {
    Scc scc{w.scc != 0};
    constexpr std::index_sequence_for<A...> indices;
    if constexpr (std::is_void_v<R>) {
      call<F, Special>(w, *i, scc, indices);
    } else {
      const R result = call<F, Special>(w, *i, scc, indices);
      if constexpr (sizeof(R) == 8)
        w.setScalar64(i->dst, static_cast<u64>(result));
      else
        w.s[i->dst] = static_cast<u32>(result);
    }
    if constexpr (writesScc)
      w.scc = scc.set;
    return i->next();
  }

  /// Sources such as SCC or an aperture: apart, so that the usual path calls nothing and saves no registers.
  template <auto F> [[gnu::noinline]] static const Inst *handlerForSpecial(Wave &w, const Inst *i) {
    return execute<F, true>(w, i);
  }

  template <auto F> static const Inst *handler(Wave &w, const Inst *i) {
    constexpr unsigned kSources = sourceOf(sizeof...(A));
    bool special = i->srcKind[0] == SrcKind::Special;
    if constexpr (kSources > 1)
      special |= i->srcKind[1] == SrcKind::Special;
    if (special) [[unlikely]]
      return handlerForSpecial<F>(w, i);
    return execute<F, false>(w, i);
  }

  /// The decoder leaves special sources to `handler`.
  template <auto F> static const Inst *threaded(Wave &w, const Inst *i) {
    execute<F, false>(w, i);
    LUTHIER_THREAD(w, i);
  }
  template <auto F> static constexpr Handler kThreaded[8] = {&threaded<F>};
  template <auto F> static const Inst *plainHandler(Wave &w, const Inst *i) { return execute<F, false>(w, i); }

  static constexpr Type type(unsigned k) {
    Type result = Type::None;
    unsigned n = 0;
    auto visit = [&]<class T>(std::type_identity<T>) {
      if constexpr (!isScc<T>) {
        if (n++ == k)
          result = Lane<T>::type;
      }
    };
    (visit(std::type_identity<A>()), ...);
    return result;
  }
};

/// A row for the scalar function F.
template <auto F> constexpr Row salu(std::string_view mnemonic) {
  using S = ScalarSignature<decltype(&decltype(F)::operator())>;
  Row row{mnemonic, nullptr, nullptr, S::kResult, {S::type(0), S::type(1), S::type(2)}, 0};
  row.traits = (S::writesScc ? kWritesScc : 0) | (S::readsScc ? kReadsScc : 0);
  if constexpr (!kBitcode) {
    row.handler = &S::template handler<F>;
    row.threaded = S::template kThreaded<F>;
  }
  row.attempt = attemptOf<S::template plainHandler<F>>();
  return row;
}

/// A row for an instruction that does everything itself.
constexpr Row plain(std::string_view mnemonic, Handler handler, Type s0 = Type::None, Type s1 = Type::None,
                    uint16_t traits = 0) {
  return Row{mnemonic, kBitcode ? nullptr : handler, nullptr, Type::None, {s0, s1, Type::None}, traits};
}

/// The same for one that only falls through or stops the wave.
template <Handler H> constexpr Row straight(std::string_view mnemonic, Type s0 = Type::None, Type s1 = Type::None) {
  Row row = plain(mnemonic, H, s0, s1);
  if constexpr (!kBitcode)
    row.threaded = kThreadedForm<H>;
  row.attempt = attemptOf<H>();
  return row;
}

/// The address of the instruction behind `i`.
inline u64 nextPc(const Wave &w, const Inst *i) { return w.chunk->pc(i) + 4ull * i->words; }

/// A branch by i->imm dwords from the next instruction. Nearly all stay within the chunk, where records are dwords
/// apart and no lock is needed.
[[gnu::always_inline]] inline const Inst *branch(Wave &w, const Inst *i) {
  const u64 offset = w.chunk->pc(i) - w.chunk->base() + 4 + static_cast<u64>(static_cast<i64>(i->imm) * 4);
  if (offset < CodeChunk::kBytes) [[likely]] {
    const Inst *inst = i + 1 + i->imm;
    if (__atomic_load_n(&inst->fn, __ATOMIC_ACQUIRE)) [[likely]]
      return inst;
  }
  return w.jump(w.chunk->base() + offset);
}

/// The instructions that use the stack of diverged branches (manual, "Arbitrary Divergent Control Flow") share this:
/// splits EXEC by `pass` and goes to `target` with the lanes that passed, or on with those that did not, the smaller
/// part first. The other part waits in four SGPRs.
const Inst *forkBranch(Wave &w, const Inst *i, u64 pass, u64 target);

} // namespace luthier::vgpu
