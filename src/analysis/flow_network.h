// A network in which what flows into a node flows out again, and where to measure it so that all of it is known.
//
// How often control goes along the edges of a function is such a flow. It has one equation per node, so that the edges
// of a spanning tree follow from the others: only these others need counters (Knuth and Stevenson, "Optimal Measurement
// Points for Program Frequency Counts", 1973; Ball and Larus, "Optimally Profiling and Tracing Programs", 1994). The
// tree is the one whose edges would cost most to count.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace luthier::analysis {

class FlowNetwork {
public:
  /// Costs of an edge that nobody can count, and of one whose flow is known without.
  static constexpr double kImpossible = std::numeric_limits<double>::infinity(), kKnown = -1;

  uint32_t addNode() { return nodes_++; }
  uint32_t addEdge(uint32_t from, uint32_t to, double cost) {
    edges_.push_back({from, to, cost, false});
    return static_cast<uint32_t>(edges_.size() - 1);
  }
  size_t edges() const { return edges_.size(); }

  /// Chooses the edges to count, at the least cost. False: edges that nobody can count do not follow from the others.
  bool choose();
  /// Whether the edge is to be counted. Those that are known are not.
  bool counted(uint32_t edge) const { return !edges_[edge].derived && edges_[edge].cost != kKnown; }

  /// Fills in the flow along all edges from that along those that are counted or known. Numbers are modulo 2^64.
  void solve(std::span<uint64_t> flow) const;
  /// What is to be added up for each unit of flow along a counted or known edge, so that the result is the sum over all
  /// edges of flow times `weight`. 0 for the others. Modulo 2^64.
  std::vector<uint64_t> weights(std::span<const uint64_t> weight) const;

private:
  struct Edge {
    uint32_t from, to;
    double cost;
    bool derived; ///< it is in the tree
  };
  /// An edge of the tree that leads away from the root of its part.
  struct Branch {
    uint32_t edge, node;
  };
  uint32_t nodes_ = 0;
  std::vector<Edge> edges_;
  std::vector<Branch> tree_; ///< a node's own branch comes before those that start there
};

} // namespace luthier::analysis
