// Registers of an AMD GPU wave, by names that no generation changes.
//
// A Reg is one 32-bit register; what instructions name are ranges of them. Scalar registers carry the number that
// encodings give them, so that pairs are neighbours: on gfx9 and before, FLAT_SCRATCH is s102 and s103 and XNACK_MASK
// s104 and s105. From gfx10 on these are ordinary SGPRs, and FLAT_SCRATCH is a register of its own (kFlatScratch).
#pragma once

#include <bit>
#include <cstdint>
#include <string>

namespace luthier {

enum class Reg : uint16_t {
  S0 = 0, ///< S0 + n is s<n>, up to s105
  FlatScrLo = 102,
  FlatScrHi = 103,
  XnackMaskLo = 104,
  XnackMaskHi = 105,
  VccLo = 106,
  VccHi = 107,
  Ttmp0 = 108,
  M0 = 124,
  Null = 125, ///< gfx10 and later: reads as 0
  ExecLo = 126,
  ExecHi = 127,
  Scc = 128,
  Mode = 129,
  FlatScratchLo = 130, ///< where it cannot be addressed as an SGPR
  FlatScratchHi = 131,
  ScalarEnd = 192,
  V0 = 256, ///< V0 + n is v<n>, up to v255
  A0 = 512, ///< A0 + n is a<n>: AccVGPRs
  End = 768,
};

constexpr Reg operator+(Reg reg, unsigned n) { return static_cast<Reg>(static_cast<unsigned>(reg) + n); }
constexpr unsigned number(Reg reg) { return static_cast<unsigned>(reg); }
constexpr Reg sgpr(unsigned n) { return Reg::S0 + n; }
constexpr Reg vgpr(unsigned n) { return Reg::V0 + n; }
constexpr Reg agpr(unsigned n) { return Reg::A0 + n; }
constexpr bool isVector(Reg reg) { return reg >= Reg::V0 && reg < Reg::A0; }
constexpr bool isAccumulator(Reg reg) { return reg >= Reg::A0 && reg < Reg::End; }
constexpr bool isScalar(Reg reg) { return reg < Reg::ScalarEnd; }

/// `count` consecutive registers; none when `count` is 0.
struct RegRange {
  Reg first = Reg::S0;
  uint16_t count = 0;

  constexpr bool empty() const { return count == 0; }
  constexpr bool contains(Reg reg) const { return reg >= first && number(reg) < number(first) + count; }
  bool operator==(const RegRange &) const = default;
};

/// As assembly has it: "v[4:7]", "s12", "vcc", "exec_lo", "a3", "scc".
std::string toString(RegRange range);
inline std::string toString(Reg reg) { return toString(RegRange{reg, 1}); }

/// A set of registers.
class RegSet {
public:
  static constexpr unsigned kWords = number(Reg::End) / 64;

  constexpr bool contains(Reg reg) const { return words_[number(reg) / 64] >> (number(reg) % 64) & 1; }
  constexpr void insert(Reg reg) { words_[number(reg) / 64] |= 1ull << (number(reg) % 64); }
  constexpr void erase(Reg reg) { words_[number(reg) / 64] &= ~(1ull << (number(reg) % 64)); }
  constexpr void insert(RegRange range) {
    for (unsigned n = 0; n < range.count; ++n)
      insert(range.first + n);
  }
  constexpr void erase(RegRange range) {
    for (unsigned n = 0; n < range.count; ++n)
      erase(range.first + n);
  }
  constexpr bool containsAny(RegRange range) const {
    for (unsigned n = 0; n < range.count; ++n)
      if (contains(range.first + n))
        return true;
    return false;
  }
  constexpr bool containsAll(RegRange range) const {
    for (unsigned n = 0; n < range.count; ++n)
      if (!contains(range.first + n))
        return false;
    return true;
  }
  /// The first member that is not below `from`; Reg::End without one.
  constexpr Reg firstFrom(Reg from) const {
    uint64_t above = ~0ull << (number(from) % 64);
    for (unsigned n = number(from) / 64; n < kWords; ++n, above = ~0ull)
      if (const uint64_t word = words_[n] & above)
        return static_cast<Reg>(n * 64 + static_cast<unsigned>(std::countr_zero(word)));
    return Reg::End;
  }
  constexpr RegSet &operator|=(const RegSet &other) {
    for (unsigned n = 0; n < kWords; ++n)
      words_[n] |= other.words_[n];
    return *this;
  }
  constexpr RegSet &operator&=(const RegSet &other) {
    for (unsigned n = 0; n < kWords; ++n)
      words_[n] &= other.words_[n];
    return *this;
  }
  constexpr RegSet &operator-=(const RegSet &other) {
    for (unsigned n = 0; n < kWords; ++n)
      words_[n] &= ~other.words_[n];
    return *this;
  }
  friend constexpr RegSet operator|(RegSet a, const RegSet &b) { return a |= b; }
  friend constexpr RegSet operator&(RegSet a, const RegSet &b) { return a &= b; }
  friend constexpr RegSet operator-(RegSet a, const RegSet &b) { return a -= b; }
  constexpr bool empty() const { return *this == RegSet(); }
  constexpr unsigned size() const {
    unsigned n = 0;
    for (uint64_t word : words_)
      n += static_cast<unsigned>(std::popcount(word));
    return n;
  }
  constexpr bool operator==(const RegSet &) const = default;

private:
  uint64_t words_[kWords] = {};
};

} // namespace luthier
