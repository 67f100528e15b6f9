// Atomic operations on guest memory: what they compute, and how a wave performs them.
//
// An operation is a function from the old value and the instruction's data to the new value, on the bits of u32 or u64.
// DS, FLAT and MUBUF share them. Functions take one data operand, or two: DATA0 and DATA1 of DS, DATA[0] and DATA[1]
// of the others.
#pragma once

#include "vgpu/exec/vmem.h"

#include <type_traits>

namespace luthier::vgpu::LUTHIER_VGPU_LEVEL {

namespace atomic {

template <class T> constexpr T add(T m, T d) { return m + d; }
template <class T> constexpr T sub(T m, T d) { return m - d; }
template <class T> constexpr T rsub(T m, T d) { return d - m; }
template <class T> constexpr T inc(T m, T d) { return m >= d ? 0 : m + 1; }
template <class T> constexpr T dec(T m, T d) { return m == 0 || m > d ? d : m - 1; }
template <class T> constexpr T umin(T m, T d) { return d < m ? d : m; }
template <class T> constexpr T umax(T m, T d) { return d > m ? d : m; }
template <class T> constexpr T smin(T m, T d) { return std::make_signed_t<T>(d) < std::make_signed_t<T>(m) ? d : m; }
template <class T> constexpr T smax(T m, T d) { return std::make_signed_t<T>(d) > std::make_signed_t<T>(m) ? d : m; }
template <class T> constexpr T and_(T m, T d) { return m & d; }
template <class T> constexpr T or_(T m, T d) { return m | d; }
template <class T> constexpr T xor_(T m, T d) { return m ^ d; }
template <class T> constexpr T swap(T, T d) { return d; }
template <class T> constexpr T mskor(T m, T mask, T value) { return (m & ~mask) | value; }
/// FLAT and MUBUF: DATA[0] is the new value, DATA[1] is compared.
template <class T> constexpr T cmpswap(T m, T src, T cmp) { return m == cmp ? src : m; }
/// DS has them the other way round.
template <class T> constexpr T cmpst(T m, T cmp, T src) { return m == cmp ? src : m; }
/// What the result would go below stays at 0.
constexpr u32 subClamp(u32 m, u32 d) { return m < d ? 0 : m - d; }
/// Only what leaves no less than 0.
constexpr u32 condSub(u32 m, u32 d) { return m >= d ? m - d : m; }
/// An id and a value: who has the id adds to the value and passes the id on. The id is bounded by a register of the
/// geometry engine, VGT_GS_MAX_WAVE_ID, whose bits are all 1 here.
constexpr u64 orderedAdd(u64 m, u64 d) {
  const u32 id = static_cast<u32>(m), value = static_cast<u32>(m >> 32);
  if (id != static_cast<u32>(d))
    return m;
  return static_cast<u64>(id + 1) | static_cast<u64>(value + static_cast<u32>(d >> 32)) << 32;
}
constexpr u32 wrap(u32 m, u32 d, u32 d2) { return m >= d ? m - d : m + d2; }
/// Two dwords, each replaced when bit 31 of its data says so; the bit itself is not stored. "Conditional write
/// exchange" is all that this manual says; the RDNA3 manual has the pseudo-code.
constexpr u64 condxchg32(u64 m, u64 d) {
  const u64 low = d >> 31 & 1 ? d & 0x7fffffff : m & 0xffffffff;
  const u64 high = d >> 63 ? d >> 32 & 0x7fffffff : m >> 32;
  return low | high << 32;
}

// Floating point (manual, 9.5). Rounding is to nearest even, whatever MODE says; AtomicFpMode sets it.

template <class F> struct FloatBits;
template <> struct FloatBits<f32> {
  using Bits = u32;
  static constexpr u32 exponent = 0x7f800000, quiet = 0x00400000, sign = 0x80000000, mantissa = 0x007fffff;
};
template <> struct FloatBits<f64> {
  using Bits = u64;
  static constexpr u64 exponent = 0x7ff0000000000000, quiet = 0x0008000000000000, sign = 1ull << 63,
                       mantissa = 0x000fffffffffffff;
};

template <class F, class T = typename FloatBits<F>::Bits> constexpr bool isNan(T x) {
  return (x & ~FloatBits<F>::sign) > FloatBits<F>::exponent;
}

/// NaNs by rule rather than by the host: the compiler may exchange an addition's operands, and the NaN that the host
/// makes of inf - inf is negative.
template <class F, class T = typename FloatBits<F>::Bits> inline T fadd(T m, T d) {
  using B = FloatBits<F>;
  const T sum = bits<T>(bits<F>(m) + bits<F>(d));
  return isNan<F>(m) ? m | B::quiet : isNan<F>(d) ? d | B::quiet : isNan<F>(sum) ? B::exponent | B::quiet : sum;
}

/// Total order of everything that is not NaN: -inf ... -0, +0 ... +inf.
template <class T> constexpr std::make_signed_t<T> ordered(T x) {
  using S = std::make_signed_t<T>;
  return static_cast<S>(x) < 0 ? static_cast<S>(~x ^ T(1) << (sizeof(T) * 8 - 1)) : static_cast<S>(x);
}

/// The selection rules for minimum and maximum: a signalling NaN wins and becomes quiet, a quiet one loses.
template <class F, bool Max, bool Flush, class T = typename FloatBits<F>::Bits> constexpr T fselect(T m, T d) {
  using B = FloatBits<F>;
  if (isNan<F>(m) && !(m & B::quiet))
    return m | B::quiet;
  if (isNan<F>(d) && !(d & B::quiet))
    return d | B::quiet;
  if (isNan<F>(m))
    return d;
  if (isNan<F>(d))
    return m;
  // Denormals are flushed for the comparison only; the result is an unmodified copy of one of the sources.
  auto flushed = [](T x) { return Flush && (x & B::exponent) == 0 ? x & B::sign : x; };
  const auto a = ordered(flushed(m)), b = ordered(flushed(d));
  return (Max ? b > a : b < a) ? d : m;
}
template <class F, class T = typename FloatBits<F>::Bits> constexpr T fmin(T m, T d) {
  return fselect<F, false, false>(m, d);
}
template <class F, class T = typename FloatBits<F>::Bits> constexpr T fmax(T m, T d) {
  return fselect<F, true, false>(m, d);
}

/// Minimum and maximum of gfx12: a number wins over any NaN, and what is flushed stays so.
template <class F, bool Max, bool Flush, class T = typename FloatBits<F>::Bits> constexpr T fselectNumber(T m, T d) {
  using B = FloatBits<F>;
  auto flushed = [](T x) { return Flush && (x & B::exponent) == 0 ? x & B::sign : x; };
  if (isNan<F>(m) && isNan<F>(d))
    return d | B::quiet;
  if (isNan<F>(m))
    return flushed(d);
  if (isNan<F>(d))
    return flushed(m);
  const T a = flushed(m), b = flushed(d);
  return (Max ? ordered(b) > ordered(a) : ordered(b) < ordered(a)) ? b : a;
}

/// Compares as numbers: -0 equals +0, NaN equals nothing.
template <class F, bool Flush, class T> constexpr T fcmpst(T m, T cmp, T src) {
  using B = FloatBits<F>;
  auto flushed = [](T x) { return Flush && (x & B::exponent) == 0 ? x & B::sign : x; };
  const T a = flushed(m), b = flushed(cmp);
  const bool equal = !isNan<F>(a) && !isNan<F>(b) && (a == b || ((a | b) & ~B::sign) == 0);
  // "CompareStore flushes the result when input denormal flushing occurs" (manual, 9.5.2).
  return equal ? flushed(src) : a;
}
template <class F, bool Flush, class T> constexpr T fcmpswap(T m, T src, T cmp) {
  return fcmpst<F, Flush, T>(m, cmp, src);
}

/// Halves of a dword, each on its own.
template <class Half> [[gnu::always_inline]] inline u32 eachHalf(u32 m, u32 d, Half half) {
  return half(static_cast<u16>(m), static_cast<u16>(d)) |
         static_cast<u32>(half(static_cast<u16>(m >> 16), static_cast<u16>(d >> 16))) << 16;
}
/// What a sum of halves is made of: a format of 16 bits, its exponent, and whether denormals count as 0.
template <u16 Exponent, bool FlushInputs, bool FlushOutputs, class Sum>
[[gnu::always_inline]] inline u16 addHalves(u16 a, u16 b, Sum sum) {
  constexpr u16 kQuiet = static_cast<u16>((Exponent & -Exponent) >> 1);
  auto nan = [](u16 x) { return (x & 0x7fff) > Exponent; };
  auto flushed = [](u16 x, bool flush) -> u16 { return flush && !(x & Exponent) ? x & 0x8000 : x; };
  const u16 result = flushed(sum(flushed(a, FlushInputs), flushed(b, FlushInputs)), FlushOutputs);
  return nan(a) ? a | kQuiet : nan(b) ? b | kQuiet : nan(result) ? Exponent | kQuiet : result;
}
/// A sum of two f16 in f32 rounds to f16 as the exact sum does: 24 >= 2 * 11 + 2 bits.
template <bool FlushInputs = false, bool FlushOutputs = false> inline u32 pkAddF16(u32 m, u32 d) {
  return eachHalf(m, d, [](u16 x, u16 y) {
    return addHalves<0x7c00, FlushInputs, FlushOutputs>(x, y, [](u16 a, u16 b) {
      return bits<u16>(static_cast<f16>(static_cast<f32>(bits<f16>(a)) + static_cast<f32>(bits<f16>(b))));
    });
  });
}
/// The same for bf16, which is the high half of an f32; to nearest even.
template <bool FlushInputs = false, bool FlushOutputs = false> inline u32 pkAddBf16(u32 m, u32 d) {
  return eachHalf(m, d, [](u16 x, u16 y) {
    return addHalves<0x7f80, FlushInputs, FlushOutputs>(x, y, [](u16 a, u16 b) {
      const u32 sum = bits<u32>(bits<f32>(static_cast<u32>(a) << 16) + bits<f32>(static_cast<u32>(b) << 16));
      if ((sum & 0x7fffffff) > 0x7f800000)
        return static_cast<u16>(sum >> 16 | 0x40);
      return static_cast<u16>((sum + 0x7fff + (sum >> 16 & 1)) >> 16);
    });
  });
}

/// The value type and number of data operands of an operation.
template <class F> struct Shape;
template <class T> struct Shape<T (*)(T, T)> {
  using Value = T;
  static constexpr unsigned operands = 1;
};
template <class T> struct Shape<T (*)(T, T, T)> {
  using Value = T;
  static constexpr unsigned operands = 2;
};

} // namespace atomic

/// How denormals are treated; integers have nothing to set. Memory: as the target does f32.
enum class AtomicFp : u8 { None, Memory, Keep, ModeF32 };

/// Whether MODE flushes input denormals of a type.
template <class F> [[gnu::always_inline]] inline bool flushesInputs(const Wave &w) {
  return !((sizeof(F) == 4 ? w.mode >> 4 : w.mode >> 6) & 1);
}
/// An operation on F that has two handlers, as MODE says.
template <class F, Handler Flushing, Handler Keeping> const Inst *asModeSays(Wave &w, const Inst *i) {
  return flushesInputs<F>(w) ? Flushing(w, i) : Keeping(w, i);
}

/// Host rounding and denormal mode around one instruction.
template <AtomicFp Fp> class AtomicFpMode {
public:
  [[gnu::always_inline]] explicit AtomicFpMode(const Wave &w, const Inst *i) {
    if constexpr (Fp != AtomicFp::None) {
      saved_ = __builtin_ia32_stmxcsr();
      constexpr u32 kMasked = 0x1f80, kFlushOutputs = 0x8000, kDenormalsAreZero = 0x0040;
      const u32 denorm = Fp == AtomicFp::Keep     ? 3
                         : Fp == AtomicFp::Memory ? (i->flags & kFlushes ? 0 : 3)
                                                  : w.mode >> 4 & 3;
      __builtin_ia32_ldmxcsr(kMasked | (denorm & 1 ? 0 : kDenormalsAreZero) | (denorm & 2 ? 0 : kFlushOutputs));
      // Arithmetic hangs between the memory accesses of the loop; they must not cross the change of mode.
      asm volatile("" ::: "memory");
    }
  }
  [[gnu::always_inline]] ~AtomicFpMode() {
    if constexpr (Fp != AtomicFp::None) {
      asm volatile("" ::: "memory");
      __builtin_ia32_ldmxcsr(saved_);
    }
  }
  AtomicFpMode(const AtomicFpMode &) = delete;
  AtomicFpMode &operator=(const AtomicFpMode &) = delete;

private:
  u32 saved_ = 0;
};

template <class T> struct AtomicWord;
template <> struct AtomicWord<u32> {
  typedef u32 Type __attribute__((may_alias));
};
template <> struct AtomicWord<u64> {
  typedef u64 Type __attribute__((may_alias));
};

/// The new value of one lane.
template <auto F, class T>
[[gnu::always_inline]] inline T applyAtomic(T old, const u32 *data, const u32 *data2, unsigned lane) {
  if constexpr (atomic::Shape<decltype(F)>::operands == 2)
    return F(old, Lane<T>::get(data, lane), Lane<T>::get(data2, lane));
  else
    return F(old, Lane<T>::get(data, lane));
}

/// One lane's operation on memory that others share. Returns the old value.
template <auto F, class T>
[[gnu::always_inline]] LUTHIER_GUEST_ACCESS inline T atomicLane(u64 address, const u32 *data, const u32 *data2,
                                                                unsigned lane) {
  auto *p = reinterpret_cast<typename AtomicWord<T>::Type *>(address);
  T old = __atomic_load_n(p, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(p, &old, applyAtomic<F, T>(old, data, data2, lane), true, __ATOMIC_SEQ_CST,
                                      __ATOMIC_RELAXED)) {
  }
  return old;
}

/// All lanes of `mask`, in ascending order; `d` gets the old values unless it is null. Atomics must be aligned, even
/// where unaligned access is enabled: hardware reports a memory violation.
template <auto F, AtomicFp Fp>
LUTHIER_GUEST_ACCESS const Inst *atomicLanes(Wave &w, const Inst *i, const u32 *data, u32 *d, u64 *address, u64 mask,
                                             u64 unchecked = 0) {
  using Shape = atomic::Shape<decltype(F)>;
  using T = typename Shape::Value;
  u64 bad;
  if (const u64 checked = mask & ~unchecked; checked && !lanesAllowed(w, i, address, checked, sizeof(T), true, bad))
    return w.memoryFault(i, bad, true);
  u64 odd = 0;
  for (u64 m = mask; m; m &= m - 1)
    odd |= static_cast<u64>(address[__builtin_ctzll(m)] % sizeof(T) != 0) << __builtin_ctzll(m);
  if (odd) [[unlikely]]
    if (!w.check || !w.misalignedAtomics(i, address, odd, sizeof(T), false))
      return w.memoryFault(i, address[__builtin_ctzll(odd)], true);
  const u32 *data2 = data + sizeof(T) / 4 * kRow;
  const AtomicFpMode<Fp> fp(w, i);
  for (u64 m = mask; m; m &= m - 1) {
    const auto lane = static_cast<unsigned>(__builtin_ctzll(m));
    const T old = atomicLane<F, T>(address[lane], data, data2, lane);
    if (d)
      Lane<T>::put(d, lane, old);
  }
  return i->next();
}

/// The float atomics of gfx10 and later, as rows made by ROW(name, operation) and BY_MODE(name, type, operations with
/// and without flushing).
#define FLOAT_ATOMICS(ROW, BY_MODE)                                                                                    \
  BY_MODE("fmin", f32, SELECT(f32, false, true), SELECT(f32, false, false)),                                           \
      BY_MODE("fmax", f32, SELECT(f32, true, true), SELECT(f32, true, false)),                                         \
      BY_MODE("fcmpswap", f32, FCMPSWAP(f32, true), FCMPSWAP(f32, false)),                                             \
      BY_MODE("fmin_x2", f64, SELECT(f64, false, true), SELECT(f64, false, false)),                                    \
      BY_MODE("fmax_x2", f64, SELECT(f64, true, true), SELECT(f64, true, false)),                                      \
      BY_MODE("fcmpswap_x2", f64, FCMPSWAP(f64, true), FCMPSWAP(f64, false)),                                          \
      ROW("min_num_f32", atomic::fselectNumber<f32, false, false, u32>),                                               \
      ROW("max_num_f32", atomic::fselectNumber<f32, true, false, u32>)
#define SELECT(F, MAX, FLUSH) (atomic::fselect<F, MAX, FLUSH, typename atomic::FloatBits<F>::Bits>)
#define NUMBER(F, MAX, FLUSH) (atomic::fselectNumber<F, MAX, FLUSH, typename atomic::FloatBits<F>::Bits>)
#define FCMPST(F, FLUSH) (atomic::fcmpst<F, FLUSH, typename atomic::FloatBits<F>::Bits>)
#define FCMPSWAP(F, FLUSH) (atomic::fcmpswap<F, FLUSH, typename atomic::FloatBits<F>::Bits>)

/// The integer atomics that all encodings have, as rows made by ROW(name, operation).
#define INTEGER_ATOMICS(ROW)                                                                                           \
  ROW("swap", atomic::swap<u32>), ROW("cmpswap", atomic::cmpswap<u32>), ROW("add", atomic::add<u32>),                  \
      ROW("sub", atomic::sub<u32>), ROW("smin", atomic::smin<u32>), ROW("umin", atomic::umin<u32>),                    \
      ROW("smax", atomic::smax<u32>), ROW("umax", atomic::umax<u32>), ROW("and", atomic::and_<u32>),                   \
      ROW("or", atomic::or_<u32>), ROW("xor", atomic::xor_<u32>), ROW("inc", atomic::inc<u32>),                        \
      ROW("dec", atomic::dec<u32>), ROW("swap_x2", atomic::swap<u64>), ROW("cmpswap_x2", atomic::cmpswap<u64>),        \
      ROW("add_x2", atomic::add<u64>), ROW("sub_x2", atomic::sub<u64>), ROW("smin_x2", atomic::smin<u64>),             \
      ROW("umin_x2", atomic::umin<u64>), ROW("smax_x2", atomic::smax<u64>), ROW("umax_x2", atomic::umax<u64>),         \
      ROW("and_x2", atomic::and_<u64>), ROW("or_x2", atomic::or_<u64>), ROW("xor_x2", atomic::xor_<u64>),              \
      ROW("inc_x2", atomic::inc<u64>), ROW("dec_x2", atomic::dec<u64>)

} // namespace luthier::vgpu::LUTHIER_VGPU_LEVEL
