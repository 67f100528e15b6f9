// Scalar floating point of gfx11.5 and later, of all scalar encodings. Rounding and denormals are as MODE says, for f32
// by the host's mode, for f16 by hand.

#include "vgpu/exec/arith.h"
#include "vgpu/exec/scalar.h"
#include "vgpu/exec/tables.h"

#include <bit>

namespace luthier::vgpu {

namespace {

constexpr u32 kKeepInputs = mode::kDenormF64 & mode::kDenormF64 >> 1;
constexpr u32 kKeepOutputs = mode::kDenormF64 & ~kKeepInputs;
constexpr std::string_view kUpperHalf =
    "the manual does not say what becomes of the upper half of an f16 result; it is 0";

template <class T> T source(const Wave &w, const Inst *i, unsigned n) {
  const auto value = scalarOperand<u32>(w, *i, n);
  if constexpr (sizeof(T) == 2) {
    const f16 x = bits<f16>(static_cast<u16>(value));
    return w.mode & kKeepInputs ? x : flushed(x);
  } else {
    return bits<T>(value);
  }
}

template <class T> u32 result(const Wave &w, T x) {
  if constexpr (sizeof(T) == 2)
    return bits<u16>(w.mode & kKeepOutputs ? x : flushed(x));
  else
    return bits<u32>(x);
}

template <class T> bool overflows(const Wave &w) { return sizeof(T) == 2 && (w.mode & mode::kFp16Overflow); }
const Inst *refuseOverflow(Wave &w, const Inst *i) {
  return w.illegal(i, "runs with MODE.FP16_OVFL, which the virtual GPU does not support");
}

template <class T> constexpr Type typeOf() { return Lane<T>::type; }

/// D = F(S0).
template <class To, class From, auto F> const Inst *unary(Wave &w, const Inst *i) {
  if (overflows<To>(w))
    return refuseOverflow(w, i);
  w.s[i->dst] = result<To>(w, F(source<From>(w, i, 0)));
  return i->next();
}
template <class To, class From, auto F> constexpr Row one(std::string_view mnemonic) {
  Row row = straight<unary<To, From, F>>(mnemonic, typeOf<From>());
  row.dst = typeOf<To>();
  return sizeof(To) == 2 ? row.chosen(kUpperHalf) : row;
}

/// D = F(S0, S1), which may ask for MODE.
template <class T, auto F> const Inst *binary(Wave &w, const Inst *i) {
  if (overflows<T>(w))
    return refuseOverflow(w, i);
  w.s[i->dst] = result<T>(w, F(source<T>(w, i, 0), source<T>(w, i, 1), Mode{w.mode}));
  return i->next();
}
template <class T, auto F> constexpr Row two(std::string_view mnemonic) {
  Row row = straight<binary<T, F>>(mnemonic, typeOf<T>(), typeOf<T>());
  row.dst = typeOf<T>();
  return sizeof(T) == 2 ? row.chosen(kUpperHalf) : row;
}

/// Multiply-adds: with D, and with a literal.
template <class T> const Inst *fmac(Wave &w, const Inst *i) {
  if (overflows<T>(w))
    return refuseOverflow(w, i);
  const T a = source<T>(w, i, 0), b = source<T>(w, i, 1);
  if constexpr (sizeof(T) == 2) {
    f16 c = bits<f16>(static_cast<u16>(w.s[i->dst]));
    c = w.mode & kKeepInputs ? c : flushed(c);
    w.s[i->dst] = result<f16>(w, fma16(a, b, c));
  } else {
    w.s[i->dst] = result<f32>(w, __builtin_fmaf(a, b, bits<f32>(w.s[i->dst])));
  }
  return i->next();
}
const Inst *s_fma(Wave &w, const Inst *i) {
  w.s[i->dst] = bits<u32>(__builtin_fmaf(source<f32>(w, i, 0), source<f32>(w, i, 1), source<f32>(w, i, 2)));
  return i->next();
}
template <Handler H> constexpr Row multiplyAdd(std::string_view mnemonic, Type type, bool literal) {
  Row row = straight<H>(mnemonic, type, type);
  row.dst = type;
  if (literal)
    row.src[2] = type;
  return type == Type::F16 ? row.chosen(kUpperHalf) : row;
}

/// SCC = F(S0, S1).
template <class T, auto F> const Inst *compares(Wave &w, const Inst *i) {
  const T a = source<T>(w, i, 0), b = source<T>(w, i, 1);
  // f16 through f32, where all of them are exact.
  w.scc = F(static_cast<f32>(a), static_cast<f32>(b));
  return i->next();
}
template <class T, auto F> constexpr Row compare(std::string_view mnemonic) {
  Row row = straight<compares<T, F>>(mnemonic, typeOf<T>(), typeOf<T>());
  row.traits |= kWritesScc;
  return row;
}

/// To integers, and from them.
template <class I> const Inst *toInteger(Wave &w, const Inst *i) {
  w.s[i->dst] = static_cast<u32>(saturated<I>(source<f32>(w, i, 0)));
  return i->next();
}
template <class I> const Inst *fromInteger(Wave &w, const Inst *i) {
  w.s[i->dst] = bits<u32>(static_cast<f32>(static_cast<I>(scalarOperand<u32>(w, *i, 0))));
  return i->next();
}
const Inst *s_cvt_hi_f32_f16(Wave &w, const Inst *i) {
  const f16 x = bits<f16>(static_cast<u16>(scalarOperand<u32>(w, *i, 0) >> 16));
  w.s[i->dst] = bits<u32>(static_cast<f32>(w.mode & kKeepInputs ? x : flushed(x)));
  return i->next();
}
/// Toward zero, whatever the host's rounding mode: a result that is larger than the value is one too far.
u32 towardZero(f32 x) {
  const f16 y = static_cast<f16>(x);
  return bits<u16>(y) - u32(__builtin_fabsf(static_cast<f32>(y)) > __builtin_fabsf(x));
}
const Inst *s_cvt_pk_rtz_f16_f32(Wave &w, const Inst *i) {
  w.s[i->dst] = towardZero(source<f32>(w, i, 0)) | towardZero(source<f32>(w, i, 1)) << 16;
  return i->next();
}

template <Handler H> constexpr Row convert(std::string_view mnemonic, Type to, Type s0, Type s1 = Type::None) {
  Row row = straight<H>(mnemonic, s0, s1);
  row.dst = to;
  return row;
}

template <class T> T half(f32 x) { return static_cast<T>(x); }

#define ROUNDING(T, type)                                                                                              \
  one<T, T, [](T a) { return half<T>(__builtin_ceilf(f32(a))); }>("s_ceil_" type),                                     \
      one<T, T, [](T a) { return half<T>(__builtin_floorf(f32(a))); }>("s_floor_" type),                               \
      one<T, T, [](T a) { return half<T>(__builtin_truncf(f32(a))); }>("s_trunc_" type),                               \
      one<T, T, [](T a) { return half<T>(__builtin_roundevenf(f32(a))); }>("s_rndne_" type)

#define ARITHMETIC(T, type)                                                                                            \
  two<T, [](T a, T b, Mode) { return static_cast<T>(a + b); }>("s_add_" type),                                         \
      two<T, [](T a, T b, Mode) { return static_cast<T>(a - b); }>("s_sub_" type),                                     \
      two<T, [](T a, T b, Mode) { return static_cast<T>(a * b); }>("s_mul_" type),                                     \
      two<T, [](T a, T b, Mode m) { return minimum(a, b, m); }>("s_min_" type),                                        \
      two<T, [](T a, T b, Mode m) { return maximum(a, b, m); }>("s_max_" type),                                        \
      two<T, [](T a, T b, Mode) { return leastNumber(a, b); }>("s_min_num_" type),                                     \
      two<T, [](T a, T b, Mode) { return greatestNumber(a, b); }>("s_max_num_" type),                                  \
      two<T, [](T a, T b, Mode) { return leastValue(a, b); }>("s_minimum_" type),                                      \
      two<T, [](T a, T b, Mode) { return greatestValue(a, b); }>("s_maximum_" type)

#define COMPARES(T, type)                                                                                              \
  compare<T, [](f32 a, f32 b) { return a < b; }>("s_cmp_lt_" type),                                                    \
      compare<T, [](f32 a, f32 b) { return a == b; }>("s_cmp_eq_" type),                                               \
      compare<T, [](f32 a, f32 b) { return a <= b; }>("s_cmp_le_" type),                                               \
      compare<T, [](f32 a, f32 b) { return a > b; }>("s_cmp_gt_" type),                                                \
      compare<T, [](f32 a, f32 b) { return a < b || a > b; }>("s_cmp_lg_" type),                                       \
      compare<T, [](f32 a, f32 b) { return a >= b; }>("s_cmp_ge_" type),                                               \
      compare<T, [](f32 a, f32 b) { return a == a && b == b; }>("s_cmp_o_" type),                                      \
      compare<T, [](f32 a, f32 b) { return a != a || b != b; }>("s_cmp_u_" type),                                      \
      compare<T, [](f32 a, f32 b) { return !(a >= b); }>("s_cmp_nge_" type),                                           \
      compare<T, [](f32 a, f32 b) { return !(a < b || a > b); }>("s_cmp_nlg_" type),                                   \
      compare<T, [](f32 a, f32 b) { return !(a > b); }>("s_cmp_ngt_" type),                                            \
      compare<T, [](f32 a, f32 b) { return !(a <= b); }>("s_cmp_nle_" type),                                           \
      compare<T, [](f32 a, f32 b) { return !(a == b); }>("s_cmp_neq_" type),                                           \
      compare<T, [](f32 a, f32 b) { return !(a < b); }>("s_cmp_nlt_" type)

constexpr Row kRows[] = {
    ROUNDING(f32, "f32"),
    ROUNDING(f16, "f16"),
    ARITHMETIC(f32, "f32"),
    ARITHMETIC(f16, "f16"),
    COMPARES(f32, "f32"),
    COMPARES(f16, "f16"),
    multiplyAdd<fmac<f32>>("s_fmac_f32", Type::F32, false),
    multiplyAdd<fmac<f16>>("s_fmac_f16", Type::F16, false),
    multiplyAdd<s_fma>("s_fmaak_f32", Type::F32, true),
    multiplyAdd<s_fma>("s_fmamk_f32", Type::F32, true),
    one<f16, f32, [](f32 a) { return static_cast<f16>(a); }>("s_cvt_f16_f32"),
    one<f32, f16, [](f16 a) { return static_cast<f32>(a); }>("s_cvt_f32_f16"),
    convert<s_cvt_hi_f32_f16>("s_cvt_hi_f32_f16", Type::F32, Type::U32),
    convert<toInteger<i32>>("s_cvt_i32_f32", Type::I32, Type::F32),
    convert<toInteger<u32>>("s_cvt_u32_f32", Type::U32, Type::F32),
    convert<fromInteger<i32>>("s_cvt_f32_i32", Type::F32, Type::I32),
    convert<fromInteger<u32>>("s_cvt_f32_u32", Type::F32, Type::U32),
    convert<s_cvt_pk_rtz_f16_f32>("s_cvt_pk_rtz_f16_f32", Type::U32, Type::F32, Type::F32),
};

} // namespace

std::span<const Row> sopFloatRows() { return kRows; }

} // namespace luthier::vgpu
