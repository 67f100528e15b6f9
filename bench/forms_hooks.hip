// Hooks of three sizes: a counter, a record of an access, and one as large as a hook that prints.
#include <luthier/hook.h>

struct Record {
  uint32_t values[64];
  uint32_t place, lanes;
};
constexpr uint32_t kRecords = 1 << 10, kBins = 256;
LUTHIER_DEVICE uint64_t visits;
LUTHIER_DEVICE uint32_t next;
LUTHIER_DEVICE Record records[kRecords];
LUTHIER_DEVICE uint32_t bins[kBins];

LUTHIER_HOOK(lane) void small(uint32_t value, uint32_t place) { luthier::atomicAdd(visits, 1); }

LUTHIER_HOOK(lane) void medium(uint32_t value, uint32_t place) {
  luthier::atomicAdd(visits, 1);
  const bool first = luthier::isFirstLane();
  uint32_t ticket = 0;
  if (first)
    ticket = luthier::atomicAdd(next, 1);
  ticket = luthier::readFirstLane(ticket);
  Record &record = records[ticket % kRecords];
  record.values[luthier::laneId()] = value;
  if (first) {
    record.place = place;
    record.lanes = static_cast<uint32_t>(luthier::popcount(luthier::exec()));
  }
}

LUTHIER_HOOK(lane) void large(uint32_t value, uint32_t place) {
  luthier::atomicAdd(visits, 1);
  uint32_t hash = place;
#pragma unroll
  for (unsigned n = 0; n < 8; ++n) {
    hash ^= value >> 4 * n;
    hash *= 0x85ebca6b;
    hash ^= hash >> 13;
    if (hash & 1)
      luthier::atomicAdd(bins[hash % kBins], 1);
  }
}
