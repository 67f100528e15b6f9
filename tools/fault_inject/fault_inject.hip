// Counts results, wave by wave, over all launches, and flips a bit of one of them in one lane.
#include "fault.h"

#include <luthier/hook.h>

LUTHIER_DEVICE uint64_t results;
LUTHIER_PER_SITE uint64_t computed;
LUTHIER_PER_LAUNCH uint32_t fault[fault_inject::kWords];

/// `target` counts from 1; `lane`: of those that are active, modulo their number.
LUTHIER_HOOK(lane) uint32_t flip(uint32_t value, uint32_t address, uint64_t target, uint32_t lane, uint32_t bit) {
  const uint64_t active = luthier::activeLanes();
  uint64_t number = 0;
  if (luthier::isFirstLane()) {
    number = luthier::atomicAdd(results, 1) + 1;
    luthier::atomicAdd(computed, 1);
  }
  if (luthier::readFirstLane(number) != target)
    return value;
  if (luthier::popcount(active & ((1ull << luthier::laneId()) - 1)) != lane % luthier::popcount(active))
    return value;
  const uint32_t changed = value ^ 1u << bit;
  fault[fault_inject::Done] = 1;
  fault[fault_inject::Address] = address;
  for (uint32_t n = 0; n < 3; ++n) {
    fault[fault_inject::Group + n] = luthier::workgroupId(n);
    fault[fault_inject::Thread + n] = luthier::workitemId(n);
  }
  fault[fault_inject::Before] = value;
  fault[fault_inject::After] = changed;
  return changed;
}
