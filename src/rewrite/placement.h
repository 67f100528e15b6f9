// Places a fragment at a point of a kernel: chooses its registers and writes the code around it.
//
// Registers are taken in this order: dead ones of the kernel, new ones that cost no occupancy, and last ones that are
// live and get saved around the fragment: vector registers in accumulation registers or scratch, scalar ones in the
// lanes of a vector register. Where even that is not enough, the kernel gets more of them at the cost of occupancy, as
// long as its workgroups can be started. What the fragment only reads stays where the guest has it. SCC, VCC, M0 and
// EXEC are saved where they are live and the fragment changes them.
//
// A shared hook is called: its registers are the same at all of its places, those that are live are saved, and inputs
// are copied. A place where that is impossible gets a copy of the fragment.
//
// Where only some visits run the hook, what decides comes before all else, so that the others cost little; unless the
// registers that takes would have to be saved.
//
// A wave hook with vector instructions runs with lane 0 alone. Registers that it uses are saved under that EXEC, so
// that the other lanes need no care.
#pragma once

#include "analysis/liveness.h"
#include "analysis/modes.h"
#include "analysis/waits.h"
#include "rewrite/glue.h"
#include "rewrite/prepared_fragment.h"
#include "rewrite/register_pool.h"

#include <optional>
#include <string>
#include <vector>

namespace luthier::rewrite {

/// 32 bits that a fragment is given: a constant, or what a register of the guest holds.
struct InputBinding {
  Reg fragment{};
  bool constant = false;
  uint32_t value = 0;
  Reg guest{};
  int lane = -1;   ///< of the vector register `guest`; -1: all of it
  int memory = -1; ///< a dword of SpillArea::scalars instead
  bool inRegister() const { return !constant && memory < 0; }
};
/// A register of the guest that gets 32 bits of a fragment's.
struct OutputBinding {
  Reg fragment{};
  Reg guest{};
  int lane = -1;
  int memory = -1;
};

/// Decides whether a visit runs the hook: 32 bits that the wave keeps.
struct VisitCheck {
  ReservedSlot slot;
  /// They count visits: it runs when they are 0, and again after so many visits. 0: it runs unless they are 0.
  uint32_t every = 0;
};

struct SharedHook;

struct Site {
  const PreparedFragment *fragment = nullptr;
  const SharedHook *shared = nullptr; ///< of the same fragment: to be called, if that is possible
  std::vector<InputBinding> inputs;
  std::vector<OutputBinding> outputs;
  analysis::LiveSets live;
  const analysis::WaitState *waits = nullptr;
  bool indexed = false; ///< between s_set_gpr_idx_on and _off
  /// What MODE may hold; null: the hook does not depend on it, or it is as the hook expects it.
  const analysis::ModeState *mode = nullptr;
  bool keepFlags = false; ///< exceptions of the hook must not be seen
  /// Where EXEC is that a lane hook runs with; none: the guest's.
  std::optional<ReservedSlot> startLanes = {};
  std::vector<VisitCheck> checks = {}; ///< all must agree
  RegSet mayChange = {};               ///< of the kernel's, by assembly; nothing of it is saved
};

struct PlacedSite {
  CodeSequence before, fragment, after; ///< `fragment` is the call if it is called
  const SharedHook *called = nullptr;
  /// What runs between `before` and `after`.
  std::span<const Instr *const> executed() const;
  /// A branch in `before` around the hook, to so many bytes into `after`: taken when the visit is not one that counts,
  /// or no lane is active.
  struct Guard {
    size_t at = 0, into = 0;
    size_t before = 0; ///< instructions of `before` up to the branch, with it
    size_t instrs = 0; ///< of `after` that it goes around
    /// What is executed if it is taken.
    std::span<const Instr *const> upTo(const PlacedSite &site) const { return site.before.instrs().first(before); }
    std::span<const Instr *const> from(const PlacedSite &site) const { return site.after.instrs().subspan(instrs); }
  };
  std::vector<Guard> guards;
  unsigned saved = 0;
  bool waited = false;
  std::vector<Reg> inputs; ///< where the hook finds what the site's inputs are, one by one

  void padBefore(const Glue &glue, unsigned waitStates); ///< in front of everything
  void padBeforeFragment(const Glue &glue, unsigned waitStates);
  void padBehindFragment(const Glue &glue, unsigned waitStates);
  void insertBehindFragment(const CodeSequence &code);
  void padAround(const Glue &glue, size_t guard, unsigned waitStates); ///< where its branch goes
  void padBehind(const Glue &glue, unsigned waitStates);               ///< behind everything
  void surround(const CodeSequence &first, const CodeSequence &last);  ///< all of it
  /// How far a guard's branch goes, in dwords.
  size_t distance(const Guard &guard) const {
    return (before.size() - guard.at - 4 + fragment.size() + guard.into) / 4;
  }
  /// Sets the guards' distances, when nothing is added any more.
  void finish();
};

/// Scratch behind the guest's own, for registers that hooks displace.
struct SpillArea {
  bool available = false;
  std::string reason;                 ///< why not
  uint32_t base = 0;                  ///< where it starts, in bytes per lane
  uint32_t frame = 0, frameBytes = 0; ///< before it: memory of the hooks' own, one after the other
  bool frameUsed = false;
  bool frameAtEnd = false; ///< it is at the end of what the launch gives instead, behind a stack that grows
  uint32_t slots = 0;      ///< in use, of four bytes
  bool direct = false;     ///< instructions reach all of it without a register
  static constexpr uint32_t kMostSlots = 260; ///< all vector registers, and those that keep scalar ones
  /// Memory of the wave for scalar values, reached from FLAT_SCRATCH by scalar instructions: no register is needed to
  /// get at it. First what is kept for the whole kernel, then what a site saves; offsets in bytes.
  static constexpr uint32_t kKeptScalars = 64, kSavedScalars = 128;
  static constexpr uint32_t kScalarBytes = (kKeptScalars + kSavedScalars) * 4;
  std::optional<uint32_t> scalars;
  bool scalarsUsed = false;
  uint32_t kept(int dword) const { return *scalars + 4 * static_cast<uint32_t>(dword); }
  uint32_t saved(size_t dword) const { return *scalars + 4 * (kKeptScalars + static_cast<uint32_t>(dword)); }
};

class Placer {
public:
  Placer(const Glue &glue, RegisterPool &pool, SpillArea &spill) : glue_(glue), pool_(pool), spill_(spill) {}

  /// An error is the reason why it cannot be placed there.
  Result<PlacedSite> place(const Site &site);

private:
  Result<PlacedSite> placeAs(const Site &site);
  const Glue &glue_;
  RegisterPool &pool_;
  SpillArea &spill_;
};

} // namespace luthier::rewrite
