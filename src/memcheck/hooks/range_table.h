// What hooks may find without asking the host: the application's live allocations, and memory of the runtime's own that
// kernels were seen to use.
#pragma once

#include "memcheck/allocations.h"
#include "memcheck/hooks/shared.h"

#include <utility>
#include <vector>

namespace luthier::memcheck {

class RangeTable {
public:
  RangeTable(memory_check::Shared &shared, const Allocations &allocations)
      : shared_(shared), allocations_(allocations) {
    refresh();
  }

  /// A range that is no allocation of the application's, and may be accessed too: until the application gets memory
  /// there.
  void allow(uint64_t begin, uint64_t end) { allowed_.push_back({begin, end, 0}); }
  /// The same for memory that may be gone without anybody hearing of it: until the next launch. Only as much around
  /// `address` as has no page in common with an allocation.
  void allowForNow(uint64_t address, uint64_t begin, uint64_t end);
  /// Before a launch. Whether anything was allowed for now, and is not any more.
  bool forget() { return !std::exchange(passing_, {}).empty(); }
  bool allows(uint64_t address) const;
  /// Hooks see what is live now. False if that is more than the table has room for: the host judges accesses to the
  /// rest, one by one.
  bool refresh();

private:
  memory_check::Shared &shared_;
  const Allocations &allocations_;
  std::vector<memory_check::Range> allowed_, passing_;
};

} // namespace luthier::memcheck
