// A bad access to memory, and what a report says of it: its class, one line for people, and the allocation that it was
// probably meant for.
//
// Whatever has seen the access, the virtual GPU itself or hooks in a kernel, says it in these words, so that the same
// mistake is the same finding.
#pragma once

#include "check/finding.h"
#include "memcheck/allocations.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace luthier::memcheck {

inline constexpr unsigned kMostLanes = 64;

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
  std::array<uint64_t, kMostLanes> addresses{};

  uint64_t first() const { return addresses[lanes ? static_cast<unsigned>(__builtin_ctzll(lanes)) : 0]; }
};

/// What a launch has of memory.
struct LaunchMemory {
  uint64_t kernarg = 0, kernargSize = 0;
  uint32_t groupSegmentSize = 0, privateSegmentSize = 0;
};

/// "device memory"
const char *nameOf(Allocation::Kind kind);

/// Whether it can have missed an allocation: nothing but an access to memory that is not accessible can.
bool meansAllocation(const BadAccess &access);

/// The class of the finding, which is all that is needed to know whether it is a new one.
std::string_view ruleOf(const BadAccess &access, const std::optional<Allocations::Neighbour> &neighbour);

/// Fills in what is to be said of the access itself: class, message, lanes, addresses and memory. `exact`: sizes of
/// allocations are known in bytes.
void describe(check::Finding &finding, const BadAccess &access, const std::optional<Allocations::Neighbour> &neighbour,
              const LaunchMemory &launch, bool exact);

check::Memory memoryOf(const Allocations::Neighbour &neighbour, bool exact);

/// Memory that was never freed.
check::Finding leak(const Allocation &allocation);

} // namespace luthier::memcheck
