// What is counted of each instruction. Included by both sides.
#pragma once

namespace coalescing {
enum Counter { Executed, Lanes, Lines, Most, Broadcast, Consecutive, Strided, Scattered, kCounters };
}
