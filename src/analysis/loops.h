// Natural loops of a function.
//
// A back edge goes to a block that dominates the one it comes from: nothing gets into the loop but through that block,
// its header. The loop is the header and all blocks from which a back edge can be reached without passing it. Back
// edges to one header belong to one loop. Of two loops, one contains the other or they have no block in common.
//
// A cycle that can be entered at several blocks has no header and is no loop here; compilers leave such only where the
// source jumps into one, and Loops::irreducible() says that there is one. Blocks that nothing reaches are in no loop.
#pragma once

#include "analysis/cfg.h"

#include <vector>

namespace luthier::analysis {

struct Loop {
  uint32_t header = 0;
  std::vector<uint32_t> blocks;    ///< with the header; ascending
  std::vector<uint32_t> entries;   ///< edges (numbers in Cfg::edges) from outside to the header
  std::vector<uint32_t> backEdges; ///< from inside to the header
  std::vector<uint32_t> exits;     ///< from inside to outside
  uint32_t parent = UINT32_MAX;    ///< the smallest one around it, by number
  uint32_t depth = 1;              ///< 1: in no other
};

class Loops {
public:
  static constexpr uint32_t kNone = UINT32_MAX;

  static Loops compute(const Cfg &cfg);

  std::span<const Loop> all() const { return loops_; } ///< ascending by header
  /// The smallest that a block is in, by number; kNone: it is in none.
  uint32_t innermost(uint32_t block) const { return innermost_[block]; }
  bool irreducible() const { return irreducible_; }

private:
  std::vector<Loop> loops_;
  std::vector<uint32_t> innermost_; ///< per block
  bool irreducible_ = false;
};

} // namespace luthier::analysis
