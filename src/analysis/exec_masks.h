// What EXEC holds, by name: enough to tell that two instructions are executed for different lanes.
//
// A forward analysis over 64-bit values in SGPRs (32-bit ones in waves of 32 lanes) and EXEC. A value is a constant, or
// a name that its definition gives it; from s_and, s_andn2, s_xor, s_or and their saveexec forms come "A and C" and "A
// and not C", which is how compilers build the two sides of a branch. Where paths bring different values, the place
// where they meet gives a new name.
//
// Lanes that leave a loop one by one leave EXEC without a relation to what it was, but for being less: what a mask is
// within is kept, so that "or" with that is known to be that.
//
// A name means one value per execution of its definition: two instructions that a loop's back edge lies between must
// not be compared by it.
#pragma once

#include "analysis/cfg.h"

#include <map>
#include <tuple>
#include <vector>

namespace luthier::analysis {

class ExecMasks {
public:
  /// The Cfg must outlive the result.
  static ExecMasks compute(const Cfg &cfg);

  /// Whether the two are executed with the same EXEC, for all that is known.
  bool same(const Instr &a, const Instr &b) const { return before(a) == before(b); }
  /// Whether no lane is on at both.
  bool disjoint(const Instr &a, const Instr &b) const;

  /// The same for many at a time: what EXEC holds, as numbers that are equal where `same` says so. What it held when
  /// the function was entered is 0.
  struct Numbers {
    std::vector<uint32_t> before; ///< by instruction
    std::vector<uint32_t> atEnd;  ///< by block
  };
  Numbers numbered() const;

private:
  /// A constant, or `base` and `condition` (unless that is 0), or `base` and not `condition`. Names are never 0.
  struct Mask {
    bool constant = false, negated = false;
    uint64_t base = 0, condition = 0;
    uint64_t value = 0;
    uint64_t within = 0; ///< a name that has all its lanes, if one is known: the outermost. No part of what it is.
    bool operator==(const Mask &other) const { return key() == other.key(); }
    bool operator<(const Mask &other) const { return key() < other.key(); }
    /// The outermost name that has all its lanes; 0: none is known.
    uint64_t outer() const { return constant ? 0 : within ? within : base; }
    bool none() const { return constant && value == 0; }

  private:
    std::tuple<bool, bool, uint64_t, uint64_t, uint64_t> key() const {
      return {constant, negated, base, condition, value};
    }
  };
  using Masks = std::map<uint16_t, Mask>; ///< by first register

  static uint64_t commonOuter(const Mask &a, const Mask &b);
  static Mask andOf(const Mask &a, const Mask &b, bool negated, uint64_t name);
  static Mask xorOf(const Mask &a, const Mask &b, uint64_t name);
  static Mask orOf(const Mask &a, const Mask &b, uint64_t name);
  /// Of registers that nothing has written yet.
  static Mask initial(uint16_t reg) { return {.base = 1u + reg}; }
  static Mask read(const Masks &masks, uint16_t reg);
  static bool merge(Masks &start, const Masks &other, uint32_t block); ///< where ways meet; whether it changed `start`
  void step(Masks &masks, const Instr &instr) const;
  Mask before(const Instr &instr) const;

  const Cfg *cfg_ = nullptr;
  uint16_t words_ = 2;       ///< of a mask: 1 in waves of 32 lanes
  std::vector<Masks> start_; ///< by block
};

} // namespace luthier::analysis
