// How often control goes along the edges and through the blocks of a function: a guess, from loops and branches alone,
// to tell places that are visited often from others.
#pragma once

#include "analysis/cfg.h"

#include <vector>

namespace luthier::analysis {

/// Whether an edge is taken only when EXEC is zero: so that no lane goes along it.
bool withoutLanes(const Cfg &cfg, const Edge &edge);

struct Frequencies {
  static constexpr double kRounds = 10; ///< of a loop

  std::vector<double> ofBlock, ofEdge;
  std::vector<uint8_t> repeated; ///< blocks that control can come to more than once in a call of the function

  /// `entry`: calls of the function.
  Frequencies(const Cfg &cfg, double entry);
};

} // namespace luthier::analysis
