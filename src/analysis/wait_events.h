// What memory instructions count in, and what waits wait for: the facts that every analysis of waits stands on.
//
// Loads return when they like; an s_waitcnt makes sure of it. Each counter says how many of its operations are still in
// flight (the manuals' "Data Dependency Resolution").
//
//   VM_CNT    vector memory: loads, and up to gfx9 stores
//   VS_CNT    gfx10 and later: stores and atomics without result
//   LGKM_CNT  LDS, scalar memory, GDS, messages, and the LDS half of FLAT
//   EXP_CNT   exports and GDS, which read their sources late. From gfx11 on, LDS to registers directly
//             (lds_direct_load).
//
// gfx12 has more of them, each with a wait of its own: VM_CNT is LOADcnt, VS_CNT STOREcnt and LGKM_CNT KMcnt there,
// which is left with scalar memory and messages.
//
//   DS_CNT      LDS, and the LDS half of FLAT
//   SAMPLE_CNT  images that are filtered
//   BVH_CNT     ray tracing
//
// In which order operations of one counter are done depends on their kinds; waits.h and wait_check.h say what each
// makes of that.
#pragma once

#include "isa/target.h"
#include "luthier/instr.h"

#include <array>
#include <cstdint>
#include <string_view>

namespace luthier::analysis {

enum class Counter : uint8_t { Vm, Lgkm, Exp, Vs, Ds, Sample, Bvh };
inline constexpr unsigned kCounters = 7;
/// As the target's assembly has it: "vmcnt", "loadcnt".
std::string_view toString(Counter counter, const isa::Target &target);
/// The largest number that a counter, and a wait for it, can hold; 0 where the target does not have it.
unsigned largestCount(Counter counter, const isa::Target &target);

/// Some of them: bits by number.
using CounterSet = uint8_t;
constexpr CounterSet setOf(Counter counter) { return static_cast<CounterSet>(1u << static_cast<unsigned>(counter)); }

/// Kinds of operations, as far as order goes.
enum class EventKind : uint8_t { Vector, Image, Sample, Bvh, Flat, Lds, LdsDirect, Scalar, Message, Gds, Export };

/// One operation of an instruction, in one counter.
struct WaitEvent {
  enum class Counts : uint8_t {
    Surely,
    Perhaps, ///< cache control that compilers count
    Hardly,  ///< cache control that compilers do not count
  };
  Counter counter = Counter::Vm;
  EventKind kind = EventKind::Vector;
  Counts counts = Counts::Surely;
  bool results = false; ///< what the instruction writes arrives when it is done
  bool sources = false; ///< what the instruction reads is read until then
};

/// At most two: FLAT and GDS go through two counters.
class WaitEvents {
public:
  const WaitEvent *begin() const { return events_.data(); }
  const WaitEvent *end() const { return events_.data() + count_; }
  bool empty() const { return count_ == 0; }
  void add(const WaitEvent &event) { events_[count_++] = event; }

private:
  std::array<WaitEvent, 2> events_;
  uint8_t count_ = 0;
};
WaitEvents waitEventsOf(const Instr &instr, const isa::Target &target);

/// Whether a register can be the result, or a late source, of an operation that is waited for.
constexpr bool isAwaited(Reg reg) { return reg < Reg::M0 || isVector(reg) || isAccumulator(reg); }

/// Halves of a 32-bit register, as bits.
enum Halves : uint8_t { kLowHalf = 1, kHighHalf = 2, kBothHalves = 3 };
/// What a load fills of each register of its result: one half if it leaves the other alone (d16).
Halves loadedHalves(const Instr &instr);
/// Whether an instruction may be about one half of its registers only: 16-bit operations, of which the encoding chooses
/// halves in several ways, and stores of 16 bits.
bool mayUseOneHalf(const Instr &instr);

/// How many operations of each counter a wait leaves in flight.
struct WaitLimits {
  static constexpr uint8_t kAny = 255; ///< it does not wait for this one
  std::array<uint8_t, kCounters> left;
  bool unknown = false; ///< it adds a register to what it says here (s_waitcnt_vscnt s0, 1)

  WaitLimits() { left.fill(kAny); }
  uint8_t of(Counter counter) const { return left[static_cast<unsigned>(counter)]; }
};
/// Of an instruction with Property::Wait.
WaitLimits waitLimitsOf(const Instr &instr, const isa::Target &target);

} // namespace luthier::analysis
