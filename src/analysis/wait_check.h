// Looks for waits that are missing or too weak: instructions that touch a register before the operation that loads it
// is sure to be done, along any path through a program.
//
// This is the static counterpart of the virtual GPU's strict waits (vgpu/wave/waits.h), and has the same rules. A
// forward analysis keeps, for every register that an operation in flight will write, that operation and the least
// number of operations that were issued behind it in the same counter: a wait that leaves no more than those in flight
// is done with it. Where paths join, what may be in flight on one of them may be in flight, with the smaller number.
//
//   in order     vector memory in vmcnt, LDS in lgkmcnt, and each half of FLAT from gfx10 on
//   in any order scalar memory always; FLAT up to gfx9; operations of several kinds in one counter. While one of them
//                is in flight, only a wait for 0 says anything.
//   finite       a counter cannot hold more than its largest number: hardware issues nothing more before an older
//                operation is done. An operation with so many behind it, in order, needs no wait.
//
// Overwriting counts as touching, unless the overwriting load returns in order behind the one in flight. A load of 16
// bits is about one half of its register; the other one may be loaded and used meanwhile. Which half a 16-bit operation
// uses is not decoded, so that one on a register that is being loaded by halves is not reported. Data of stores is read
// when they issue; that of exports and GDS may be read later, so that overwriting it needs expcnt.
//
// Across calls, what a caller has in flight is in flight at its callee's start, and the other way round at the return.
// LLVM's convention is stricter: a callee waits for everything (but stores) before it does anything, and again before
// it returns. That is what functions are held to whose callers are not known, and what calls through pointers are
// trusted with.
//
// Not known statically is which lanes are on. Two instructions that are never executed for a common lane are told
// apart only where their masks are constants, or a condition and its complement (exec_masks.h).
#pragma once

#include "analysis/cfg.h"
#include "analysis/wait_events.h"

#include <span>
#include <string>
#include <vector>

namespace luthier::analysis {

struct CheckedFunction {
  const Cfg *cfg = nullptr;
  bool kernel = true;          ///< starts with nothing in flight
  bool unknownCallers = false; ///< may be called from code that is not among those checked
};

struct WaitFinding {
  enum class Kind : uint8_t {
    Read,        ///< a register is read that is still being loaded
    Overwritten, ///< ... is overwritten
    LateSource,  ///< a register is overwritten that an export or GDS may still have to read
    Lds,         ///< LDS is read, and no read of it comes behind a wait for a load that goes to LDS
    Returned,    ///< a function returns, to nobody knows whom, with a load in flight
  };
  struct Need {
    Counter counter = Counter::Vm;
    uint8_t most = 0;       ///< a wait for at most so many is enough
    bool unordered = false; ///< ... which is 0 because others are in flight that are done in any order
  };
  Kind kind = Kind::Read;
  uint32_t function = 0; ///< of those checked
  const Instr *instr = nullptr;
  uint32_t earlierFunction = 0;
  const Instr *earlier = nullptr; ///< the operation in flight; null: one of an unknown caller
  std::vector<RegRange> regs;     ///< that are touched; none for Lds
  std::vector<Need> needs;        ///< all of them are missing
  const Instr *wait = nullptr;    ///< the last wait for one of these counters on the way, if it is in the same function
  bool lanesMayDiffer = false;    ///< EXEC is written between the two
};

/// Something that could not be followed.
struct WaitGap {
  uint32_t function = 0;
  const Instr *instr = nullptr;
  std::string why;
};

struct WaitReport {
  std::vector<WaitFinding> findings; ///< by function and address
  std::vector<WaitGap> gaps;
};

/// The instructions must outlive the report. Calls are resolved among the functions, by address.
WaitReport checkWaits(const isa::Target &target, std::span<const CheckedFunction> functions);

} // namespace luthier::analysis
