// What loads, stores and atomics do to data, for the tests of DS, FLAT and MUBUF: written from the manual's
// definitions, apart from the handlers.
#pragma once

#include "harness.h"

#include <functional>
#include <random>
#include <string>

namespace luthier::vgpu::test {

struct LoadCase {
  const char *name; ///< behind "global_load_"
  const char *ds;   ///< behind "ds_read_"
  unsigned bytes;
  /// One register from the bits in memory; null where memory is copied dword by dword.
  uint32_t (*convert)(uint32_t raw);
  unsigned registers() const { return bytes < 4 ? 1 : bytes / 4; }
};

inline uint32_t signExtend(uint32_t x, unsigned width) {
  return static_cast<uint32_t>(static_cast<int32_t>(x << (32 - width)) >> (32 - width));
}

inline const LoadCase kLoads[] = {
    {"ubyte", "u8", 1, [](uint32_t x) { return x; }},
    {"sbyte", "i8", 1, [](uint32_t x) { return signExtend(x, 8); }},
    {"ushort", "u16", 2, [](uint32_t x) { return x; }},
    {"sshort", "i16", 2, [](uint32_t x) { return signExtend(x, 16); }},
    // With SRAM-ECC the other half is zeroed.
    {"ubyte_d16", "u8_d16", 1, [](uint32_t x) { return x; }},
    {"ubyte_d16_hi", "u8_d16_hi", 1, [](uint32_t x) { return x << 16; }},
    {"sbyte_d16", "i8_d16", 1, [](uint32_t x) { return signExtend(x, 8) & 0xffff; }},
    {"sbyte_d16_hi", "i8_d16_hi", 1, [](uint32_t x) { return signExtend(x, 8) << 16; }},
    {"short_d16", "u16_d16", 2, [](uint32_t x) { return x; }},
    {"short_d16_hi", "u16_d16_hi", 2, [](uint32_t x) { return x << 16; }},
    {"dword", "b32", 4, nullptr},
    {"dwordx2", "b64", 8, nullptr},
    {"dwordx3", "b96", 12, nullptr},
    {"dwordx4", "b128", 16, nullptr},
};

struct StoreCase {
  const char *name;
  const char *ds;
  unsigned bytes;
  unsigned shift; ///< of the register's bits that are stored
  unsigned registers() const { return bytes < 4 ? 1 : bytes / 4; }
};

inline const StoreCase kStores[] = {
    {"byte", "b8", 1, 0},      {"byte_d16_hi", "b8_d16_hi", 1, 16},
    {"short", "b16", 2, 0},    {"short_d16_hi", "b16_d16_hi", 2, 16},
    {"dword", "b32", 4, 0},    {"dwordx2", "b64", 8, 0},
    {"dwordx3", "b96", 12, 0}, {"dwordx4", "b128", 16, 0},
};

/// VGPR operands of N registers: "v4" or "v[4:7]".
inline std::string vgprs(unsigned first, unsigned count) {
  if (count == 1)
    return "v" + std::to_string(first);
  return "v[" + std::to_string(first) + ":" + std::to_string(first + count - 1) + "]";
}

/// What a load of `c` leaves in register r, given the bytes in memory.
inline uint32_t loadedRegister(const LoadCase &c, const uint8_t *bytes, unsigned r) {
  uint32_t raw = 0;
  memcpy(&raw, bytes + 4 * r, std::min(c.bytes, 4u));
  return c.convert ? c.convert(raw) : raw;
}

/// How lanes spread over memory.
/// Rows: 16 lanes are consecutive. SharedRows: 16 lanes are at one address. MixedRows: one row of each, two random.
enum class Pattern { Consecutive, Strided, Random, Uniform, Unaligned, Reversed, Rows, SharedRows, MixedRows };
inline constexpr Pattern kPatterns[] = {Pattern::Consecutive, Pattern::Strided,    Pattern::Random,
                                        Pattern::Uniform,     Pattern::Unaligned,  Pattern::Reversed,
                                        Pattern::Rows,        Pattern::SharedRows, Pattern::MixedRows};

/// Byte offsets of all lanes, each at most `limit` - bytes.
inline std::vector<uint32_t> spread(Pattern pattern, unsigned bytes, uint32_t limit, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<uint32_t> result;
  for (uint32_t lane = 0; lane < kMaxLanes; ++lane) {
    switch (pattern) {
    case Pattern::Consecutive:
      result.push_back(32 + lane * bytes);
      break;
    case Pattern::Strided:
      result.push_back(lane * 32);
      break;
    case Pattern::Random:
      result.push_back(random() % ((limit - bytes) / 4) * 4);
      break;
    case Pattern::Uniform:
      result.push_back(64);
      break;
    case Pattern::Unaligned:
      result.push_back(random() % (limit - bytes));
      break;
    case Pattern::Reversed:
      result.push_back((63 - lane) * bytes);
      break;
    case Pattern::Rows:
      result.push_back(lane / 16 * 300 + lane % 16 * bytes);
      break;
    case Pattern::SharedRows:
      result.push_back((lane / 16 ^ 2) * 40);
      break;
    case Pattern::MixedRows:
      result.push_back(lane < 16 ? 500 + lane * bytes : lane < 32 ? 76 : random() % ((limit - bytes) / 4) * 4);
      break;
    }
  }
  return result;
}

inline constexpr uint64_t kExecs[] = {~0ull, 0x00000000ffffffff, 0xaaaaaaaaaaaaaaaa, 0x8000000000000000, 0x10,
                                      0,     0xfffffffffffffffe, 0x0123456789abcdef};

inline std::vector<uint8_t> randomBytes(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> result(count);
  for (uint8_t &byte : result)
    byte = static_cast<uint8_t>(random());
  return result;
}

struct AtomicCase {
  const char *name; ///< behind "global_atomic_"
  unsigned bytes;
  unsigned operands; ///< data operands: 2 for cmpswap
  uint64_t (*result)(uint64_t memory, uint64_t data, uint64_t data2);
};

inline int64_t s32(uint64_t x) { return static_cast<int32_t>(x); }
inline int64_t s64(uint64_t x) { return static_cast<int64_t>(x); }

inline const AtomicCase kIntegerAtomics[] = {
    {"swap", 4, 1, [](uint64_t, uint64_t d, uint64_t) { return d; }},
    {"cmpswap", 4, 2, [](uint64_t m, uint64_t d, uint64_t c) { return m == c ? d : m; }},
    {"add", 4, 1, [](uint64_t m, uint64_t d, uint64_t) { return (m + d) & 0xffffffff; }},
    {"sub", 4, 1, [](uint64_t m, uint64_t d, uint64_t) { return (m - d) & 0xffffffff; }},
    {"smin", 4, 1, [](uint64_t m, uint64_t d, uint64_t) { return s32(d) < s32(m) ? d : m; }},
    {"umin", 4, 1, [](uint64_t m, uint64_t d, uint64_t) { return d < m ? d : m; }},
    {"smax", 4, 1, [](uint64_t m, uint64_t d, uint64_t) { return s32(d) > s32(m) ? d : m; }},
    {"umax", 4, 1, [](uint64_t m, uint64_t d, uint64_t) { return d > m ? d : m; }},
    {"and", 4, 1, [](uint64_t m, uint64_t d, uint64_t) { return m & d; }},
    {"or", 4, 1, [](uint64_t m, uint64_t d, uint64_t) { return m | d; }},
    {"xor", 4, 1, [](uint64_t m, uint64_t d, uint64_t) { return m ^ d; }},
    {"inc", 4, 1, [](uint64_t m, uint64_t d, uint64_t) { return m >= d ? 0 : m + 1; }},
    {"dec", 4, 1, [](uint64_t m, uint64_t d, uint64_t) { return m == 0 || m > d ? d : m - 1; }},
    {"swap_x2", 8, 1, [](uint64_t, uint64_t d, uint64_t) { return d; }},
    {"cmpswap_x2", 8, 2, [](uint64_t m, uint64_t d, uint64_t c) { return m == c ? d : m; }},
    {"add_x2", 8, 1, [](uint64_t m, uint64_t d, uint64_t) { return m + d; }},
    {"sub_x2", 8, 1, [](uint64_t m, uint64_t d, uint64_t) { return m - d; }},
    {"smin_x2", 8, 1, [](uint64_t m, uint64_t d, uint64_t) { return s64(d) < s64(m) ? d : m; }},
    {"umin_x2", 8, 1, [](uint64_t m, uint64_t d, uint64_t) { return d < m ? d : m; }},
    {"smax_x2", 8, 1, [](uint64_t m, uint64_t d, uint64_t) { return s64(d) > s64(m) ? d : m; }},
    {"umax_x2", 8, 1, [](uint64_t m, uint64_t d, uint64_t) { return d > m ? d : m; }},
    {"and_x2", 8, 1, [](uint64_t m, uint64_t d, uint64_t) { return m & d; }},
    {"or_x2", 8, 1, [](uint64_t m, uint64_t d, uint64_t) { return m | d; }},
    {"xor_x2", 8, 1, [](uint64_t m, uint64_t d, uint64_t) { return m ^ d; }},
    {"inc_x2", 8, 1, [](uint64_t m, uint64_t d, uint64_t) { return m >= d ? 0 : m + 1; }},
    {"dec_x2", 8, 1, [](uint64_t m, uint64_t d, uint64_t) { return m == 0 || m > d ? d : m - 1; }},
};

/// Operands for lane n: small numbers, edges and equal pairs all occur.
inline uint64_t atomicOperand(unsigned bytes, uint32_t seed) {
  const uint64_t low = kEdgesU32[seed % std::size(kEdgesU32)];
  const uint64_t high = kEdgesU32[seed / 7 % std::size(kEdgesU32)];
  return bytes == 4 ? low : low | high << 32;
}

} // namespace luthier::vgpu::test
