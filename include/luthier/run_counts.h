// How often instructions are executed, and for how many lanes: exact, at a fraction of what it costs to count each.
// Luthier chooses the places that everything else follows from, and keeps counters of loops in registers
// (docs/counting.md). Of each instruction, over the whole run:
//
//   #include <luthier/run_counts_hooks.h>                        // in the tool's .hip
//
//   luthier::RunCounts counts{*this, LUTHIER_RUN_COUNTS(hooks)}; // a member of the tool
//   counts.count(kernel, at);                                    // Tool::instrument
//   counts.finished(launch);                                     // Tool::finished
//   counts.forEach([&](const luthier::InstrCount &count) { });   // Tool::exit
//
// Of all instructions of each launch:
//
//   luthier::LaunchCounts counts{LUTHIER_LAUNCH_COUNTS(hooks)};
//   counts.count(kernel, at);                                    // Tool::instrument
//   const auto [instructions, lanes] = counts.of(launch);        // Tool::finished
//
// These classes are Luthier's, not the tool's: a change of what is declared here raises kToolAbi (luthier/abi.h).
#pragma once

#include "luthier/tool.h"

namespace luthier {

/// An instruction and its executions. It is a place too: kernel, function, address, text and source line.
struct InstrCount : SiteOfValue {
  uint64_t waves = 0, lanes = 0;
};

constexpr unsigned kCountSlots = 8, kCountGroups = 4, kCountedOnce = 16; ///< of run_counts_hooks.h

/// The hooks of run_counts_hooks.h, for RunCounts.
struct RunCountHooks {
  Variable<uint64_t[2], VariableKind::PerSite> counts;
  Variable<uint64_t[kCountSlots], VariableKind::PerSite> slots, products;
  Variable<uint64_t[kCountedOnce], VariableKind::PerSite> once;
  Hook<> visits, lanes, both, takenVisits, takenLanes, passedVisits, passedLanes, start;
  std::array<Hook<>, kCountSlots> slotVisits, slotLanes;
  std::array<Hook<>, kCountedOnce> onceVisits, onceLanes;
  std::array<Hook<>, kCountSlots> storeSlots, storeProducts; ///< the first n + 1
  std::array<Hook<>, kCountedOnce> storeOnce;
};
#define LUTHIER_COUNT_SLOTS_(hooks, name)                                                                              \
  {hooks::run_counts::name##0, hooks::run_counts::name##1, hooks::run_counts::name##2, hooks::run_counts::name##3,     \
   hooks::run_counts::name##4, hooks::run_counts::name##5, hooks::run_counts::name##6, hooks::run_counts::name##7}
#define LUTHIER_COUNTED_ONCE_(hooks, name)                                                                             \
  {hooks::run_counts::name##0,  hooks::run_counts::name##1,  hooks::run_counts::name##2,  hooks::run_counts::name##3,  \
   hooks::run_counts::name##4,  hooks::run_counts::name##5,  hooks::run_counts::name##6,  hooks::run_counts::name##7,  \
   hooks::run_counts::name##8,  hooks::run_counts::name##9,  hooks::run_counts::name##10, hooks::run_counts::name##11, \
   hooks::run_counts::name##12, hooks::run_counts::name##13, hooks::run_counts::name##14, hooks::run_counts::name##15}
#define LUTHIER_RUN_COUNTS(hooks)                                                                                      \
  luthier::RunCountHooks {                                                                                             \
    hooks::run_counts::counts, hooks::run_counts::slots, hooks::run_counts::products, hooks::run_counts::once,         \
        hooks::run_counts::visits, hooks::run_counts::lanes, hooks::run_counts::both, hooks::run_counts::takenVisits,  \
        hooks::run_counts::takenLanes, hooks::run_counts::passedVisits, hooks::run_counts::passedLanes,                \
        hooks::run_counts::start, LUTHIER_COUNT_SLOTS_(hooks, slotVisits), LUTHIER_COUNT_SLOTS_(hooks, slotLanes),     \
        LUTHIER_COUNTED_ONCE_(hooks, onceVisits), LUTHIER_COUNTED_ONCE_(hooks, onceLanes),                             \
        LUTHIER_COUNT_SLOTS_(hooks, storeSlots), LUTHIER_COUNT_SLOTS_(hooks, storeProducts),                           \
        LUTHIER_COUNTED_ONCE_(hooks, storeOnce)                                                                        \
  }

/// Counts of each instruction, over all launches that have completed. One per tool; keeps what it must know of kernels.
class LUTHIER_API RunCounts {
public:
  /// `Everywhere`: a counter at each block and active-lane set, so that what waves have executed that never get to
  /// their end (a trap, a fault) is counted too. It costs several times as much.
  enum class Where : uint8_t { WhereNeeded, Everywhere };

  RunCounts(Tool &tool, const RunCountHooks &hooks, Where where = Where::WhereNeeded);
  ~RunCounts();
  RunCounts(const RunCounts &) = delete;
  RunCounts &operator=(const RunCounts &) = delete;

  void count(Kernel &kernel, Site at);
  void finished(const Launch &launch);
  /// All instructions that are counted, executed or not, kernel by kernel in the order of the code.
  void forEach(const std::function<void(const InstrCount &)> &visit) const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The hooks of run_counts_hooks.h, for LaunchCounts.
struct LaunchCountHooks {
  Variable<uint64_t, VariableKind::PerLaunch> instructions, lanes;
  Hook<uint64_t> visit, visitInWave, manyRun, manyRunInWave;
  Hook<uint32_t> fewVisitsInWave, run, runInWave, runOnce;
  Hook<> start, storeInstructions, storeLanes, storeSums, addOnce;
  std::array<Hook<>, kCountSlots> slotVisits, slotLanes;
  std::array<Hook<uint32_t>, kCountSlots> addSlotVisits, addSlotLanes, addSlotTimes;
  std::array<Hook<>, kCountGroups> runOfGroup;
  std::array<Hook<uint32_t>, kCountGroups> addGroup;
};
#define LUTHIER_COUNT_GROUPS_(hooks, name)                                                                             \
  {hooks::run_counts::name##0, hooks::run_counts::name##1, hooks::run_counts::name##2, hooks::run_counts::name##3}
#define LUTHIER_LAUNCH_COUNTS(hooks)                                                                                   \
  luthier::LaunchCountHooks {                                                                                          \
    hooks::run_counts::instructions, hooks::run_counts::launchLanes, hooks::run_counts::visit,                         \
        hooks::run_counts::visitInWave, hooks::run_counts::manyRun, hooks::run_counts::manyRunInWave,                  \
        hooks::run_counts::fewVisitsInWave, hooks::run_counts::run, hooks::run_counts::runInWave,                      \
        hooks::run_counts::runOnce, hooks::run_counts::start, hooks::run_counts::storeInstructions,                    \
        hooks::run_counts::storeLanes, hooks::run_counts::storeSums, hooks::run_counts::addOnce,                       \
        LUTHIER_COUNT_SLOTS_(hooks, slotVisits), LUTHIER_COUNT_SLOTS_(hooks, slotLanes),                               \
        LUTHIER_COUNT_SLOTS_(hooks, addSlotVisits), LUTHIER_COUNT_SLOTS_(hooks, addSlotLanes),                         \
        LUTHIER_COUNT_SLOTS_(hooks, addSlotTimes), LUTHIER_COUNT_GROUPS_(hooks, runOfGroup),                           \
        LUTHIER_COUNT_GROUPS_(hooks, addGroup)                                                                         \
  }

/// Executed instructions and active lanes of each launch. One per tool.
class LUTHIER_API LaunchCounts {
public:
  struct Sums {
    uint64_t instructions = 0, lanes = 0;
  };

  explicit LaunchCounts(const LaunchCountHooks &hooks);
  ~LaunchCounts();
  LaunchCounts(const LaunchCounts &) = delete;
  LaunchCounts &operator=(const LaunchCounts &) = delete;

  void count(Kernel &kernel, Site at);
  /// In Tool::finished. Nothing of launches that ran unmodified.
  Sums of(const Launch &launch) const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace luthier
