// What is counted of each instruction. Included by both sides.
#pragma once

namespace lds_conflicts {
enum Counter { Executed, Lanes, Needed, Conflicts, Most, kCounters };
}
