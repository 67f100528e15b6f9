// Vector ALU instructions over many values: a case per lane, 64 cases per run, in the short encoding and in VOP3.
#pragma once

#include "harness.h"

#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace luthier::vgpu::test {

inline bool isNanF32(uint32_t x) { return (x & 0x7fffffff) > 0x7f800000; }
inline bool isNanF16(uint32_t x) { return (x & 0x7fff) > 0x7c00; }
inline bool isNanF64(uint64_t x) { return (x & 0x7fffffffffffffff) > 0x7ff0000000000000; }

/// How results are compared: any NaN is as good as another where the manual does not say which.
enum class Match { Bits, F16, F32, F64 };
inline bool matches(Match match, uint64_t expected, uint64_t actual) {
  if (expected == actual)
    return true;
  switch (match) {
  case Match::F16:
    return isNanF16(static_cast<uint32_t>(expected)) && isNanF16(static_cast<uint32_t>(actual));
  case Match::F32:
    return isNanF32(static_cast<uint32_t>(expected)) && isNanF32(static_cast<uint32_t>(actual));
  case Match::F64:
    return isNanF64(expected) && isNanF64(actual);
  default:
    return false;
  }
}

/// Bits of an operand: 16- and 32-bit ones are in one register.
enum class Width { W32, W64 };
struct Shape {
  Width d = Width::W32, a = Width::W32, b = Width::W32;
};

inline void put(ExecTest &t, Width width, unsigned reg, unsigned lane, uint64_t value) {
  if (width == Width::W64)
    t.setV64(reg, lane, value);
  else
    t.v(reg, lane) = static_cast<uint32_t>(value);
}
inline uint64_t get(ExecTest &t, Width width, unsigned reg, unsigned lane) {
  return width == Width::W64 ? t.v64(reg, lane) : t.v(reg, lane);
}
inline std::string name(Width width, unsigned reg) {
  return width == Width::W64 ? "v[" + std::to_string(reg) + ":" + std::to_string(reg + 1) + "]"
                             : "v" + std::to_string(reg);
}

using Values = std::vector<uint64_t>;
template <class T, size_t Size> Values values(const T (&edges)[Size]) { return Values(edges, edges + Size); }
template <class T, size_t Size> Values values(const T (&edges)[Size], unsigned random, uint64_t mask) {
  Values result = values(edges);
  std::mt19937_64 engine(42);
  for (unsigned n = 0; n < random; ++n)
    result.push_back(engine() & mask);
  return result;
}

/// `mnemonic` v0, v2 for every a. D's register is also checked to be left alone in the lanes that EXEC disables.
inline void unary(const std::string &mnemonic, Shape shape, const Values &as, Match match,
                  const std::function<uint64_t(uint64_t)> &expected, uint32_t mode = kDefaultMode) {
  for (const std::string suffix : {"_e32", "_e64"}) {
    ExecTest t;
    t.mode(mode);
    const std::string text = mnemonic + suffix + " " + name(shape.d, 0) + ", " + name(shape.a, 2);
    for (size_t first = 0; first < as.size(); first += 64) {
      for (unsigned lane = 0; lane < 64; ++lane) {
        put(t, shape.a, 2, lane, as[(first + lane) % as.size()]);
        put(t, Width::W64, 0, lane, 0x1111111122222222);
      }
      const uint64_t exec = first ? ~0ull : 0xfffffffeffffffff;
      t.exec(exec);
      ASSERT_TRUE(t.run(text));
      for (unsigned lane = 0; lane < 64; ++lane) {
        const uint64_t a = as[(first + lane) % as.size()];
        const uint64_t d = get(t, shape.d, 0, lane);
        if (!(exec >> lane & 1))
          EXPECT_EQ(t.v64(0, lane), 0x1111111122222222u) << text;
        else
          EXPECT_TRUE(matches(match, expected(a), d))
              << std::hex << text << " of " << a << " is " << d << ", not " << expected(a);
      }
    }
  }
}

/// `mnemonic` v0, v2, v4 for every pair of a and b. `c` is what D holds before, for instructions that accumulate.
inline void binary(const std::string &mnemonic, Shape shape, const Values &as, const Values &bs, Match match,
                   const std::function<uint64_t(uint64_t, uint64_t, uint64_t)> &expected, const Values &cs = {0},
                   uint32_t mode = kDefaultMode, std::initializer_list<std::string> suffixes = {"_e32", "_e64"}) {
  std::vector<std::array<uint64_t, 3>> cases;
  for (uint64_t a : as)
    for (uint64_t b : bs)
      for (uint64_t c : cs)
        cases.push_back({a, b, c});
  for (const std::string &suffix : suffixes) {
    ExecTest t;
    t.mode(mode);
    const std::string text =
        mnemonic + suffix + " " + name(shape.d, 0) + ", " + name(shape.a, 2) + ", " + name(shape.b, 4);
    for (size_t first = 0; first < cases.size(); first += 64) {
      for (unsigned lane = 0; lane < 64; ++lane) {
        const auto &[a, b, c] = cases[(first + lane) % cases.size()];
        put(t, shape.a, 2, lane, a);
        put(t, shape.b, 4, lane, b);
        put(t, Width::W64, 0, lane, c);
      }
      const uint64_t exec = first ? ~0ull : 0xfffffffeffffffff;
      t.exec(exec);
      ASSERT_TRUE(t.run(text));
      for (unsigned lane = 0; lane < 64; ++lane) {
        const auto &[a, b, c] = cases[(first + lane) % cases.size()];
        const uint64_t d = get(t, shape.d, 0, lane);
        if (!(exec >> lane & 1))
          EXPECT_EQ(t.v64(0, lane), c) << text;
        else
          EXPECT_TRUE(matches(match, expected(a, b, c), d)) << std::hex << text << " of " << a << ", " << b << ", " << c
                                                            << " is " << d << ", not " << expected(a, b, c);
      }
    }
  }
}

} // namespace luthier::vgpu::test
