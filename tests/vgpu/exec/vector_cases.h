// Vector instructions over many operand values: 64 cases to a run, compared with a rule that the test writes down.
#pragma once

#include "harness.h"

#include <fmt/format.h>

#include <functional>
#include <random>
#include <string>

namespace luthier::vgpu::test {

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using i16 = int16_t;
using i32 = int32_t;
using i64 = int64_t;
using i128 = __int128;

/// The high half that 16-bit results keep.
inline constexpr u32 kHigh = kPoison & 0xffff0000;

struct VectorCase {
  uint64_t s[3] = {};
};
using VectorRule = std::function<uint64_t(uint64_t a, uint64_t b, uint64_t c)>;

/// All pairs of `values` with third values taken in turn, then random ones.
template <class T> std::vector<VectorCase> operandCases(std::span<const T> values, unsigned random = 256) {
  std::vector<VectorCase> cases;
  size_t turn = 0;
  for (T a : values)
    for (T b : values)
      cases.push_back({{uint64_t(a), uint64_t(b), uint64_t(values[(turn += 7) % values.size()])}});
  // The third value's own turn: against each other one.
  for (T a : values)
    for (T c : values)
      cases.push_back({{uint64_t(a), uint64_t(values[(turn += 5) % values.size()]), uint64_t(c)}});
  std::mt19937_64 bits(12345);
  auto mask = [](uint64_t x) { return static_cast<uint64_t>(static_cast<T>(x)); };
  for (unsigned n = 0; n < random; ++n)
    cases.push_back({{mask(bits()), mask(bits()), mask(bits())}});
  return cases;
}

/// Runs `assembly` (destination v[10:11], sources v[2:3], v[4:5], v[6:7]) over the cases. `width`: of the result, in
/// bits; what it does not cover must be as it was if the instruction keeps it, 0 otherwise.
inline void checkVector(const std::string &assembly, unsigned width, const std::vector<VectorCase> &cases,
                        const VectorRule &rule, uint32_t mode = kDefaultMode) {
  SCOPED_TRACE(assembly);
  ExecTest t;
  t.mode(mode);
  unsigned failures = 0;
  for (size_t first = 0; first < cases.size(); first += kMaxLanes) {
    const size_t count = std::min<size_t>(kMaxLanes, cases.size() - first);
    for (size_t n = 0; n < count; ++n)
      for (unsigned k = 0; k < 3; ++k)
        t.setV64(2 + 2 * k, unsigned(n), cases[first + n].s[k]);
    t.setVector(10, kPoison);
    t.setVector(11, kPoison);
    ASSERT_TRUE(t.run(assembly));
    for (size_t n = 0; n < count; ++n) {
      const auto &s = cases[first + n].s;
      const uint64_t got = width == 64 ? t.v64(10, unsigned(n)) : t.v(10, unsigned(n));
      const uint64_t expected = rule(s[0], s[1], s[2]);
      EXPECT_EQ(got, expected) << fmt::format("{:#x} {:#x} {:#x}: got {:#x}, expected {:#x}", s[0], s[1], s[2], got,
                                              expected);
      if (got != expected && ++failures >= 5)
        return;
    }
  }
}

/// The same for arithmetic: NaN results are compared as NaN only, the manual does not say which one it produces.
inline void checkArithmetic(const std::string &assembly, unsigned width, const std::vector<VectorCase> &cases,
                            const VectorRule &rule, std::function<bool(uint64_t)> isNan, uint32_t mode = kDefaultMode) {
  SCOPED_TRACE(assembly);
  ExecTest t;
  t.mode(mode);
  unsigned failures = 0;
  for (size_t first = 0; first < cases.size() && failures < 5; first += 64) {
    const size_t count = std::min<size_t>(64, cases.size() - first);
    for (size_t n = 0; n < count; ++n)
      for (unsigned k = 0; k < 3; ++k)
        t.setV64(2 + 2 * k, unsigned(n), cases[first + n].s[k]);
    t.setVector(10, kPoison);
    ASSERT_TRUE(t.run(assembly));
    for (size_t n = 0; n < count; ++n) {
      const auto &s = cases[first + n].s;
      const uint64_t got = width == 64 ? t.v64(10, unsigned(n)) : t.v(10, unsigned(n));
      const uint64_t expected = rule(s[0], s[1], s[2]);
      const bool same = got == expected || (isNan(got) && isNan(expected));
      EXPECT_TRUE(same) << fmt::format("{:#x} {:#x} {:#x}: got {:#x}, expected {:#x}", s[0], s[1], s[2], got, expected);
      failures += !same;
    }
  }
}

// Exact arithmetic for expected values.

inline bool isNanF32(uint32_t x) { return (x & 0x7fffffff) > 0x7f800000; }
inline bool isNanF64(uint64_t x) { return (x & ~(1ull << 63)) > 0x7ff0000000000000; }
inline bool isNanF16(uint32_t x) { return (x & 0x7fff) > 0x7c00; }

/// A finite f16 in units of 2^-24.
inline __int128 f16Units(uint32_t x) {
  const int e = x >> 10 & 31;
  const __int128 m = e ? ((x & 0x3ff) | 0x400) : (x & 0x3ff);
  const __int128 units = m << (e ? e - 1 : 0);
  return x & 0x8000 ? -units : units;
}

/// `units` * 2^-48, not 0, rounded to the nearest f16.
inline uint32_t f16FromUnits48(__int128 units) {
  const uint32_t sign = units < 0 ? 0x8000 : 0;
  unsigned __int128 m = static_cast<unsigned __int128>(units < 0 ? -units : units);
  // Bits below the last place: those of a denormal are below 2^-24.
  unsigned top = 0;
  while (m >> top >> 1)
    ++top;
  const unsigned below = top > 34 ? top - 10 : 24;
  unsigned __int128 kept = m >> below;
  const unsigned __int128 rest = m - (kept << below), half = static_cast<unsigned __int128>(1) << (below - 1);
  if (rest > half || (rest == half && (kept & 1)))
    ++kept;
  // kept * 2^(below - 48), kept <= 2^11
  if (kept == 0x800)
    return below + 1 - 24 + 1 > 30 ? sign | 0x7c00 : sign | (below - 24 + 2) << 10;
  if (kept < 0x400)
    return sign | uint32_t(kept);
  const unsigned e = below - 24 + 1;
  return e > 30 ? sign | 0x7c00 : sign | e << 10 | (uint32_t(kept) & 0x3ff);
}

/// a * b + c in f16 with one rounding to nearest; any NaN is given as 0x7e00.
inline uint32_t f16FusedMultiplyAdd(uint32_t a, uint32_t b, uint32_t c) {
  constexpr uint32_t kNan = 0x7e00;
  auto infinite = [](uint32_t x) { return (x & 0x7fff) == 0x7c00; };
  auto zero = [](uint32_t x) { return (x & 0x7fff) == 0; };
  if (isNanF16(a) || isNanF16(b) || isNanF16(c))
    return kNan;
  const uint32_t sign = (a ^ b) & 0x8000;
  if (infinite(a) || infinite(b)) {
    if (zero(a) || zero(b) || (infinite(c) && (c & 0x8000) != sign))
      return kNan;
    return sign | 0x7c00;
  }
  if (infinite(c))
    return c;
  const __int128 product = f16Units(a) * f16Units(b), sum = product + (f16Units(c) << 24);
  if (sum == 0) {
    const bool bothNegative = sign && (c & 0x8000);
    return bothNegative && product == 0 && zero(c) ? 0x8000 : 0;
  }
  return f16FromUnits48(sum);
}

} // namespace luthier::vgpu::test
