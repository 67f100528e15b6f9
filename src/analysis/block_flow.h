// What may be the case at the start of each block of a function: forwards along edges, to a fixed point.
//
// A state begins at the blocks that control enters from outside. Where it has been taken to a block's end, whoever
// looks says where it goes on (enter); blocks at which that is news are looked at again, in an order in which most
// predecessors come first.
#pragma once

#include "analysis/cfg.h"

#include <utility>
#include <vector>

namespace luthier::analysis {

template <class State> class BlockFlow {
public:
  explicit BlockFlow(const Cfg &cfg, const State &unreached = {})
      : cfg_(&cfg), starts_(cfg.blocks().size(), unreached), reached_(starts_.size()), open_(starts_.size()) {}

  /// Control may come to the block with this state: whether that is news. `merge(State &, const State &)` adds what the
  /// second one has to the first, and says whether that changed it; it only ever adds.
  template <class Merge> bool enter(uint32_t block, const State &state, Merge &&merge) {
    const bool changed = !reached_[block] || merge(starts_[block], state);
    if (!reached_[block])
      starts_[block] = state;
    reached_[block] = 1;
    if (changed)
      open_[block] = 1;
    return changed;
  }
  bool enter(uint32_t block, const State &state) {
    return enter(block, state, [](State &into, const State &from) { return into.merge(from); });
  }
  /// For other reasons than what comes to its start.
  void lookAgain(uint32_t block) { open_[block] = 1; }

  bool reached(uint32_t block) const { return reached_[block] != 0; }
  const State &start(uint32_t block) const { return starts_[block]; }
  std::vector<State> takeStarts() { return std::move(starts_); }

  /// Calls `look(block, state at its start)` until there is no news.
  template <class Look> void run(Look &&look) {
    const auto order = cfg_->postorder();
    for (bool again = true; again;) {
      again = false;
      for (size_t i = order.size(); i-- > 0;)
        if (const uint32_t block = order[i]; std::exchange(open_[block], 0)) {
          look(block, State(starts_[block]));
          again = true;
        }
    }
  }

private:
  const Cfg *cfg_;
  std::vector<State> starts_;
  std::vector<uint8_t> reached_, open_;
};

} // namespace luthier::analysis
