// Bad accesses to memory: what is known of one, and who is told.
//
// Every wave's access that the page table refuses ends in this file. Without a check, it is a fault, as on hardware.
// With one (`luthier check memory`), the page table also refuses the pages at the ends of the application's
// allocations (memcheck/allocations.h); here it is decided byte by byte. A bad access is then reported and the kernel
// goes on: what it reads is 0, what it writes is dropped.
#pragma once

#include "memcheck/bad_access.h"
#include "vgpu/state/wave.h"

#include <cstdint>
#include <functional>

namespace luthier::vgpu {

using memcheck::Allocation;
using memcheck::Allocations;
using memcheck::BadAccess;
static_assert(memcheck::kMostLanes == kMaxLanes);

/// What is known of an access of `inst` that was just refused to this thread; of others, the address.
BadAccess refusedAccess(const Inst *inst, uint64_t address, bool write);

class MemoryCheck {
public:
  MemoryCheck(AddressSpace &space, const Allocations &allocations) : space_(space), allocations_(allocations) {}

  /// Called on the thread that runs the wave. Set once, before anything runs.
  std::function<void(const Wave &wave, const Inst *inst, const BadAccess &access)> onFinding;

  const Allocations &allocations() const { return allocations_; }

private:
  friend struct Wave;
  bool allows(const Wave &wave, uint64_t address, uint64_t host, uint64_t bytes) const;

  AddressSpace &space_;
  const Allocations &allocations_;
};

} // namespace luthier::vgpu
