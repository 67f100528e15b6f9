#include <luthier/hook.h>

#include "places.h"

LUTHIER_PER_LAUNCH uint64_t visits, entries, rounds, exits, waves;
LUTHIER_PER_LAUNCH uint64_t callees[2], lanes[2];
LUTHIER_PER_WAVE uint32_t chosen;

LUTHIER_HOOK(wave) void visit() { luthier::atomicAdd(visits, 1); }
LUTHIER_HOOK(wave) void enter() { luthier::atomicAdd(entries, 1); }
LUTHIER_HOOK(wave) void again() { luthier::atomicAdd(rounds, 1); }
LUTHIER_HOOK(wave) void leave() { luthier::atomicAdd(exits, 1); }

// Of the waves of a launch, every n-th that starts.
LUTHIER_HOOK(wave) void choose(uint32_t n) { chosen = luthier::atomicAdd(waves, 1) % n == 0; }

// Whoever is called, and how often; the tests call one function per launch.
LUTHIER_HOOK(wave) void called(uint64_t callee) {
  luthier::atomicAdd(callees[0], 1);
  luthier::atomicExchange(callees[1], callee);
}

LUTHIER_HOOK(lane) bool odd(uint32_t value) { return value & 1; }
LUTHIER_HOOK(lane) void count(uint32_t which) { luthier::atomicAdd(lanes[which], 1); }
LUTHIER_HOOK(lane) void within(uint32_t value, Bounds bounds) {
  if (value >= bounds.begin && value < bounds.end)
    luthier::atomicAdd(lanes[0], bounds.weight);
  luthier::atomicAdd(lanes[1], bounds.rest[value % 5]);
}
