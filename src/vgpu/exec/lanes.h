// Lane arrays: how values sit in vector registers, and how operands become arrays of lanes.
//
// Everything here is compiled once per CPU level (exec/level.h) and must stay in that level's namespace: a function
// shared between levels would be compiled with the flags of whichever copy the linker keeps.
#pragma once

#include "vgpu/exec/level.h"
#include "vgpu/exec/row.h"
#include "vgpu/state/wave.h"

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace luthier::vgpu::LUTHIER_VGPU_LEVEL {

using u8 = uint8_t;
using i8 = int8_t;
using u16 = uint16_t;
using i16 = int16_t;
using u32 = uint32_t;
using i32 = int32_t;
using u64 = uint64_t;
using i64 = int64_t;
using f16 = _Float16;
using f32 = float;
using f64 = double;

/// Lanes of a wave. A wave's vector registers are rows of kRow lanes, of which it uses the first N.
inline constexpr unsigned N = LUTHIER_VGPU_LANES;
inline constexpr unsigned kRow = kMaxLanes;
inline constexpr u64 kAllLanes = ~0ull >> (64 - N);

/// Lanes that one host vector holds; loops over lanes ask for it, because the cost model of f16 asks for less.
#if defined(__AVX512F__)
inline constexpr unsigned kVectorLanes = 16;
#elif defined(__AVX2__)
inline constexpr unsigned kVectorLanes = 8;
#else
inline constexpr unsigned kVectorLanes = 4;
#endif

template <class To, class From> [[gnu::always_inline]] inline To bits(const From &from) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, from);
}

/// A lane mask that an instruction reads (v_cndmask_b32) or writes (v_add_co_u32), as the lane function sees it.
struct MaskIn {
  bool set;
};
struct MaskOut {
  bool set = false;
};
/// The MODE register, for the few instructions whose result depends on more of it than the host's mode carries.
struct Mode {
  u32 value;
  [[gnu::always_inline]] bool ieee() const { return value & mode::kIeee; }
};
/// The number of the lane, for the few instructions that depend on it.
struct LaneId {
  u32 value;
};

/// Two f16 in one dword.
struct Half2 {
  f16 low, high;
};

/// How a value of type T is read from and written to lane i.
template <class T> struct Lane;
template <> struct Lane<u32> {
  static constexpr Type type = Type::U32;
  [[gnu::always_inline]] static u32 get(const u32 *p, unsigned i) { return p[i]; }
  [[gnu::always_inline]] static void put(u32 *p, unsigned i, u32 x) { p[i] = x; }
};
template <> struct Lane<i32> {
  static constexpr Type type = Type::I32;
  [[gnu::always_inline]] static i32 get(const u32 *p, unsigned i) { return static_cast<i32>(p[i]); }
  [[gnu::always_inline]] static void put(u32 *p, unsigned i, i32 x) { p[i] = static_cast<u32>(x); }
};
template <> struct Lane<f32> {
  static constexpr Type type = Type::F32;
  [[gnu::always_inline]] static f32 get(const u32 *p, unsigned i) { return bits<f32>(p[i]); }
  [[gnu::always_inline]] static void put(u32 *p, unsigned i, f32 x) { p[i] = bits<u32>(x); }
};
template <> struct Lane<u64> {
  static constexpr Type type = Type::U64;
  [[gnu::always_inline]] static u64 get(const u32 *p, unsigned i) { return p[i] | static_cast<u64>(p[i + kRow]) << 32; }
  [[gnu::always_inline]] static void put(u32 *p, unsigned i, u64 x) {
    p[i] = static_cast<u32>(x);
    p[i + kRow] = static_cast<u32>(x >> 32);
  }
};
template <> struct Lane<i64> {
  static constexpr Type type = Type::I64;
  [[gnu::always_inline]] static i64 get(const u32 *p, unsigned i) { return static_cast<i64>(Lane<u64>::get(p, i)); }
  [[gnu::always_inline]] static void put(u32 *p, unsigned i, i64 x) { Lane<u64>::put(p, i, static_cast<u64>(x)); }
};
template <> struct Lane<f64> {
  static constexpr Type type = Type::F64;
  [[gnu::always_inline]] static f64 get(const u32 *p, unsigned i) { return bits<f64>(Lane<u64>::get(p, i)); }
  [[gnu::always_inline]] static void put(u32 *p, unsigned i, f64 x) { Lane<u64>::put(p, i, bits<u64>(x)); }
};
// 16-bit results zero the high half, as on gfx9. Rows that keep it say kKeepsHigh and take the general path; targets
// with waves of 32 lanes always keep it, so that loops for these do.
[[gnu::always_inline]] inline void put16(u32 *p, unsigned i, u16 x) { p[i] = N == 32 ? (p[i] & 0xffff0000) | x : x; }
template <> struct Lane<u16> {
  static constexpr Type type = Type::U16;
  [[gnu::always_inline]] static u16 get(const u32 *p, unsigned i) { return static_cast<u16>(p[i]); }
  [[gnu::always_inline]] static void put(u32 *p, unsigned i, u16 x) { put16(p, i, x); }
};
template <> struct Lane<i16> {
  static constexpr Type type = Type::I16;
  [[gnu::always_inline]] static i16 get(const u32 *p, unsigned i) { return static_cast<i16>(p[i]); }
  [[gnu::always_inline]] static void put(u32 *p, unsigned i, i16 x) { put16(p, i, static_cast<u16>(x)); }
};
template <> struct Lane<f16> {
  static constexpr Type type = Type::F16;
  [[gnu::always_inline]] static f16 get(const u32 *p, unsigned i) { return bits<f16>(static_cast<u16>(p[i])); }
  [[gnu::always_inline]] static void put(u32 *p, unsigned i, f16 x) { put16(p, i, bits<u16>(x)); }
};
template <> struct Lane<Half2> {
  static constexpr Type type = Type::PkF16;
  [[gnu::always_inline]] static Half2 get(const u32 *p, unsigned i) {
    return {bits<f16>(static_cast<u16>(p[i])), bits<f16>(static_cast<u16>(p[i] >> 16))};
  }
  [[gnu::always_inline]] static void put(u32 *p, unsigned i, Half2 x) {
    p[i] = bits<u16>(x.low) | static_cast<u32>(bits<u16>(x.high)) << 16;
  }
};

