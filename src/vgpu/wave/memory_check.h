// Bad accesses to memory: what is known of one, and who is told.
//
// Every wave's access that the page table refuses ends in this file. Without a check, it is a fault, as on hardware.
// With one (`luthier check memory`), the page table also refuses the pages at the ends of the application's
// allocations (memory/allocations.h); here it is decided byte by byte. A bad access is then reported and the kernel
// goes on: what it reads is 0, what it writes is dropped.
#pragma once

#include "vgpu/memory/allocations.h"
#include "vgpu/state/wave.h"

#include <array>
#include <cstdint>
#include <functional>

namespace luthier::vgpu {

/// One instruction's access to memory, of the lanes that it is wrong for.
struct BadAccess {
  enum class Problem : uint8_t {
    NotAccessible, ///< not in memory that this kernel may access
    OutsideLds,
    OutsideScratch,
    Misaligned,
  };
  Problem problem = Problem::NotAccessible;
  bool scalar = false;
  bool write = false;
  bool lds = false; ///< addresses are offsets into LDS
  uint32_t bytes = 0;
  uint64_t lanes = 0; ///< 0: not known
  /// Of these lanes; of a scalar access the first. For LDS and scratch they are offsets.
  std::array<uint64_t, kMaxLanes> addresses{};

  uint64_t first() const { return addresses[lanes ? static_cast<unsigned>(__builtin_ctzll(lanes)) : 0]; }
};

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
