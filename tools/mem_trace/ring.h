// Where the hooks of mem_trace put records and a thread of the host takes them from. Included by both sides.
//
// A record needs a free slot first: whoever takes the last one's successor gives it back and counts a loss, or tries
// again. Who has one may draw a ticket, and the ticket's slot is then free for sure, as no more tickets are out than
// there are slots. The slot is whole when its sequence is the ticket's number plus 1.
#pragma once

#include <stdint.h>

namespace mem_trace {

struct Slot {
  uint64_t sequence;
  uint32_t site;
  uint32_t launch;
  uint64_t lanes;
  uint64_t addresses[64];
};

struct Ring {
  alignas(128) int64_t free;  // slots that nobody holds
  alignas(128) uint64_t next; // ticket
  alignas(128) uint64_t lost;
  alignas(128) uint64_t mask; // number of slots, a power of two, minus 1
  alignas(128) Slot slots[1]; // as many as there are
};

} // namespace mem_trace
