// Which registers hold a value that is still needed, before every instruction, separately for the lanes that EXEC has
// on and off there.
//
// A vector write under EXEC leaves the lanes that are off as they were, so it does not end the life of the old value:
// a later EXEC may turn them on again. Each point has therefore two sets, for the active lanes (A) and for the
// inactive ones (I); scalar registers are in both or in neither. Going backwards:
//
//   vector read                A gains it
//   vector write               A loses it (unless only a part of the register is written)
//   cross-lane read            both gain it: readlane, readfirstlane (which reads lane 0 when EXEC is 0), DPP, permutes
//   writelane                  nothing: the other lanes stay
//   MFMA                       ignores EXEC: both gain what it reads and lose what it writes
//   scalar read, write         both gain it, both lose it; a VALU's mask result (VCC, SGPR pair) is written whole
//   EXEC narrows               A becomes A | I
//   EXEC widens                I becomes A | I
//   other writes of EXEC       both become A | I
//   indexed access             all registers of the file are read, none loses anything
//
// Every one of these maps each register's two bits to two bits by "or", so what a block does is again such a map: six
// sets (Transfer). Blocks are composed once and the fixpoint runs over those; the same composition over a whole
// function is its summary at call sites.
//
// Not followed: s_setvskip (gfx8, gfx9), which no compiler uses. With it, everything is live in the whole function.
//
// At a call: the callee's summary where there is one, everything live where not. Where a function returns: what the
// context says, or everything. At s_endpgm, and where code runs out, nothing is live. After a jump to who knows where:
// everything.
//
// What "dead" permits: a register that is in neither set may be overwritten in all lanes; one that is not in `active`
// may be overwritten in the lanes that are active at that point. It says nothing about loads that are still on their
// way into a register: see analysis/waits.h.
#pragma once

#include "analysis/cfg.h"
#include "luthier/reg.h"

#include <functional>
#include <optional>
#include <vector>

namespace luthier::analysis {

struct LiveSets {
  RegSet active, inactive;

  LiveSets &operator|=(const LiveSets &other) {
    active |= other.active;
    inactive |= other.inactive;
    return *this;
  }
  bool operator==(const LiveSets &) const = default;

  static const LiveSets &everything();
};

/// What lies between two points, going backwards: live sets behind it to live sets before it.
struct Transfer {
  RegSet fromActive, fromInactive, always;    ///< active before  = fromActive & A | fromInactive & I | always
  RegSet intoActive, intoInactive, alwaysOff; ///< inactive before = intoActive & A | intoInactive & I | alwaysOff

  static Transfer identity();
  /// Nothing gets to the other end: no path.
  static Transfer none() { return {}; }
  /// Everything is live before, whatever is behind.
  static Transfer unknown();

  LiveSets operator()(const LiveSets &after) const;
  /// Puts one more thing before: this := this, seen through `earlier`.
  void prepend(const Transfer &earlier);
  Transfer &operator|=(const Transfer &other); ///< either way may be taken
  bool operator==(const Transfer &) const = default;
};

/// What is known about the code around a function.
struct LivenessContext {
  /// The summary of the function at an address; null where unknown. Asked for calls and for jumps out of the function.
  std::function<const Transfer *(uint64_t address)> summary = {};
  /// Live where the function returns to; everything when not known.
  std::optional<LiveSets> atReturn = {};
};

class Liveness {
public:
  /// The Cfg must outlive the result.
  static Liveness compute(const Cfg &cfg, const LivenessContext &context = {});

  /// Live before an instruction, under the EXEC that is in force there. Walks its block from the end.
  LiveSets before(const Instr &instr) const;
  LiveSets before(uint32_t instr) const { return before(cfg_->instrs()[instr]); }
  /// Live behind an instruction, under the EXEC that it leaves, on the way to the next instruction or wherever it goes.
  LiveSets after(const Instr &instr) const;

  const LiveSets &atStart(uint32_t block) const { return start_[block]; }
  LiveSets atEnd(uint32_t block) const;

  /// Visits the instructions of a block from the last to the first, with what is live before each: cheaper than asking
  /// for each.
  template <class Visit> void walk(uint32_t block, Visit &&visit) const {
    LiveSets live = atEnd(block);
    const Block &b = cfg_->blocks()[block];
    for (uint32_t n = b.first + b.count; n-- > b.first;) {
      stepBack(n, b, live);
      visit(cfg_->instrs()[n], static_cast<const LiveSets &>(live));
    }
  }
  template <class Visit> void walk(Visit &&visit) const {
    for (uint32_t block = 0; block < cfg_->blocks().size(); ++block)
      walk(block, visit);
  }

  const Cfg &cfg() const { return *cfg_; }

private:
  void stepBack(uint32_t instr, const Block &block, LiveSets &live) const;

  const Cfg *cfg_ = nullptr;
  LivenessContext context_;
  std::vector<LiveSets> start_; ///< per block
  bool opaque_ = false;         ///< everything is live everywhere
};

/// A whole function as one step: live sets behind a call of it to live sets before the call.
Transfer summarize(const Cfg &cfg, const LivenessContext &context = {});

} // namespace luthier::analysis
