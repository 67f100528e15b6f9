// HSA's functions that wait, as callbacks call them: what callbacks hold up is let go first (hsa/held_work.h).
//
// A wait that is over at once holds up nothing. Reading a signal or a queue's read index counts as waiting when the
// answer stays the same many times in a row. Waits outside of callbacks are done a while at a time, to see whether
// callbacks are stuck.
#pragma once

namespace luthier::hsa {

class Interceptor;

/// Replaces the waiting and reading functions in the interceptor's table.
void watchWaitsInCallbacks(Interceptor &interceptor);

} // namespace luthier::hsa
