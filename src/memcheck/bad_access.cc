#include "memcheck/bad_access.h"

#include "memcheck/host_stack.h"

#include <algorithm>
#include <errno.h> // program_invocation_short_name
#include <fmt/format.h>
#include <unistd.h>

namespace luthier::memcheck {

namespace {

using Neighbour = Allocations::Neighbour;
using Problem = BadAccess::Problem;

/// What is below is a null pointer with an offset; no system maps it.
constexpr uint64_t kNullPages = 64 * 1024;

/// "write of 4 bytes"
std::string actionOf(const BadAccess &access) {
  std::string text = access.problem == Problem::Misaligned && access.write ? "atomic operation"
                     : access.write                                        ? "write"
                                                                           : "read";
  if (access.scalar)
    text = "scalar " + text;
  if (access.bytes)
    text += fmt::format(" of {} byte{}", access.bytes, access.bytes == 1 ? "" : "s");
  return text;
}

/// Where `bytes` at `at` are, of which some are beyond `size`.
std::string beyond(uint64_t at, uint64_t bytes, uint64_t size, std::string_view what) {
  if (at >= size)
    return fmt::format("{} bytes behind the end of {}", at - size, what);
  return fmt::format("of which {} are behind the end of {}", at + bytes - size, what);
}

} // namespace

const char *nameOf(Allocation::Kind kind) {
  switch (kind) {
  case Allocation::Kind::Device:
    return "device memory";
  case Allocation::Kind::Host:
    return "pinned host memory";
  case Allocation::Kind::Kernarg:
    return "memory for kernel arguments";
  case Allocation::Kind::Registered:
    return "registered host memory";
  case Allocation::Kind::Managed:
    return "managed memory";
  }
  return "memory";
}

bool meansAllocation(const BadAccess &access) {
  return access.problem == Problem::NotAccessible && access.first() >= kNullPages;
}

std::string_view ruleOf(const BadAccess &access, const std::optional<Neighbour> &neighbour) {
  namespace rule = check::rule;
  switch (access.problem) {
  case Problem::OutsideLds:
    return rule::kLds;
  case Problem::OutsideScratch:
    return rule::kScratch;
  case Problem::Misaligned:
    return rule::kMisaligned;
  case Problem::NotAccessible:
    break;
  }
  if (access.first() < kNullPages)
    return rule::kNullPointer;
  if (!neighbour || !neighbour->isNear())
    return rule::kInvalidAddress;
  if (neighbour->freed)
    return rule::kUseAfterFree;
  if (neighbour->allocation.kind == Allocation::Kind::Kernarg)
    return rule::kKernelArguments;
  return neighbour->where == Neighbour::Where::Inside ? rule::kInvalidAddress : rule::kOutOfBounds;
}

namespace {

std::string messageOf(const BadAccess &access, std::string_view rule, const std::optional<Neighbour> &neighbour,
                      const LaunchMemory &launch) {
  const std::string action = actionOf(access);
  const uint64_t at = access.first();
  if (access.problem == Problem::OutsideLds)
    return fmt::format("{} at LDS offset {:#x}, {}", action, at,
                       beyond(at, access.bytes, launch.groupSegmentSize,
                              fmt::format("the workgroup's {} bytes", launch.groupSegmentSize)));
  if (access.problem == Problem::OutsideScratch)
    return fmt::format("{} at private offset {:#x}, {}: a stack overflow, or an index beyond a local array", action, at,
                       beyond(at, access.bytes, launch.privateSegmentSize,
                              fmt::format("the work-item's {} bytes of scratch", launch.privateSegmentSize)));
  if (access.problem == Problem::Misaligned)
    return access.scalar ? fmt::format("{} at {:#x}: the hardware ignores the two low bits of the base", action, at)
                         : fmt::format("{} at {}{:#x}, which is not a multiple of {}", action,
                                       access.lds ? "LDS offset " : "", at, access.bytes);
  if (rule == check::rule::kNullPointer)
    return fmt::format("{} at {}", action, at ? fmt::format("a null pointer plus {}", at) : "a null pointer");
  if (!neighbour || !neighbour->isNear())
    return fmt::format("{} at {:#x}, which is in no allocation and near none", action, at);
  const Allocation &allocation = neighbour->allocation;
  if (rule == check::rule::kKernelArguments) {
    const uint64_t size = launch.kernargSize;
    const std::string whose = fmt::format("the kernel's {} bytes of arguments", size);
    if (at < launch.kernarg)
      return fmt::format("{}, {} bytes before {}", action, launch.kernarg - at, whose);
    return fmt::format("{}, {}", action, beyond(at - launch.kernarg, access.bytes, size, whose));
  }
  const std::string whose = fmt::format("{} bytes of {}", allocation.size, nameOf(allocation.kind));
  const bool freed = neighbour->freed;
  switch (neighbour->where) {
  case Neighbour::Where::Before:
    return fmt::format("{}, {} bytes before {}{}", action, neighbour->distance, whose, freed ? " that were freed" : "");
  case Neighbour::Where::Behind:
    return fmt::format("{}, {}{}", action, beyond(at - allocation.begin, access.bytes, allocation.size, whose),
                       freed ? " that were freed" : "");
  case Neighbour::Where::Inside:
    break;
  }
  return fmt::format("{}, {} bytes into {} that {}", action, neighbour->distance, whose,
                     freed ? "were freed" : "this GPU may not access");
}

} // namespace

check::Memory memoryOf(const Neighbour &neighbour, bool exact) {
  const Allocation &allocation = neighbour.allocation;
  check::Memory memory;
  memory.begin = allocation.begin;
  memory.size = allocation.size;
  memory.what = nameOf(allocation.kind);
  memory.exact = exact;
  memory.number = allocation.number;
  memory.freed = neighbour.freed;
  memory.allocatedAt = describeHostStack(allocation.allocatedAt);
  memory.freedAt = describeHostStack(allocation.freedAt);
  return memory;
}

void describe(check::Finding &finding, const BadAccess &access, const std::optional<Neighbour> &neighbour,
              const LaunchMemory &launch, bool exact) {
  finding.rule = ruleOf(access, neighbour);
  finding.message = messageOf(access, finding.rule, neighbour, launch);
  for (uint64_t m = access.lanes; m; m &= m - 1) {
    const auto lane = static_cast<uint32_t>(__builtin_ctzll(m));
    finding.lanes.push_back({lane, access.addresses[lane]});
  }
  finding.address = access.first();
  if (neighbour && neighbour->isNear())
    finding.memory = memoryOf(*neighbour, exact);
}

check::Finding leak(const Allocation &allocation) {
  check::Finding finding;
  finding.rule = check::rule::kLeak;
  finding.message = fmt::format("{} bytes of {} were never freed", allocation.size, nameOf(allocation.kind));
  finding.address = allocation.begin;
  finding.memory = memoryOf({allocation, false, Neighbour::Where::Inside, 0}, true);
  finding.process = static_cast<uint32_t>(getpid());
  finding.program = program_invocation_short_name;
  return finding;
}

} // namespace luthier::memcheck
