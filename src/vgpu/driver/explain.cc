#include "vgpu/driver/explain.h"

#include "memcheck/bad_access.h"
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
} // namespace

std::optional<Neighbour> Explainer::nearest(const BadAccess &access, const Allocations *exact) const {
  if (!memcheck::meansAllocation(access))
    return std::nullopt;
  return exact ? exact->nearest(access.first(), access.bytes) : memory_.nearest(access.first());
}

std::string_view Explainer::ruleOf(const Wave &, const BadAccess &access, const Allocations *exact) const {
  return memcheck::ruleOf(access, nearest(access, exact));
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
  Finding finding = describe(wave, inst);
  memcheck::describe(finding, access, nearest(access, exact),
                     {.kernarg = launch.kernarg,
                      .kernargSize = descriptorAt(launch.kernelObject).kernargSize,
                      .groupSegmentSize = launch.groupSegmentSize,
                      .privateSegmentSize = launch.privateSegmentSize},
                     exact != nullptr);
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
      finding.memory = memcheck::memoryOf(*neighbour, true);
      where = fmt::format("byte {} of {} bytes of {}", origin.address - neighbour->allocation.begin,
                          neighbour->allocation.size, memcheck::nameOf(neighbour->allocation.kind));
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

} // namespace luthier::vgpu
