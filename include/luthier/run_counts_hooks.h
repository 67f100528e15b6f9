// The device side of luthier/run_counts.h, to be included into a tool's hooks. Only hooks that are called somewhere are
// compiled, and only their variables exist.
#pragma once

#include "luthier/hook.h"

namespace run_counts {

// Of each instruction: visits and lanes of a place. Those with a slot are in registers until the wave ends.
LUTHIER_PER_SITE uint64_t counts[2];
LUTHIER_PER_WAVE uint32_t startLanes; ///< that are active when the wave starts

LUTHIER_HOOK(wave) void visits() { luthier::atomicAdd(counts[0], 1); }
LUTHIER_HOOK(wave) void lanes() { luthier::atomicAdd(counts[1], luthier::popcount(luthier::exec())); }
LUTHIER_HOOK(wave) void both() {
  luthier::atomicAdd(counts[0], 1);
  luthier::atomicAdd(counts[1], luthier::popcount(luthier::exec()));
}
// The same on the two ways that lead on from a branch: the names tell the places apart.
LUTHIER_HOOK(wave) void takenVisits() { visits(); }
LUTHIER_HOOK(wave) void takenLanes() { lanes(); }
LUTHIER_HOOK(wave) void passedVisits() { visits(); }
LUTHIER_HOOK(wave) void passedLanes() { lanes(); }

LUTHIER_HOOK(wave) void start() { startLanes = luthier::popcount(luthier::exec()); }

// Of a launch. What a place adds stands for all that follows from its visits.
LUTHIER_PER_LAUNCH uint64_t instructions, launchLanes;
LUTHIER_PER_WAVE uint64_t waveInstructions, waveLanes;

LUTHIER_HOOK(wave) void visit(uint64_t n) { luthier::atomicAdd(instructions, n); }
LUTHIER_HOOK(wave) void fewVisitsInWave(uint32_t n) { waveInstructions += n; }
LUTHIER_HOOK(wave) void manyRun(uint64_t n) { luthier::atomicAdd(launchLanes, n * luthier::popcount(luthier::exec())); }
LUTHIER_HOOK(wave) void manyRunInWave(uint64_t n) { waveLanes += n * luthier::popcount(luthier::exec()); }
// For numbers whose product with a number of lanes has 32 bits.
LUTHIER_HOOK(wave) void run(uint32_t n) { luthier::atomicAdd(launchLanes, n * luthier::popcount(luthier::exec())); }
LUTHIER_HOOK(wave) void runInWave(uint32_t n) { waveLanes += n * luthier::popcount(luthier::exec()); }
LUTHIER_HOOK(wave) void visitInWave(uint64_t n) { waveInstructions += n; }
LUTHIER_HOOK(wave) void storeInstructions() { luthier::atomicAdd(instructions, waveInstructions); }
LUTHIER_HOOK(wave) void storeLanes() { luthier::atomicAdd(launchLanes, waveLanes); }
LUTHIER_HOOK(wave) void storeSums() {
  storeInstructions();
  storeLanes();
}

// Of places that no wave comes to twice: 32 bits are enough. Groups are of places that stand for equally many lanes.
LUTHIER_PER_WAVE uint32_t onceLanes;
LUTHIER_HOOK(wave) void runOnce(uint32_t n) { onceLanes += n * luthier::popcount(luthier::exec()); }
LUTHIER_HOOK(wave) void addOnce() { waveLanes += onceLanes; }
#define LUTHIER_COUNT_GROUP_(n)                                                                                        \
  LUTHIER_PER_WAVE uint32_t group##n;                                                                                  \
  LUTHIER_HOOK(wave) void runOfGroup##n() { group##n += luthier::popcount(luthier::exec()); }                          \
  LUTHIER_HOOK(wave) void addGroup##n(uint32_t each) { onceLanes += group##n * each; }
LUTHIER_COUNT_GROUP_(0)
LUTHIER_COUNT_GROUP_(1)
LUTHIER_COUNT_GROUP_(2)
LUTHIER_COUNT_GROUP_(3)
#undef LUTHIER_COUNT_GROUP_

// Slots: what is visited often.
#define LUTHIER_COUNT_SLOT_(n)                                                                                         \
  LUTHIER_PER_WAVE uint64_t slot##n;                                                                                   \
  LUTHIER_HOOK(wave) void slotVisits##n() { slot##n += 1; }                                                            \
  LUTHIER_HOOK(wave) void slotLanes##n() { slot##n += luthier::popcount(luthier::exec()); }                            \
  LUTHIER_HOOK(wave) void addSlotVisits##n(uint32_t each) { waveInstructions += slot##n * each; }                      \
  LUTHIER_HOOK(wave) void addSlotLanes##n(uint32_t each) { waveLanes += slot##n * each; }                              \
  LUTHIER_HOOK(wave) void addSlotTimes##n(uint32_t each) { waveLanes += slot##n * (each * startLanes); }
LUTHIER_COUNT_SLOT_(0)
LUTHIER_COUNT_SLOT_(1)
LUTHIER_COUNT_SLOT_(2)
LUTHIER_COUNT_SLOT_(3)
LUTHIER_COUNT_SLOT_(4)
LUTHIER_COUNT_SLOT_(5)
LUTHIER_COUNT_SLOT_(6)
LUTHIER_COUNT_SLOT_(7)
#undef LUTHIER_COUNT_SLOT_

// The first so many slots, and what they come to when multiplied by the lanes that the wave started with.
LUTHIER_PER_SITE uint64_t slots[8], products[8];
LUTHIER_HOOK(wave) void storeSlots0() { luthier::atomicAdd(slots[0], slot0); }
LUTHIER_HOOK(wave) void storeProducts0() { luthier::atomicAdd(products[0], slot0 * startLanes); }
#define LUTHIER_STORE_SLOTS_(before, n)                                                                                \
  LUTHIER_HOOK(wave) void storeSlots##n() {                                                                            \
    storeSlots##before();                                                                                              \
    luthier::atomicAdd(slots[n], slot##n);                                                                             \
  }                                                                                                                    \
  LUTHIER_HOOK(wave) void storeProducts##n() {                                                                         \
    storeProducts##before();                                                                                           \
    luthier::atomicAdd(products[n], slot##n *startLanes);                                                              \
  }
LUTHIER_STORE_SLOTS_(0, 1)
LUTHIER_STORE_SLOTS_(1, 2)
LUTHIER_STORE_SLOTS_(2, 3)
LUTHIER_STORE_SLOTS_(3, 4)
LUTHIER_STORE_SLOTS_(4, 5)
LUTHIER_STORE_SLOTS_(5, 6)
LUTHIER_STORE_SLOTS_(6, 7)
#undef LUTHIER_STORE_SLOTS_

// Of places that no wave comes to twice.
LUTHIER_PER_SITE uint64_t once[16];
#define LUTHIER_COUNT_ONCE_(n)                                                                                         \
  LUTHIER_PER_WAVE uint32_t once##n;                                                                                   \
  LUTHIER_HOOK(wave) void onceVisits##n() { once##n = 1; }                                                             \
  LUTHIER_HOOK(wave) void onceLanes##n() { once##n = luthier::popcount(luthier::exec()); }
#define LUTHIER_STORE_ONCE_(before, n)                                                                                 \
  LUTHIER_COUNT_ONCE_(n)                                                                                               \
  LUTHIER_HOOK(wave) void storeOnce##n() {                                                                             \
    storeOnce##before();                                                                                               \
    luthier::atomicAdd(once[n], once##n);                                                                              \
  }
LUTHIER_COUNT_ONCE_(0)
LUTHIER_HOOK(wave) void storeOnce0() { luthier::atomicAdd(once[0], once0); }
LUTHIER_STORE_ONCE_(0, 1)
LUTHIER_STORE_ONCE_(1, 2)
LUTHIER_STORE_ONCE_(2, 3)
LUTHIER_STORE_ONCE_(3, 4)
LUTHIER_STORE_ONCE_(4, 5)
LUTHIER_STORE_ONCE_(5, 6)
LUTHIER_STORE_ONCE_(6, 7)
LUTHIER_STORE_ONCE_(7, 8)
LUTHIER_STORE_ONCE_(8, 9)
LUTHIER_STORE_ONCE_(9, 10)
LUTHIER_STORE_ONCE_(10, 11)
LUTHIER_STORE_ONCE_(11, 12)
LUTHIER_STORE_ONCE_(12, 13)
LUTHIER_STORE_ONCE_(13, 14)
LUTHIER_STORE_ONCE_(14, 15)
#undef LUTHIER_STORE_ONCE_
#undef LUTHIER_COUNT_ONCE_

} // namespace run_counts
