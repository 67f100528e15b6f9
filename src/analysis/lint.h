// All rules that code can be held to without running it, over the functions of a code object: waits (wait_check.h),
// wait states (hazards.h), clauses and dual issue (issue_rules.h).
//
// A finding is a place with the earlier instruction that it is about. Several places at which one load is used too
// early are one finding: one wait is missing. What could not be checked, or only in part, is listed; a function is
// clean only if it is in neither list.
#pragma once

#include "analysis/callgraph.h"
#include "analysis/program.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace luthier::analysis {

enum class LintRule : uint8_t {
  WaitRead,
  WaitOverwrite,
  WaitSource,
  WaitLds,
  WaitEntry,
  WaitReturn,
  WaitStates,
  Clause,
  DualIssue,
};
inline constexpr unsigned kLintRules = 9;
std::string_view toString(LintRule rule);    ///< "wait-read"
std::string_view explanation(LintRule rule); ///< one sentence

/// A place in the code. The symbol is the program's.
struct CodePlace {
  const object::Symbol *function = nullptr;
  uint64_t address = 0;
  bool operator==(const CodePlace &) const = default;
};

struct LintFinding {
  LintRule rule = LintRule::WaitRead;
  CodePlace place = {};
  CodePlace earlier = {};           ///< without a function: there is none, or it is unknown
  std::string message = {};         ///< what is wrong
  std::string needed = {};          ///< what would do: "vmcnt(1)", "3 wait states"
  CodePlace wait = {};              ///< the last wait on the way that is too weak, if there is one
  std::string note = {};            ///< what else there is to know
  std::vector<CodePlace> also = {}; ///< more places that are wrong for the same reason
};

/// What was not checked.
struct LintGap {
  CodePlace place; ///< address 0: all of the function
  std::string why;
  unsigned count = 1; ///< places in the function with the same reason
};

struct LintReport {
  std::vector<LintFinding> findings;
  std::vector<LintGap> gaps;
  uint64_t kernels = 0, functions = 0; ///< that were checked
  uint64_t instructions = 0;
};

/// Checks the kernels for which `wanted` says so, and all functions that they can reach; without it, everything. Fails
/// only where the object as a whole cannot be checked.
Result<LintReport> lint(Program &program, const std::function<bool(const object::Symbol &)> &wanted = {});

} // namespace luthier::analysis
