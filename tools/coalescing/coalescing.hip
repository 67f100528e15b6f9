// Per memory instruction: how many cache lines the lanes of a wave touch, and how their addresses follow each other.
#include <luthier/hook.h>

#include "classes.h"

LUTHIER_PER_SITE uint64_t counters[coalescing::kCounters];

namespace {

/// Lines that the lanes touch together. A lane touches one or, where the access crosses a border, two.
__device__ uint32_t linesOf(uint64_t first, uint64_t last) {
  uint32_t lines = 0;
  for (uint64_t left = luthier::ballot(true); left; left = luthier::ballot(first <= last)) {
    const uint64_t line = luthier::readLane(first, static_cast<uint32_t>(__builtin_ctzll(left)));
    const bool atFirst = first == line;
    last -= !atFirst && last == line;
    first += atFirst;
    ++lines;
  }
  return lines;
}

} // namespace

LUTHIER_HOOK(lane) void access(uint64_t address, uint32_t bytes, uint32_t lineShift) {
  const uint64_t active = luthier::activeLanes();
  const uint32_t lane = luthier::laneId();
  const uint32_t first = static_cast<uint32_t>(__builtin_ctzll(active));
  const uint32_t second =
      static_cast<uint32_t>(__builtin_ctzll(active & (active - 1) ? active & (active - 1) : active));
  const uint64_t distance = address - luthier::readLane(address, first), steps = lane - first;
  const uint64_t stride = luthier::readLane(distance, second); // between the first two, that many lanes apart
  uint32_t pattern = coalescing::Scattered;
  if (luthier::all(distance == 0))
    pattern = coalescing::Broadcast;
  else if (luthier::all(distance == steps * bytes))
    pattern = coalescing::Consecutive;
  else if (luthier::all(distance * (second - first) == steps * stride))
    pattern = coalescing::Strided;
  const uint32_t lines = linesOf(address >> lineShift, (address + bytes - 1) >> lineShift);
  if (lane != first)
    return;
  luthier::atomicAdd(counters[coalescing::Executed], 1);
  luthier::atomicAdd(counters[coalescing::Lanes], luthier::popcount(active));
  luthier::atomicAdd(counters[coalescing::Lines], lines);
  luthier::atomicMax(counters[coalescing::Most], lines);
  luthier::atomicAdd(counters[pattern], 1);
}
