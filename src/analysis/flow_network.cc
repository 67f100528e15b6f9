#include "analysis/flow_network.h"

#include <algorithm>
#include <numeric>

namespace luthier::analysis {

bool FlowNetwork::choose() {
  std::vector<uint32_t> order(edges_.size()), group(nodes_);
  std::iota(order.begin(), order.end(), 0u);
  std::iota(group.begin(), group.end(), 0u);
  std::ranges::sort(order, [&](uint32_t a, uint32_t b) {
    return edges_[a].cost != edges_[b].cost ? edges_[a].cost > edges_[b].cost : a < b;
  });
  const auto find = [&](uint32_t node) {
    while (group[node] != node)
      node = group[node] = group[group[node]];
    return node;
  };
  std::vector<std::vector<uint32_t>> treeAt(nodes_);
  bool possible = true;
  for (const uint32_t n : order) {
    Edge &edge = edges_[n];
    const uint32_t a = find(edge.from), b = find(edge.to);
    edge.derived = a != b && edge.cost != kKnown;
    if (edge.derived) {
      group[a] = b;
      treeAt[edge.from].push_back(n);
      treeAt[edge.to].push_back(n);
    } else
      possible &= edge.cost != kImpossible;
  }

  tree_.clear();
  std::vector<uint8_t> seen(nodes_);
  for (uint32_t root = 0; root < nodes_; ++root) {
    if (seen[root])
      continue;
    seen[root] = 1;
    std::vector<uint32_t> open{root};
    while (!open.empty()) {
      const uint32_t node = open.back();
      open.pop_back();
      for (const uint32_t n : treeAt[node])
        if (const uint32_t other = edges_[n].from == node ? edges_[n].to : edges_[n].from; !seen[other]) {
          seen[other] = 1;
          tree_.push_back({n, other});
          open.push_back(other);
        }
    }
  }
  return possible;
}

void FlowNetwork::solve(std::span<uint64_t> flow) const {
  std::vector<uint64_t> surplus(nodes_); // what is known to flow in, less what flows out
  const auto note = [&](uint32_t n) {
    surplus[edges_[n].to] += flow[n];
    surplus[edges_[n].from] -= flow[n];
  };
  for (uint32_t n = 0; n < edges_.size(); ++n)
    if (!edges_[n].derived)
      note(n);
  // From the leaves on, a node's own branch is the only one that is not known.
  for (size_t k = tree_.size(); k-- > 0;) {
    const auto [n, node] = tree_[k];
    flow[n] = edges_[n].from == node ? surplus[node] : 0 - surplus[node];
    note(n);
  }
}

std::vector<uint64_t> FlowNetwork::weights(std::span<const uint64_t> weight) const {
  // What flows in flows out: a potential of each node may be added to the edges that leave it and subtracted from those
  // that reach it. It is chosen so that nothing is left on the tree.
  std::vector<uint64_t> potential(nodes_), result(edges_.size());
  for (const auto [n, node] : tree_) {
    const Edge &edge = edges_[n];
    if (edge.to == node)
      potential[node] = weight[n] + potential[edge.from];
    else
      potential[node] = potential[edge.to] - weight[n];
  }
  for (uint32_t n = 0; n < edges_.size(); ++n)
    if (const Edge &edge = edges_[n]; !edge.derived)
      result[n] = weight[n] + potential[edge.from] - potential[edge.to];
  return result;
}

} // namespace luthier::analysis