/// A lane mask in scalar registers: a pair, or one in waves of 32 lanes.
[[gnu::always_inline]] inline u64 maskAt(const Wave &w, unsigned reg) {
  if constexpr (N == 32)
    return w.s[reg];
  else
    return w.scalar64(reg);
}
[[gnu::always_inline]] inline void setMask(Wave &w, unsigned reg, u64 mask) {
  if constexpr (N == 32)
    w.s[reg] = static_cast<u32>(mask);
  else
    w.setScalar64(reg, mask);
}
[[gnu::always_inline]] inline u64 activeLanes(const Wave &w) { return maskAt(w, kExec); }

/// A lane mask as one dword per lane, in `out`.
[[gnu::always_inline]] inline void expandMask(u64 mask, u32 *out) {
#ifdef __AVX512F__
  typedef i32 Vec __attribute__((ext_vector_type(16), aligned(4)));
  typedef bool Bits __attribute__((ext_vector_type(16)));
  for (unsigned part = 0; part < N / 16; ++part) {
    const Vec lanes = -__builtin_convertvector(bits<Bits>(static_cast<u16>(mask >> (part * 16))), Vec);
    memcpy(out + part * 16, &lanes, sizeof lanes);
  }
#else
  typedef u32 Vec __attribute__((vector_size(64), aligned(4)));
  constexpr Vec kBit = {1 << 0, 1 << 1, 1 << 2,  1 << 3,  1 << 4,  1 << 5,  1 << 6,  1 << 7,
                        1 << 8, 1 << 9, 1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14, 1 << 15};
  for (unsigned part = 0; part < N / 16; ++part) {
    const u32 low = static_cast<u16>(mask >> (part * 16));
    const Vec lanes = ((Vec{} + low) & kBit) == kBit;
    memcpy(out + part * 16, &lanes, sizeof lanes);
  }
#endif
}

/// Makes Wave::execLanes follow EXEC.
void updateExecLanes(Wave &w);

/// EXEC as one dword per lane.
[[gnu::always_inline]] inline const u32 *execLanes(Wave &w) {
  if (w.execLanesFor != activeLanes(w))
    updateExecLanes(w);
  return w.execLanes;
}

