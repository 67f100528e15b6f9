// Where to count how often each instruction of a kernel is executed, and for how many lanes: at as few places as it
// takes, and at those that are visited least.
//
// Both are flows (analysis/flow_network.h). Waves flow through blocks along the edges of the control-flow graph. Lanes
// flow through runs, the parts of blocks throughout which EXEC is the same; none flow along an edge that is taken only
// when EXEC is zero (s_cbranch_execz). Where EXEC is written, the lanes of the run before it go somewhere, and those of
// the run behind it come from somewhere; where EXEC is seen to get back what it held (analysis/exec_masks.h), they go
// from the one to the other.
//
// What flows into the kernel is known to whoever launches it: its waves and work-items. What flows into and out of
// other functions, and what does not come back from calls, follows from the rest. A function in which control may go
// where the graph does not say (jumps through registers) has a counter for each block and run.
//
// A wave that does not get to its end (a trap, a fault) breaks the equations: what is derived for its kernel is wrong
// then.
#pragma once

#include "analysis/flow_network.h"
#include "analysis/loops.h"

#include <optional>
#include <span>
#include <vector>

namespace luthier::analysis {

/// Counters that a wave can keep in registers until it ends.
constexpr unsigned kCountSlots = 8;

class CountPlan {
public:
  /// Instructions of a block throughout which the same lanes are active.
  struct Run {
    uint32_t function = 0, block = 0;
    uint32_t first = 0, count = 0; ///< indices of instructions
  };
  enum class What : uint8_t { Visits, Lanes };
  struct Counter {
    What what = What::Visits;
    uint32_t function = 0;
    uint32_t instr = 0;                ///< the place is before it, unless it is an edge, whose block it ends
    std::optional<uint32_t> edge = {}; ///< number in Cfg::edges
    double frequency = 0;              ///< visits per wave: a guess
    bool once = false;                 ///< no wave comes there twice
    /// That a wave has for it, as it is visited often, and not once. None: it is in memory. Those that are multiplied
    /// come first.
    std::optional<unsigned> slot = {};
    /// Of lanes: EXEC is what the wave started with, and the slot is that of the visits there. Nothing is to be done at
    /// the place: what is to be counted is the slot's number times the lanes that the wave started with.
    bool timesStartLanes = false;

  private:
    friend class CountPlan;
    uint32_t flow_ = 0; ///< edge of the network
  };
  struct Count {
    uint64_t waves = 0, lanes = 0;
  };

  struct Options {
    unsigned slots = kCountSlots; ///< that a wave may have
    /// A counter for each block and run, whatever follows from others, and none of them with a slot.
    bool everywhere = false;
  };
  /// For a kernel and the functions that it can reach, the kernel first. They must outlive the plan.
  static CountPlan of(std::span<const Cfg *const> functions, const Options &options);
  static CountPlan of(std::span<const Cfg *const> functions) { return of(functions, {}); }

  std::span<const Run> runs() const { return runs_; } ///< in the order of functions and instructions
  std::span<const Counter> counters() const { return counters_; }

  /// What each run was executed: `values` are the counters', over launches with so many waves and work-items in all.
  std::vector<Count> solve(std::span<const uint64_t> values, uint64_t waves, uint64_t workItems) const;

  /// The sums over all instructions: each counter's value times `ofCounter`, and `perWave` for each wave (instructions)
  /// or `perWorkItem` for each work-item (lanes), modulo 2^64.
  struct Weights {
    std::vector<uint64_t> ofCounter; ///< of visits: in the sum of instructions; of lanes: in the sum of lanes
    uint64_t perWave = 0, perWorkItem = 0;
  };
  Weights weights() const;

private:
  struct Flows {
    FlowNetwork visits, lanes;
    std::vector<uint32_t> ofBlock, ofRun;        ///< edges: in `visits` and in `lanes`
    uint32_t firstRun = 0;                       ///< of the function, in runs_
    bool knownWaves = false, knownItems = false; ///< what enters along edge 0 is
  };
  class Builder;

  std::vector<Run> runs_;
  std::vector<Counter> counters_;
  std::vector<Flows> flows_; ///< by function
};

} // namespace luthier::analysis
