// HSA's functions that wait, as callbacks call them: what callbacks hold up is let go first (hsa/held_work.h).
//
// A wait that is over at once holds up nothing. Reading a signal or a queue's read index counts as waiting when the
// answer stays the same many times in a row. Waits outside of callbacks are done a while at a time, to see whether
// callbacks are stuck; those for several signals are done here, for the reason that backoff.h gives.
#pragma once

#include "hsa/calls.h"
#include "hsa/held_work.h"

#include <vector>

namespace luthier::hsa {

class CallbackWaits {
public:
  /// Replaces the waiting and reading functions.
  explicit CallbackWaits(HeldWorks &works);

private:
  template <ApiId id> void replaceWait();
  template <ApiId id> void replaceWaitForSeveral(bool all);
  template <ApiId id> void replaceLoad();
  template <ApiId id> void replaceReadIndex();
  template <class Wait, class Done> auto waitAndLook(uint64_t timeout, Wait wait, Done done);
  void noteRead(uint64_t source, int64_t value);

  HeldWorks &works_;
  std::vector<Subscription> replacements_;
};

} // namespace luthier::hsa
