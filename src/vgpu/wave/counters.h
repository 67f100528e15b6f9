// Counters of operations in flight: which of them an instruction counts in, and what a wait waits for (the manuals'
// "Data Dependency Resolution"). Strict waits (waits.h) are made of it.
//
// gfx9 has two that matter here, VM_CNT for vector memory and LGKM_CNT for all else. gfx10 gave stores one of their
// own, VS_CNT. gfx12 has one for nearly every kind: LOADcnt and STOREcnt are VM_CNT and VS_CNT, KMcnt is what DScnt has
// left of LGKM_CNT. EXP_CNT has exports, and from gfx11 on LDS data that goes straight to a register.
#pragma once

#include "isa/target.h"
#include "luthier/instr.h"

#include <array>
#include <cstdint>

namespace luthier::vgpu {

enum class Counter : uint8_t { Vector, Store, Lds, Scalar, Export };
inline constexpr unsigned kCounters = 5;

/// A bit per counter.
using CounterSet = uint8_t;
constexpr CounterSet setOf(Counter counter) { return static_cast<CounterSet>(1u << static_cast<unsigned>(counter)); }
constexpr bool contains(CounterSet set, Counter counter) { return set & setOf(counter); }

/// The counters that an instruction goes through. FLAT has two.
CounterSet countersOf(const Instr &instr, const isa::Target &target);

/// Whether operations of this space are done in the order of their issue, as far as they share a counter.
bool isDoneInOrder(MemorySpace space, const isa::Target &target);

/// How many operations of each counter a wait leaves in flight.
struct WaitLimits {
  static constexpr uint16_t kAny = UINT16_MAX;
  std::array<uint16_t, kCounters> most = {kAny, kAny, kAny, kAny, kAny};
  Reg addend = Reg::Null; ///< s_waitcnt_vscnt and its kin: a scalar register whose value is added
};

/// Of an instruction that waits.
WaitLimits limitsOf(const Instr &instr, const isa::Target &target);

} // namespace luthier::vgpu
