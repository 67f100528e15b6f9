#include "runtime/instrumented_kernel.h"

#include "hsa/agent.h"
#include "rewrite/emit.h"
#include "runtime/code_listing.h"

namespace luthier::runtime {

namespace {

/// Every launch in flight has as much on the GPU, and on the host.
constexpr uint64_t kMostPerLaunchBytes = 1ull << 30;

/// Refused sites of a kernel that are listed one by one; all are counted.
constexpr size_t kMostListed = 1000;

std::string nameOf(const rewrite::Insertion &insertion, const Kernel &kernel) {
  std::string name = insertion.address ? placeName(kernel, insertion.address) : "";
  return name.empty() ? std::string(toString(insertion.position)) : name;
}

} // namespace

LoadedVariant::~LoadedVariant() = default;

Result<void> InstrumentedKernel::build(ToolMemory &memory, SiteValues &siteValues) {
  ObjectView &object = *kernel->object;
  const object::CodeObject &original = *object.code->object();
  rewrite::Rewrite rewritten = LUTHIER_TRY(object.rewriter->rewrite(*kernel->symbol, kernel->insertions));
  const rewrite::Variant &v = rewritten.variant;
  account->sitesAsked = rewritten.sites.size();
  for (const rewrite::SiteAccount &site : rewritten.sites) {
    account->sitesPlaced += site.placed;
    if (site.placed)
      continue;
    ++account->rejected[site.reason];
    const auto n = static_cast<size_t>(&site - rewritten.sites.data());
    if (account->rejectedSites.size() < kMostListed && n < kernel->insertions.size())
      account->rejectedSites.push_back({nameOf(kernel->insertions[n], Kernel(*kernel)), site.reason});
  }
  if (account->sitesAsked && account->sitesPlaced == 0) {
    std::string reasons;
    for (const auto &[reason, sites] : account->rejected)
      reasons += fmt::format("{}{} x {}", reasons.empty() ? "" : "; ", sites, reason);
    return makeError("all {} sites rejected: {}", account->sitesAsked, reasons);
  }
  account->sgprsBefore = v.before.sgprs;
  account->sgprsAfter = v.after.sgprs;
  account->vgprsBefore = v.before.vgprs;
  account->vgprsAfter = v.after.vgprs;
  account->scratchBefore = v.before.scratch;
  account->scratchAfter = v.after.scratch;
  account->wavesBefore = v.before.wavesPerSimd;
  account->wavesAfter = v.after.wavesPerSimd;
  account->codeBefore = v.before.codeBytes;
  account->codeAfter = v.after.codeBytes;

  for (const auto &module : v.launchBlocks)
    if (module->perLaunchBytes() > kMostPerLaunchBytes)
      return makeError("{}: per-launch variables have {} bytes; {} are possible", module->origin(),
                       module->perLaunchBytes(), kMostPerLaunchBytes);

  rewrite::OverlayAddresses addresses{.original = object.code->delta(), .variables = {}};
  for (const rewrite::UsedVariable &used : v.variables)
    addresses.variables.push_back(
        used.isPerSite()
            ? LUTHIER_TRY(siteValues.arrayFor({agent, kernel->object, identity, choice}, used, kernel->insertions))
            : LUTHIER_TRY(memory.variable(agent, used.module, used.variable)));
  auto loaded = std::make_unique<LoadedVariant>();
  loaded->file = LUTHIER_TRY(rewrite::emitOverlay(original, v, addresses));
  loaded->reader = LUTHIER_TRY(hsa::CodeObjectReader::fromMemory(loaded->file));
  loaded->executable = LUTHIER_TRY(hsa::Executable::create());
  LUTHIER_TRY(loaded->executable->load(hsa::Agent(agent), *loaded->reader));
  LUTHIER_TRY(loaded->executable->freeze());
  const hsa::ExecutableSymbol symbol =
      LUTHIER_TRY(loaded->executable->symbol(fmt::format("{}.kd", kernel->symbol->name), hsa::Agent(agent)));
  loaded->kernelObject = LUTHIER_TRY(symbol.kernelObject());
  loaded->largestWorkgroup = v.largestWorkgroup;
  loaded->before = v.before.registers;
  loaded->after = v.after.registers;
  loaded->computeUnits = LUTHIER_TRY(hsa::Agent(agent).computeUnits());
  loaded->target = &original.target();
  loaded->moreScratch = v.after.scratch - v.before.scratch;
  loaded->moreLds = v.after.lds - v.before.lds;
  loaded->blocks = v.launchBlocks;
  loaded->groupBlocks = v.groupBlocks;
  loaded->segment = v.segment;
  for (const rewrite::LaunchArgument &argument : v.segment.arguments)
    loaded->callsHost |= argument.value == LaunchValue::HostcallBuffer;
  variant = std::move(loaded);
  account->instrumented = true;
  return {};
}

} // namespace luthier::runtime

namespace luthier {

Dim3 Launch::Impl::groups() const {
  const auto along = [](uint32_t items, uint32_t ofGroup) {
    return static_cast<uint32_t>((uint64_t{items} + ofGroup - 1) / std::max(ofGroup, 1u));
  };
  return {along(grid.x, workgroup.x), along(grid.y, workgroup.y), along(grid.z, workgroup.z)};
}

std::byte *Launch::Impl::find(const HookFile &file, const char *name, size_t bytes, hook::Storage storage,
                              uint64_t *stride) {
  const auto module = kernel->kernel->modules->of(file);
  if (!module)
    return nullptr;
  for (Block &block : blocks)
    if (block.module == *module && block.storage == storage)
      if (const hook::Variable *variable = block.module->findVariable(name);
          variable && variable->storage == storage && variable->size >= bytes &&
          variable->offset + bytes <= block.contents.size()) {
        if (stride)
          *stride = block.module->block(storage).stride();
        return block.contents.data() + variable->offset;
      }
  return nullptr;
}

} // namespace luthier
