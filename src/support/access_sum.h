// A multiset of memory accesses in four numbers, to compare two observers of the same run without writing down what
// either has seen.
//
// An access is what one wave did at one instruction, once: which lanes, and each one's address. Every access has a hash
// of 64 bits, and the hashes are added up, so the order does not matter. Two different multisets have the same sum by
// chance once in 2^64.
#pragma once

#include <bit>
#include <cstdint>

namespace luthier {

struct AccessSum {
  uint64_t executed = 0;  ///< accesses
  uint64_t lanes = 0;     ///< of all of them
  uint64_t masks = 0;     ///< sum of hashes of which lanes
  uint64_t addresses = 0; ///< sum of hashes of which lanes and their addresses

  /// `byLane[n]` is lane n's address; those of lanes that are not in `mask` are not looked at.
  void add(uint64_t mask, const uint64_t *byLane) {
    const uint64_t maskHash = mix(mask);
    uint64_t hash = maskHash;
    for (uint64_t rest = mask; rest; rest &= rest - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(rest));
      hash += mix(byLane[lane] + kLaneStep * (lane + 1));
    }
    ++executed;
    lanes += static_cast<uint64_t>(std::popcount(mask));
    masks += maskHash;
    addresses += mix(hash);
  }
  void add(const AccessSum &other) {
    executed += other.executed;
    lanes += other.lanes;
    masks += other.masks;
    addresses += other.addresses;
  }
  bool operator==(const AccessSum &) const = default;

private:
  static constexpr uint64_t kLaneStep = 0x9e3779b97f4a7c15; ///< keeps the same address in another lane apart
  /// A bijection in which every bit depends on every bit (the finisher of SplitMix64).
  static constexpr uint64_t mix(uint64_t x) {
    x += kLaneStep;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
  }
};

} // namespace luthier
