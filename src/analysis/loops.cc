#include "analysis/loops.h"

#include <algorithm>

namespace luthier::analysis {

namespace {

/// Immediate dominators, after Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm".
class Dominators {
public:
  explicit Dominators(const Cfg &cfg) : order_(cfg.blocks().size(), kNone), dominator_(cfg.blocks().size(), kNone) {
    std::vector<uint32_t> reached;
    for (const uint32_t block : cfg.postorder())
      if (cfg.blocks()[block].reachable)
        reached.push_back(block);
    for (uint32_t n = 0; n < reached.size(); ++n)
      order_[reached[n]] = n;
    dominator_[0] = 0;
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t n = reached.size(); n-- > 0;) {
        const uint32_t block = reached[n];
        uint32_t found = block == 0 ? 0 : kNone;
        for (const uint32_t edge : cfg.predecessors(cfg.blocks()[block]))
          if (const uint32_t from = cfg.edges()[edge].from; block != 0 && dominator_[from] != kNone)
            found = found == kNone ? from : common(from, found);
        changed |= dominator_[block] != found;
        dominator_[block] = found;
      }
    }
  }

  bool dominates(uint32_t block, uint32_t other) const {
    while (other != block && other != 0)
      other = dominator_[other];
    return other == block;
  }
  /// Its place in the order of blocks, in which successors come first as far as loops permit.
  uint32_t orderOf(uint32_t block) const { return order_[block]; }

private:
  static constexpr uint32_t kNone = UINT32_MAX;
  uint32_t common(uint32_t a, uint32_t b) const {
    while (a != b)
      if (order_[a] < order_[b])
        a = dominator_[a];
      else
        b = dominator_[b];
    return a;
  }

  std::vector<uint32_t> order_, dominator_;
};

} // namespace

Loops Loops::compute(const Cfg &cfg) {
  Loops result;
  result.innermost_.assign(cfg.blocks().size(), kNone);
  if (cfg.blocks().empty())
    return result;
  const Dominators dominators(cfg);
  const auto followed = [&](const Edge &edge) { return cfg.blocks()[edge.from].reachable; };

  std::vector<uint32_t> loopOf(cfg.blocks().size(), kNone); // by header
  for (uint32_t n = 0; n < cfg.edges().size(); ++n) {
    const Edge &edge = cfg.edges()[n];
    if (!followed(edge) || dominators.orderOf(edge.to) < dominators.orderOf(edge.from))
      continue;
    if (!dominators.dominates(edge.to, edge.from)) {
      result.irreducible_ = true;
      continue;
    }
    if (loopOf[edge.to] == kNone) {
      loopOf[edge.to] = static_cast<uint32_t>(result.loops_.size());
      result.loops_.emplace_back().header = edge.to;
    }
    result.loops_[loopOf[edge.to]].backEdges.push_back(n);
  }
  std::ranges::sort(result.loops_, {}, &Loop::header);

  std::vector<uint32_t> seen(cfg.blocks().size(), kNone); // the last loop that has it
  for (uint32_t n = 0; n < result.loops_.size(); ++n) {
    Loop &loop = result.loops_[n];
    std::vector<uint32_t> open;
    const auto add = [&](uint32_t block) {
      if (seen[block] == n || !cfg.blocks()[block].reachable)
        return;
      seen[block] = n;
      loop.blocks.push_back(block);
      if (block != loop.header)
        open.push_back(block);
    };
    add(loop.header);
    for (const uint32_t edge : loop.backEdges)
      add(cfg.edges()[edge].from);
    while (!open.empty()) {
      const uint32_t block = open.back();
      open.pop_back();
      for (const uint32_t edge : cfg.predecessors(cfg.blocks()[block]))
        add(cfg.edges()[edge].from);
    }
    std::ranges::sort(loop.blocks);
    for (const uint32_t edge : cfg.predecessors(cfg.blocks()[loop.header]))
      if (followed(cfg.edges()[edge]) && seen[cfg.edges()[edge].from] != n)
        loop.entries.push_back(edge);
    for (const uint32_t block : loop.blocks)
      for (uint32_t k = 0; k < cfg.blocks()[block].successorCount; ++k)
        if (const uint32_t edge = cfg.blocks()[block].successorBegin + k; seen[cfg.edges()[edge].to] != n)
          loop.exits.push_back(edge);
  }
  // The larger of two loops with a common block contains the other: small ones last, they are the innermost.
  std::vector<uint32_t> bySize(result.loops_.size());
  for (uint32_t n = 0; n < bySize.size(); ++n)
    bySize[n] = n;
  std::ranges::sort(bySize, [&](uint32_t a, uint32_t b) {
    const size_t sizeOfA = result.loops_[a].blocks.size(), sizeOfB = result.loops_[b].blocks.size();
    return sizeOfA != sizeOfB ? sizeOfA > sizeOfB : a < b;
  });
  for (const uint32_t n : bySize) {
    Loop &loop = result.loops_[n];
    loop.parent = result.innermost_[loop.header];
    loop.depth = loop.parent == kNone ? 1 : result.loops_[loop.parent].depth + 1;
    for (const uint32_t block : loop.blocks)
      result.innermost_[block] = n;
  }
  return result;
}

} // namespace luthier::analysis
