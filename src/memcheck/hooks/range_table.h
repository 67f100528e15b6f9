// What hooks may find without asking the host: the application's live allocations, and memory of the runtime's own that
// kernels were seen to use.
#pragma once

#include "memcheck/allocations.h"
#include "memcheck/hooks/shared.h"

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
  bool allows(uint64_t address) const;
  /// Hooks see what is live now. False if that is more than the table has room for: the host judges accesses to the
  /// rest, one by one.
  bool refresh();

private:
  memory_check::Shared &shared_;
  const Allocations &allocations_;
  std::vector<memory_check::Range> allowed_;
};

} // namespace luthier::memcheck
