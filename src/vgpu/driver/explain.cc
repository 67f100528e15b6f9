#include "vgpu/driver/explain.h"

#include "vgpu/driver/host_stack.h"
#include "vgpu/wave/device.h"
#include "vgpu/wave/kernel_descriptor.h"
#include "vgpu/wave/workgroup.h"

#include <algorithm>
#include <errno.h> // program_invocation_short_name
#include <fmt/format.h>
#include <unistd.h>

namespace luthier::vgpu {

namespace {

using check::Finding;
using Neighbour = Allocations::Neighbour;
using Problem = BadAccess::Problem;

/// What is below is a null pointer with an offset; no system maps it.
constexpr uint64_t kNullPages = 64 * 1024;
/// An access is near an allocation if it is no further away than this, or than the allocation is large.
constexpr uint64_t kNear = 1 << 20;

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

bool isNear(const Neighbour &neighbour) { return neighbour.distance <= std::max(kNear, neighbour.allocation.size); }

std::string_view classify(const BadAccess &access, const std::optional<Neighbour> &neighbour) {
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
  if (!neighbour || !isNear(*neighbour))
    return rule::kInvalidAddress;
  if (neighbour->freed)
    return rule::kUseAfterFree;
  if (neighbour->allocation.kind == Allocation::Kind::Kernarg)
    return rule::kKernelArguments;
  return neighbour->where == Neighbour::Where::Inside ? rule::kInvalidAddress : rule::kOutOfBounds;
}

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

std::string messageOf(const BadAccess &access, std::string_view rule, const std::optional<Neighbour> &neighbour,
                      const Launch &launch) {
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
  if (!neighbour || !isNear(*neighbour))
    return fmt::format("{} at {:#x}, which is in no allocation and near none", action, at);
  const Allocation &allocation = neighbour->allocation;
  if (rule == check::rule::kKernelArguments) {
    const uint64_t size = descriptorAt(launch.kernelObject).kernargSize;
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

check::Memory Explainer::memoryOf(const Neighbour &neighbour, bool exact) {
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

std::optional<Neighbour> Explainer::nearest(const BadAccess &access, const Allocations *exact) const {
  if (access.problem != Problem::NotAccessible || access.first() < kNullPages)
    return std::nullopt;
  return exact ? exact->nearest(access.first(), access.bytes) : memory_.nearest(access.first());
}

std::string_view Explainer::ruleOf(const Wave &, const BadAccess &access, const Allocations *exact) const {
  return classify(access, nearest(access, exact));
}

Finding Explainer::describe(const Wave &wave, const Inst *inst) const {
  constexpr uint64_t kWord = 4;
  return describe(wave, wave.pc(inst), kWord * (inst->words ? inst->words : 1));
}

Finding Explainer::describe(const Wave &wave, uint64_t pc, uint64_t bytes) const {
  const Launch &launch = wave.group->dispatch().launch();
  Finding finding;
  addCode(finding, {pc, bytes, launch.kernelObject, *wave.device, wave.lanes});
  finding.grid = launch.grid;
  std::ranges::copy(launch.workgroup, finding.groupSize.begin());
  finding.workgroup = wave.group->id();
  finding.wave = wave.index;
  finding.waveSize = wave.lanes;
  finding.process = static_cast<uint32_t>(getpid());
  finding.program = program_invocation_short_name;
  return finding;
}

Finding Explainer::explain(const Wave &wave, const Inst *inst, const BadAccess &access,
                           const Allocations *exact) const {
  const Launch &launch = wave.group->dispatch().launch();
  const std::optional<Neighbour> neighbour = nearest(access, exact);
  Finding finding = describe(wave, inst);
  finding.rule = classify(access, neighbour);
  finding.message = messageOf(access, finding.rule, neighbour, launch);
  for (uint64_t m = access.lanes; m; m &= m - 1) {
    const auto lane = static_cast<uint32_t>(__builtin_ctzll(m));
    finding.lanes.push_back({lane, access.addresses[lane]});
  }
  finding.address = access.first();
  if (neighbour && isNear(*neighbour))
    finding.memory = memoryOf(*neighbour, exact != nullptr);
  return finding;
}

/// Another instruction: its offset and text, and its line of source.
std::string Explainer::placeOf(const Wave &wave, uint64_t pc, const std::string &instruction) const {
  check::CodePlace there;
  constexpr uint64_t kWord = 4;
  addCode(there, {pc, kWord, wave.group->dispatch().launch().kernelObject, *wave.device, wave.lanes});
  std::string text = fmt::format("{:#06x}  {}", there.offset, instruction);
  if (!there.function.empty())
    text += " in " + there.function;
  if (!there.source.empty())
    text += fmt::format(" ({}:{})", there.source.front().file.substr(there.source.front().file.rfind('/') + 1),
                        there.source.front().line);
  return text;
}

Finding Explainer::explain(const Wave &wave, const Inst *inst, const EarlyUse &use) const {
  Finding finding = describe(wave, inst);
  finding.rule = check::rule::kMissingWait;
  finding.message = fmt::format("{} is {} before a wait covers the operation that writes it", use.what,
                                use.read ? "read" : "overwritten");
  finding.hasAddress = false;
  for (uint64_t m = use.lanes; m; m &= m - 1)
    finding.lanes.push_back({static_cast<uint32_t>(__builtin_ctzll(m)), 0});
  finding.details = {{"in flight", placeOf(wave, use.pc, use.operation)},
                     {"enough", fmt::format("{} before {:#06x}", use.wait, finding.offset)}};
  return finding;
}

std::string_view Explainer::ruleOf(const UndefinedUse &use) {
  namespace rule = check::rule;
  switch (use.kind) {
  case UndefinedUse::Kind::Address:
    return rule::kUninitialisedAddress;
  case UndefinedUse::Kind::Branch:
    return rule::kUninitialisedBranch;
  case UndefinedUse::Kind::Atomic:
  case UndefinedUse::Kind::AtomicMemory:
    return rule::kUninitialisedAtomic;
  case UndefinedUse::Kind::Store:
    return rule::kUninitialisedStore;
  }
  return {};
}

Finding Explainer::explain(const Wave &wave, const Inst *inst, const UndefinedUse &use,
                           const Allocations &exact) const {
  using Kind = UndefinedUse::Kind;
  const Origin &origin = use.origin;
  Finding finding = describe(wave, inst);
  finding.rule = ruleOf(use);
  finding.hasAddress = use.hasAddresses;
  for (uint64_t m = use.lanes; m; m &= m - 1) {
    const auto lane = static_cast<uint32_t>(__builtin_ctzll(m));
    finding.lanes.push_back({lane, use.hasAddresses ? use.addresses[lane] : 0});
  }
  if (!finding.lanes.empty())
    finding.address = finding.lanes.front().address;
  std::string where;
  switch (origin.kind) {
  case Origin::Kind::Register:
    where = fmt::format("register {}", toString(origin.reg));
    break;
  case Origin::Kind::Lds:
    where = fmt::format("LDS at offset {:#x}", origin.address);
    break;
  case Origin::Kind::Scratch:
    where = fmt::format("private memory at offset {:#x}", origin.address);
    break;
  case Origin::Kind::Memory: {
    const auto neighbour = exact.nearest(origin.address, 1);
    if (neighbour && neighbour->where == Neighbour::Where::Inside) {
      finding.memory = memoryOf(*neighbour, true);
      where = fmt::format("byte {} of {} bytes of {}", origin.address - neighbour->allocation.begin,
                          neighbour->allocation.size, nameOf(neighbour->allocation.kind));
    } else {
      where = fmt::format("memory at {:#x}", origin.address);
    }
    break;
  }
  }
  switch (use.kind) {
  case Kind::Address:
    finding.message = fmt::format("{} is an address, and comes from {}, which nobody has written", use.what, where);
    break;
  case Kind::Branch:
    finding.message = fmt::format("{} decides a branch, and comes from {}, which nobody has written", use.what, where);
    break;
  case Kind::Atomic:
    finding.message = fmt::format(
        "{} is the operand of an atomic operation, and comes from {}, which nobody has written", use.what, where);
    break;
  case Kind::AtomicMemory:
    finding.message =
        origin.pc
            ? fmt::format("an atomic operation changes memory that was given what comes from {}, which nobody has "
                          "written",
                          where)
            : fmt::format("an atomic operation changes {}, which nobody has written", where);
    break;
  case Kind::Store:
    finding.message = fmt::format("{} is stored where the host sees it, and comes from {}, which nobody has written",
                                  use.what, where);
    break;
  }
  if (origin.pc)
    finding.details.push_back({"read by", placeOf(wave, origin.pc, origin.load)});
  return finding;
}

Finding Explainer::leak(const Allocation &allocation) {
  Finding finding;
  finding.rule = check::rule::kLeak;
  finding.message = fmt::format("{} bytes of {} were never freed", allocation.size, nameOf(allocation.kind));
  finding.address = allocation.begin;
  finding.memory = memoryOf({allocation, false, Neighbour::Where::Inside, 0}, true);
  finding.process = static_cast<uint32_t>(getpid());
  finding.program = program_invocation_short_name;
  return finding;
}

} // namespace luthier::vgpu
