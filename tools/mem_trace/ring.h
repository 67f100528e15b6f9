// Where the hooks of mem_trace put records and a thread of the host takes them from. Included by both sides.
//
// A record needs a free slot first: whoever takes the last one's successor gives it back and waits for another, or
// drops the record and counts it. Who has one may draw a ticket, and the ticket's slot is then free for sure, as no
// more tickets are out than there are slots. The slot is whole when its sequence is the ticket's number plus 1.
//
// Hooks wait as long as the host takes records. Before it stops to, it sets `stopped`, and from then on nobody waits.
#pragma once

#include <stdint.h>

namespace mem_trace {

struct Slot {
  uint32_t site; // first what is stored at once
  uint32_t launch;
  uint64_t lanes;
  uint64_t addresses[64];
  uint32_t sequence;
};

struct Ring {
  alignas(128) int32_t free;     // slots that nobody holds
  alignas(128) uint32_t next;    // ticket; after the last number comes 0
  alignas(128) uint64_t lost;    // records that were dropped
  alignas(128) uint32_t stopped; // by the host: records that find no room are dropped
  alignas(128) Slot slots[1];    // a power of two
};

} // namespace mem_trace
