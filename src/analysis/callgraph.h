// Who calls whom in a code object, and what a call may touch.
//
// Nodes are the functions of a Program. A direct call or a jump out of a function leads to the function that starts at
// its target. An indirect call may go to any function whose address is taken: formed from the PC or loaded from the
// GOT for anything but a call, or put into memory by a relocation.
#pragma once

#include "analysis/program.h"
#include "luthier/reg.h"

#include <map>

namespace luthier::analysis {

enum class CallEdge : uint8_t { Call, Tail, Indirect };
std::string_view toString(CallEdge kind);

struct CallSite {
  uint32_t caller = 0;
  uint32_t callee = 0; ///< CallGraph::kNone for an Indirect one, and where no function starts at the target
  CallEdge kind = CallEdge::Call;
  uint64_t address = 0; ///< of the instruction
  uint64_t target = 0;  ///< 0 when Indirect
};

struct CallNode {
  const object::Symbol *symbol = nullptr;
  const Function *function = nullptr;
  std::vector<uint32_t> calls;      ///< numbers of its CallSites
  std::vector<uint32_t> calledFrom; ///< numbers of direct CallSites
  bool addressTaken = false;
  bool recursive = false;  ///< can reach itself
  uint32_t component = 0;  ///< functions that can reach each other share one; callees have lower numbers
  bool hasUnknown = false; ///< itself: an indirect call, a jump to who knows where, a call of what is no function

  // Itself and everything it can reach.
  RegSet reads, writes; ///< everything if reachesUnknown
  bool reachesIndirect = false;
  bool reachesUnknown = false; ///< leaves what is known: indirectly with nothing to go to, or to what is no function
  bool usesScratch = false;    ///< accesses it, as far as instructions show
  bool usesLds = false;
};

class CallGraph {
public:
  static constexpr uint32_t kNone = UINT32_MAX;

  /// Decodes every function of the program.
  static Result<CallGraph> build(Program &program);

  std::span<const CallNode> nodes() const { return nodes_; } ///< in the order of Program::functions
  std::span<const CallSite> sites() const { return sites_; }
  std::span<const uint32_t> addressTaken() const { return addressTaken_; }
  uint32_t find(const object::Symbol &symbol) const; ///< kNone when it is not in the program
  /// A node and all it can reach, itself first.
  std::vector<uint32_t> reachable(uint32_t node) const;

  /// Nodes that a node can call or jump to itself, those of indirect calls included.
  std::vector<uint32_t> successors(uint32_t node) const;

private:
  void findComponents();
  void summarize();

  std::vector<CallNode> nodes_;
  std::vector<CallSite> sites_;
  std::vector<uint32_t> addressTaken_;
  std::map<const object::Symbol *, uint32_t> numbers_;
};

} // namespace luthier::analysis
