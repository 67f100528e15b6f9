// Liveness across calls.
//
// CallSummaries and CallWaits answer what a call of a function does to live sets and leaves in flight; ProgramLiveness
// adds what is live where functions return to, from all their known callers. Both treat what they cannot see as
// "everything is live".
#pragma once

#include "analysis/callgraph.h"
#include "analysis/liveness.h"
#include "analysis/waits.h"

#include <map>
#include <memory>
#include <set>

namespace luthier::analysis {

/// Transfers of whole functions, computed when asked for. The program must outlive it.
class CallSummaries {
public:
  explicit CallSummaries(Program &program) : program_(&program) {}

  /// Of the function that starts at the address; null when none does, or when it cannot be decoded.
  const Transfer *at(uint64_t address);
  /// For Liveness::compute; refers to this object.
  LivenessContext context() {
    return {.summary = [this](uint64_t address) { return at(address); }, .atReturn = {}};
  }

private:
  struct Entry {
    Transfer transfer;
    bool done = false;
    unsigned depth = 0; ///< of the computation under way, 0 when there is none
    bool asked = false; ///< for its value while it was being computed
  };
  const Transfer *compute(Entry &entry, const Function &function);

  Program *program_;
  std::map<uint64_t, Entry> entries_;
  unsigned depth_ = 0;
  unsigned lowest_ = 0; ///< depth of the lowest entry under way that the current computation depended on
};

/// What functions leave in flight when they return, computed when asked for. The program must outlive it.
class CallWaits {
public:
  explicit CallWaits(Program &program) : program_(&program) {}

  /// Of the function that starts at the address; null when none does, or while it is being found out (recursion).
  const WaitState *at(uint64_t address);
  /// For Waits::compute; refers to this object.
  WaitContext context(bool kernel) {
    return {.kernel = kernel, .returned = [this](uint64_t address) { return at(address); }};
  }

private:
  Program *program_;
  std::map<uint64_t, std::optional<WaitState>> states_;
};

/// Liveness of a set of functions that call each other: those that `root` can reach, or all of a program.
class ProgramLiveness {
public:
  /// Functions that `root` can reach, itself included, as it runs them: callers that it cannot reach do not count.
  static Result<ProgramLiveness> compute(Program &program, const CallGraph &graph, const object::Symbol &root);
  /// All functions, for any kernel.
  static Result<ProgramLiveness> compute(Program &program, const CallGraph &graph);

  /// Null when the function is not among them.
  const Liveness *of(const object::Symbol &symbol) const;

private:
  static Result<ProgramLiveness> compute(Program &program, const CallGraph &graph, const std::vector<uint32_t> &nodes,
                                         uint32_t root);

  std::unique_ptr<CallSummaries> summaries_;
  std::map<const object::Symbol *, Liveness> liveness_;
};

} // namespace luthier::analysis
