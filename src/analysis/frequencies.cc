#include "analysis/frequencies.h"

#include "analysis/loops.h"

#include <algorithm>
#include <cmath>

namespace luthier::analysis {

namespace {

constexpr double kSkipped = 0.1; ///< how often a branch over what no lane executes is taken

} // namespace

bool withoutLanes(const Cfg &cfg, const Edge &edge) {
  const std::string_view name = cfg.terminator(cfg.blocks()[edge.from]).mnemonic();
  return (name.starts_with("s_cbranch_execz") && edge.kind == EdgeKind::Taken) ||
         (name.starts_with("s_cbranch_execnz") && edge.kind == EdgeKind::Fallthrough);
}

Frequencies::Frequencies(const Cfg &cfg, double entry) : ofBlock(cfg.blocks().size()), ofEdge(cfg.edges().size()) {
  if (cfg.blocks().empty())
    return;
  const Loops loops = Loops::compute(cfg);
  const auto depth = [&](uint32_t loop) { return loop == Loops::kNone ? 0u : loops.all()[loop].depth; };
  const auto common = [&](uint32_t a, uint32_t b) {
    uint32_t one = loops.innermost(a), other = loops.innermost(b);
    while (one != other) {
      uint32_t &deeper = depth(one) > depth(other) ? one : other;
      deeper = loops.all()[deeper].parent;
    }
    return one;
  };
  std::vector<double> chance(cfg.blocks().size());
  chance[0] = 1;
  for (uint32_t n = 0; n < ofEdge.size(); ++n) {
    const Edge &edge = cfg.edges()[n];
    const auto siblings = cfg.successors(cfg.blocks()[edge.from]);
    const uint32_t around = common(edge.from, edge.to);
    double taken = 1.0 / static_cast<double>(std::ranges::count_if(
                             siblings, [&](const Edge &each) { return common(each.from, each.to) == around; }));
    const bool staysInside =
        std::ranges::all_of(siblings, [&](const Edge &each) { return common(each.from, each.to) == around; });
    if (staysInside && std::ranges::any_of(siblings, [&](const Edge &each) { return withoutLanes(cfg, each); }))
      taken = withoutLanes(cfg, edge) ? kSkipped : 1 - kSkipped;
    ofEdge[n] = entry * taken * std::pow(kRounds, depth(around));
    chance[edge.to] += taken;
  }
  for (uint32_t n = 0; n < ofBlock.size(); ++n)
    repeated.push_back(loops.irreducible() || loops.innermost(n) != Loops::kNone);
  for (uint32_t n = 0; n < ofBlock.size(); ++n)
    ofBlock[n] = entry * std::min(1.0, chance[n]) * std::pow(kRounds, depth(loops.innermost(n)));
}

} // namespace luthier::analysis
