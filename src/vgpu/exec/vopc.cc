// VOPC: vector compares (manual, section 12.9). V_CMPX also writes EXEC.

#include "vgpu/exec/float_math.h"
#include "vgpu/exec/tables.h"
#include "vgpu/exec/valu.h"

namespace luthier::vgpu::LUTHIER_VGPU_LEVEL {

namespace {

template <class T> [[gnu::always_inline]] inline bool lt(T a, T b) { return a < b; }
template <class T> [[gnu::always_inline]] inline bool eq(T a, T b) { return a == b; }
template <class T> [[gnu::always_inline]] inline bool nan(T x) { return x != x; }

// f16 as integers: the host compares them one by one.
[[gnu::always_inline]] inline i32 order(f16 x) {
  const i32 m = magnitude(x);
  return rawBits(x) & kSign<f16> ? -m : m;
}
[[gnu::always_inline]] inline bool nan(f16 x) { return isNan(x); }
[[gnu::always_inline]] inline bool lt(f16 a, f16 b) { return order(a) < order(b) && !nan(a) && !nan(b); }
[[gnu::always_inline]] inline bool eq(f16 a, f16 b) { return order(a) == order(b) && !nan(a) && !nan(b); }

template <class T> constexpr auto never = [](T, T) { return false; };
template <class T> constexpr auto less = [](T a, T b) { return lt(a, b); };
template <class T> constexpr auto equal = [](T a, T b) { return eq(a, b); };
template <class T> constexpr auto lessEqual = [](T a, T b) { return lt(a, b) || eq(a, b); };
template <class T> constexpr auto greater = [](T a, T b) { return lt(b, a); };
template <class T> constexpr auto greaterEqual = [](T a, T b) { return lt(b, a) || eq(a, b); };
template <class T> constexpr auto always = [](T, T) { return true; };
template <class T> constexpr auto notEqual = [](T a, T b) { return !eq(a, b); };

template <class T> constexpr auto lessGreater = [](T a, T b) { return lt(a, b) || lt(b, a); };
template <class T> constexpr auto ordered = [](T a, T b) { return !nan(a) && !nan(b); };
// The manual prints "!isNaN || !isNaN"; the name and LLVM say the opposite of ordered.
template <class T> constexpr auto unordered = [](T a, T b) { return nan(a) || nan(b); };
template <class T> constexpr auto notGreaterEqual = [](T a, T b) { return !(lt(b, a) || eq(a, b)); };
template <class T> constexpr auto notLessGreater = [](T a, T b) { return !(lt(a, b) || lt(b, a)); };
template <class T> constexpr auto notGreater = [](T a, T b) { return !lt(b, a); };
template <class T> constexpr auto notLessEqual = [](T a, T b) { return !(lt(a, b) || eq(a, b)); };
template <class T> constexpr auto notLess = [](T a, T b) { return !lt(a, b); };

template <class T, class Classes>
constexpr auto isOfClass = [](T x, Classes classes) { return (classes >> classOf(x) & 1) != 0; };

#define COMPARE(function, name) op<function>("v_cmp_" name), op<function>("v_cmpx_" name, kWritesExec)

#define MISPRINTED(function, name)                                                                                     \
  op<function>("v_cmp_" name).documented(why::kMisprint),                                                              \
      op<function>("v_cmpx_" name, kWritesExec).documented(why::kMisprint)

#define INTEGER_COMPARES(T, type)                                                                                      \
  COMPARE(never<T>, "f_" type), COMPARE(less<T>, "lt_" type), COMPARE(equal<T>, "eq_" type),                           \
      COMPARE(lessEqual<T>, "le_" type), COMPARE(greater<T>, "gt_" type), COMPARE(notEqual<T>, "ne_" type),            \
      COMPARE(greaterEqual<T>, "ge_" type), COMPARE(always<T>, "t_" type)

#define FLOAT_COMPARES(T, type)                                                                                        \
  COMPARE(never<T>, "f_" type), COMPARE(less<T>, "lt_" type), COMPARE(equal<T>, "eq_" type),                           \
      COMPARE(lessEqual<T>, "le_" type), COMPARE(greater<T>, "gt_" type), COMPARE(lessGreater<T>, "lg_" type),         \
      COMPARE(greaterEqual<T>, "ge_" type), COMPARE(ordered<T>, "o_" type), MISPRINTED(unordered<T>, "u_" type),       \
      COMPARE(notGreaterEqual<T>, "nge_" type), COMPARE(notLessGreater<T>, "nlg_" type),                               \
      COMPARE(notGreater<T>, "ngt_" type), COMPARE(notLessEqual<T>, "nle_" type), COMPARE(notEqual<T>, "neq_" type),   \
      COMPARE(notLess<T>, "nlt_" type), COMPARE(always<T>, "tru_" type)

constexpr auto isOfClassF16 = isOfClass<f16, u16>;
constexpr auto isOfClassF32 = isOfClass<f32, u32>;
constexpr auto isOfClassF64 = isOfClass<f64, u32>;

constexpr Row kRows[] = {
    COMPARE(isOfClassF16, "class_f16"), COMPARE(isOfClassF32, "class_f32"), COMPARE(isOfClassF64, "class_f64"),
    FLOAT_COMPARES(f16, "f16"),         FLOAT_COMPARES(f32, "f32"),         FLOAT_COMPARES(f64, "f64"),
    INTEGER_COMPARES(i16, "i16"),       INTEGER_COMPARES(u16, "u16"),       INTEGER_COMPARES(i32, "i32"),
    INTEGER_COMPARES(u32, "u32"),       INTEGER_COMPARES(i64, "i64"),       INTEGER_COMPARES(u64, "u64"),
};

} // namespace

std::span<const Row> vopcRows() { return kRows; }

} // namespace luthier::vgpu::LUTHIER_VGPU_LEVEL
