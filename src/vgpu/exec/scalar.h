// From a function over scalar values to a scalar ALU instruction.
//
//     salu<[](u32 a, u32 b, Scc &scc) { ... return d; }>("s_add_u32")
//
// The lambda's parameter types are the operand types; `Scc &` reads and writes SCC; a result of `void` writes no
// register. Instructions that need more (the PC, EXEC, other waves) are plain handlers.
#pragma once

#include "vgpu/exec/lanes.h"

#include <type_traits>

namespace luthier::vgpu {

using namespace LUTHIER_VGPU_LEVEL;

struct Scc {
  bool set;
};

template <class F> struct ScalarSignature;
template <class C, class R, class... A> struct ScalarSignature<R (C::*)(A...) const> {
  static constexpr unsigned values = (unsigned(!std::is_same_v<A, Scc &>) + ... + 0u);

  template <class T> static T source(const Wave &w, const Inst &i, unsigned &n, Scc &) {
    return static_cast<T>(scalarSource(w, i, n++));
  }

  template <auto F> static const Inst *handler(Wave &w, const Inst *i) {
    Scc scc{w.scc != 0};
    // Braces evaluate left to right; a function call's arguments need not.
    unsigned n = 0;
    auto call = [&]<class... X>(X &&...x) { return F(static_cast<X &&>(x)...); };
    auto argument = [&]<class T>(std::type_identity<T>) -> decltype(auto) {
      if constexpr (std::is_same_v<T, Scc &>)
        return (scc);
      else
        return source<T>(w, *i, n, scc);
    };
    if constexpr (std::is_void_v<R>) {
      struct Invoke {
        Invoke(decltype(call) &f, A... a) { f(static_cast<A>(a)...); }
      };
      Invoke{call, argument(std::type_identity<A>())...};
    } else {
      struct Invoke {
        R result;
        Invoke(decltype(call) &f, A... a) : result(f(static_cast<A>(a)...)) {}
      };
      const R result = Invoke{call, argument(std::type_identity<A>())...}.result;
      if constexpr (sizeof(R) == 8)
        w.setScalar64(i->dst, static_cast<u64>(result));
      else
        w.s[i->dst] = static_cast<u32>(result);
    }
    w.scc = scc.set;
    return i->next();
  }

  static constexpr Type type(unsigned k) {
    Type result = Type::None;
    unsigned n = 0;
    auto visit = [&]<class T>(std::type_identity<T>) {
      if constexpr (!std::is_same_v<T, Scc &>) {
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
  return Row{mnemonic, &S::template handler<F>, nullptr, Type::None, {S::type(0), S::type(1), S::type(2)}, 0};
}

/// A row for an instruction that does everything itself.
constexpr Row plain(std::string_view mnemonic, Handler handler, Type s0 = Type::None, Type s1 = Type::None,
                    uint8_t traits = 0) {
  return Row{mnemonic, handler, nullptr, Type::None, {s0, s1, Type::None}, traits};
}

} // namespace luthier::vgpu
