#include "analysis/flow_network.h"

#include <gtest/gtest.h>

#include <random>

namespace luthier::analysis::test {
namespace {

/// How often a walk from node 0 back to node 0 goes along each edge, several times over.
std::vector<uint64_t> walk(const std::vector<std::pair<uint32_t, uint32_t>> &edges, std::mt19937 &random) {
  std::vector<uint64_t> flow(edges.size());
  for (int round = 0; round < 20; ++round) {
    uint32_t node = 0;
    for (int step = 0; step == 0 || node != 0; ++step) {
      std::vector<uint32_t> ways;
      for (uint32_t n = 0; n < edges.size(); ++n)
        if (edges[n].first == node && (step < 200 || edges[n].second < node || edges[n].second == 0))
          ways.push_back(n);
      const uint32_t way = ways[random() % ways.size()];
      ++flow[way];
      node = edges[way].second;
    }
  }
  return flow;
}

TEST(FlowNetwork, RandomGraphs) {
  std::mt19937 random(1);
  for (int round = 0; round < 500; ++round) {
    const uint32_t nodes = 2 + random() % 12;
    std::vector<std::pair<uint32_t, uint32_t>> edges;
    for (uint32_t node = 0; node < nodes; ++node) { // each has a way in and a way home
      edges.emplace_back(node ? random() % node : 0, node);
      edges.emplace_back(node, node ? random() % node : 0);
    }
    for (uint32_t more = random() % 12; more > 0; --more)
      edges.emplace_back(random() % nodes, random() % nodes);

    FlowNetwork network;
    for (uint32_t node = 0; node < nodes; ++node)
      network.addNode();
    std::vector<bool> known;
    for (const auto &[from, to] : edges) {
      known.push_back(random() % 8 == 0);
      network.addEdge(from, to, known.back() ? FlowNetwork::kKnown : random() % 100);
    }
    ASSERT_TRUE(network.choose());

    const std::vector<uint64_t> truth = walk(edges, random);
    std::vector<uint64_t> flow(edges.size()), weight(edges.size());
    uint64_t sum = 0;
    for (uint32_t n = 0; n < edges.size(); ++n) {
      weight[n] = random() % 50;
      sum += weight[n] * truth[n];
    }
    const std::vector<uint64_t> weights = network.weights(weight);
    uint64_t weighted = 0;
    for (uint32_t n = 0; n < edges.size(); ++n) {
      weighted += weights[n] * truth[n];
      flow[n] = network.counted(n) || known[n] ? truth[n] : 12345; // what is derived is not looked at
    }
    EXPECT_EQ(weighted, sum);
    network.solve(flow);
    EXPECT_EQ(flow, truth);
  }
}

TEST(FlowNetwork, CountsWhereItCostsLeast) {
  FlowNetwork network;
  const uint32_t outside = network.addNode(), in = network.addNode(), out = network.addNode();
  const uint32_t entry = network.addEdge(outside, in, FlowNetwork::kKnown);
  const uint32_t block = network.addEdge(in, out, 10);
  const uint32_t back = network.addEdge(out, in, 15);
  const uint32_t exit = network.addEdge(out, outside, FlowNetwork::kImpossible);
  ASSERT_TRUE(network.choose());
  EXPECT_FALSE(network.counted(entry) || network.counted(back) || network.counted(exit));
  EXPECT_TRUE(network.counted(block));
  std::vector<uint64_t> flow = {3, 10, 77, 77};
  network.solve(flow);
  EXPECT_EQ(flow, (std::vector<uint64_t>{3, 10, 7, 3}));
}

TEST(FlowNetwork, WhatNobodyCanCount) {
  FlowNetwork network;
  const uint32_t a = network.addNode(), b = network.addNode();
  network.addEdge(a, b, FlowNetwork::kImpossible);
  network.addEdge(b, a, 1);
  EXPECT_TRUE(network.choose());
  network.addEdge(a, b, FlowNetwork::kImpossible);
  EXPECT_FALSE(network.choose());
}

} // namespace
} // namespace luthier::analysis::test