/// Lanes of 0 or ~0 as bits.
[[gnu::always_inline]] inline u64 compressMask(const u32 *in) {
  constexpr unsigned kPart = kVectorLanes == 16 ? 16 : 8;
  typedef i32 Vec __attribute__((vector_size(4 * kPart), aligned(4)));
  typedef bool Bits __attribute__((ext_vector_type(kPart)));
  using Word = std::conditional_t<kPart == 16, u16, u8>;
  u64 mask = 0;
  for (unsigned part = 0; part < N / kPart; ++part) {
    Vec x;
    memcpy(&x, in + part * kPart, sizeof x);
    const Bits b = __builtin_convertvector(x < 0, Bits);
    mask |= static_cast<u64>(bits<Word>(b)) << (part * kPart);
  }
  return mask;
}

/// Goes on with the instruction behind `i`, from a threaded handler that has executed it.
#define LUTHIER_THREAD(w, i)                                                                                           \
  do {                                                                                                                 \
    const Inst *following = (i)->next();                                                                               \
    [[clang::musttail]] return following->fn(w, following);                                                            \
  } while (false)

/// The threaded form of a handler that only falls through or stops the wave.
template <Handler H> const Inst *threadedForm(Wave &w, const Inst *i) {
  const Inst *next;
  [[clang::always_inline]] next = H(w, i);
  if (!next) [[unlikely]]
    return nullptr;
  [[clang::musttail]] return next->fn(w, next);
}
template <Handler H> inline constexpr Handler kThreadedForm[8] = {&threadedForm<H>};

/// The value of SCC, VCCZ, EXECZ or an aperture register as a source.
u64 specialSource(const Wave &w, u32 code);

/// Scalar value of a source that is not a VGPR.
[[gnu::always_inline]] inline u64 scalarSource(const Wave &w, const Inst &i, unsigned n) {
  switch (i.srcKind[n]) {
  case SrcKind::Scalar:
    return w.scalar64(i.src[n].reg);
  case SrcKind::Constant:
    return i.src[n].lanes[0] | static_cast<u64>(i.src[n].lanes[kRow]) << 32;
  case SrcKind::Special:
    return specialSource(w, i.src[n].reg);
  default:
    return 0;
  }
}

/// Value of a source that is an SGPR or a constant. No branch tells them apart: both occur at the same handlers.
template <bool Wide> [[gnu::always_inline]] inline u64 uniformSource(const Wave &w, const Inst &i, unsigned n) {
  const bool inRegister = i.srcKind[n] == SrcKind::Scalar;
  uintptr_t raw; // both members at once: the compiler will not load one of them speculatively
  memcpy(&raw, &i.src[n], sizeof raw);
  const u32 *low =
      __builtin_unpredictable(inRegister) ? w.s + static_cast<u32>(raw) : reinterpret_cast<const u32 *>(raw);
  if constexpr (Wide)
    // Halves apart: a 64-bit load of two halves that were just stored separately would stall.
    return low[0] | static_cast<u64>(low[__builtin_unpredictable(inRegister) ? 1 : kRow]) << 32;
  else
    return low[0];
}

/// A scalar source as lanes, in the wave's broadcast cache: not to be written.
const u32 *broadcastSource(Wave &w, const Inst &i, unsigned n, bool wide);

/// Source n as lanes.
template <bool Wide> [[gnu::always_inline]] inline const u32 *sourceLanes(Wave &w, const Inst &i, unsigned n) {
  if (i.srcKind[n] == SrcKind::Vgpr)
    return w.v[i.src[n].reg];
  if (i.srcKind[n] == SrcKind::Constant)
    return i.src[n].lanes;
  return broadcastSource(w, i, n, Wide);
}

/// The lanes of `from` where `active` is not 0.
[[gnu::always_inline]] inline void putActive(u32 *to, const u32 *from, const u32 *active) {
  typedef i32 Vec __attribute__((vector_size(4 * kVectorLanes)));
  for (unsigned n = 0; n < N; n += kVectorLanes) {
    Vec x, old, mask;
    memcpy(&x, from + n, sizeof x);
    memcpy(&old, to + n, sizeof old);
    memcpy(&mask, active + n, sizeof mask);
    x = mask != 0 ? x : old;
    memcpy(to + n, &x, sizeof x);
  }
}

/// Copies `count` 32-bit lane arrays from `from` to `to` in the active lanes.
[[gnu::always_inline]] inline void blend(Wave &w, u32 *to, const u32 *from, unsigned count) {
  const u32 *mask = execLanes(w);
  for (unsigned r = 0; r < count; ++r)
    for (unsigned i = 0; i < N; ++i)
      to[r * kRow + i] = (from[r * kRow + i] & mask[i]) | (to[r * kRow + i] & ~mask[i]);
}

} // namespace luthier::vgpu::LUTHIER_VGPU_LEVEL
