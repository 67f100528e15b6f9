// What the hooks of the memory check and the host have in common: memory that both can reach. Included by both sides.
//
// The table says where bytes may be accessed: sorted ranges that do not overlap. There are two, of which hooks use
// `current`; the host writes the other one and then changes that. A hook that cannot find an access in the table does
// not call it wrong: it hands over a record and waits until the host has judged it. So the table may lag behind: what
// is found wrong is wrong, and a report is written before the access is made.
//
// A slot belongs to the wave that has put its ticket into `owner`. The record is whole when `ready` is that ticket too;
// the host takes away first `ready`, which lets the wave go on, and then `owner`.
#pragma once

#include <stdint.h>

namespace memory_check {

constexpr uint32_t kMostRanges = 1 << 15, kMostSites = 1 << 17, kSlots = 64;
/// Bad accesses of a site that the host looks at, one by one. Further ones are only counted.
constexpr uint32_t kMostJudged = 64;

struct Range {
  uint64_t begin, end;
  uint64_t arguments; // nonzero: kernel arguments may be there, of several launches
};

struct Table {
  uint64_t count;
  Range ranges[kMostRanges];
};

enum Problem : uint32_t { NotAccessible, OutsideLds, OutsideScratch, Misaligned, MisalignedLds };

struct Slot {
  uint32_t owner; // 0: free
  uint32_t ready;
  uint32_t site, problem;
  uint64_t launch;
  uint64_t lanes;
  uint64_t kernarg;
  uint32_t workgroup[3];
  uint32_t item;  // of the first lane: 10 bits for each dimension
  uint32_t limit; // bytes of LDS or scratch
  uint64_t addresses[64];
};

/// Of a buffer instruction.
struct Resource {
  uint32_t words[4];
};

struct Shared {
  alignas(128) uint64_t current; // by the host: the address of one of the tables
  uint32_t stopped;              // by the host: nobody takes records any more
  alignas(128) uint32_t tickets;
  alignas(128) uint32_t lost; // records that nobody took
  alignas(128) Slot slots[kSlots];
  uint32_t judged[kMostSites];  // by the host: bad accesses of each site
  uint32_t counted[kMostSites]; // further ones
  Table tables[2];
};

} // namespace memory_check
