#include "runtime/launcher.h"

#include "runtime/exit_flush.h"
#include "support/log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace luthier::runtime {

namespace {

std::shared_ptr<Launch::Impl> describe(const hsa_kernel_dispatch_packet_t &packet, uint64_t queue,
                                       const std::shared_ptr<InstrumentedKernel> &kernel) {
  auto launch = std::make_shared<Launch::Impl>();
  launch->kernel = kernel;
  launch->view.emplace(*kernel->kernel);
  launch->queue = queue;
  launch->grid = {packet.grid_size_x, packet.grid_size_y, packet.grid_size_z};
  launch->workgroup = {packet.workgroup_size_x, packet.workgroup_size_y, packet.workgroup_size_z};
  return launch;
}

/// The launch's variables as they start; without those of workgroups, whose number may be anything.
std::vector<Launch::Impl::Block> blocksOf(const LoadedVariant &variant) {
  std::vector<Launch::Impl::Block> blocks;
  for (const auto &module : variant.blocks) {
    Launch::Impl::Block block{hook::Storage::PerLaunch, module, std::vector<std::byte>(module->perLaunchBytes()), {}};
    for (const hook::Variable &variable : module->variables())
      if (variable.storage == hook::Storage::PerLaunch)
        std::ranges::copy(variable.contents, block.contents.begin() + static_cast<ptrdiff_t>(variable.offset));
    blocks.push_back(std::move(block));
  }
  return blocks;
}

/// Variables of all workgroups of a launch. There are as many on the GPU as on the host.
Result<Launch::Impl::Block> groupBlock(const Launch::Impl &launch,
                                       const std::shared_ptr<const hook::HookModule> &module) {
  constexpr uint64_t kMostBytes = 1ull << 30;
  const uint64_t stride = module->block(hook::Storage::PerWorkgroup).stride();
  if (launch.workgroups() > kMostBytes / std::max<uint64_t>(stride, 1))
    return makeError("{}: per-workgroup variables have {} bytes for each of {} workgroups; {} are possible for all",
                     module->origin(), stride, launch.workgroups(), kMostBytes);
  return Launch::Impl::Block{
      hook::Storage::PerWorkgroup, module, std::vector<std::byte>(stride * launch.workgroups()), {}};
}

} // namespace

void Launcher::onPackets(hsa::PacketBatch &batch) {
  const bool late = tools_.closed();
  for (hsa::PacketBatch::Entry &entry : batch.entries)
    if (entry.packet.kernelDispatch()) {
      ++seen_;
      if (late)
        ++late_;
      else
        onDispatch(batch, entry);
    }
}

std::shared_ptr<InstrumentedKernel> Launcher::kernelOf(uint64_t kernelObject, const hsa::PacketBatch &batch) {
  if (auto known = kernels_.find(kernelObject))
    return known;
  const LoadedTools::Lock lock(tools_, batch.released);
  if (!lock)
    return nullptr;
  if (auto known = kernels_.find(kernelObject))
    return known;
  auto kernel = instrumenter_.instrument(kernelObject);
  kernels_.add(kernelObject, kernel->executable.handle, kernel);
  return kernel;
}

void Launcher::onDispatch(hsa::PacketBatch &batch, hsa::PacketBatch::Entry &entry) {
  hsa_kernel_dispatch_packet_t &packet = *entry.packet.kernelDispatch();
  const std::shared_ptr<InstrumentedKernel> kernel = kernelOf(packet.kernel_object, batch);
  if (!kernel) {
    released_ += batch.released;
    return;
  }
  const uint64_t numberOfKernel = ++kernel->identity->launches;
  if (kernel->isWatched()) {
    if (!instrument(batch, entry, kernel, numberOfKernel))
      observe(batch, entry, kernel, numberOfKernel);
    return;
  }
  ++kernel->account->seen;
  observe(batch, entry, kernel, numberOfKernel);
}

void Launcher::observe(const hsa::PacketBatch &batch, hsa::PacketBatch::Entry &entry,
                       const std::shared_ptr<InstrumentedKernel> &kernel, uint64_t numberOfKernel) {
  if (!details_.wanted() || batch.released)
    return;
  const hsa_kernel_dispatch_packet_t &packet = *entry.packet.kernelDispatch();
  report::LaunchRecord record = {
      .kernel = kernel->identity->number,
      .numberOfKernel = numberOfKernel,
      .queue = batch.queue.id,
      .gpu = kernel->identity->gpu,
      .grid = {packet.grid_size_x, packet.grid_size_y, packet.grid_size_z},
      .workgroup = {packet.workgroup_size_x, packet.workgroup_size_y, packet.workgroup_size_z}};
  entry.completed = Observed{this, kernel, record, std::move(entry.completed)};
}

void Launcher::Observed::operator()(const hsa::KernelCompletion &completion) {
  if (before)
    before(completion);
  record.begin = completion.begin;
  record.end = completion.end;
  launcher->details_.add(record);
  launcher->account_.noteChange();
}

bool Launcher::instrument(hsa::PacketBatch &batch, hsa::PacketBatch::Entry &entry,
                          const std::shared_ptr<InstrumentedKernel> &kernel, uint64_t numberOfKernel) {
  hsa_kernel_dispatch_packet_t &packet = *entry.packet.kernelDispatch();
  const auto launch = describe(packet, batch.queue.id, kernel);
  launch->numberOfKernel = numberOfKernel;
  if (const auto other = chosen(kernel, packet.kernel_object, launch, batch); other && other != kernel) {
    launch->kernel = other;
    if (other->kernel)
      launch->view.emplace(*other->kernel);
  }
  KernelAccount &account = *launch->kernel->account;
  ++account.seen;
  if (!launch->kernel->isWatched())
    return false;
  const bool runsHooks = launch->kernel->variant && hasRoomFor(*launch) &&
                         hasLdsFor(*launch, packet.group_segment_size) &&
                         staysResident(*launch, packet.group_segment_size);
  if (!runsHooks && !launch->kernel->kernel->observed)
    return false;
  launch->number = ++launches_;
  if (runsHooks)
    launch->blocks = blocksOf(*launch->kernel->variant);
  launch->arguments = packet.kernarg_address;
  const Decision decision = decisionOfTools(*launch, batch);
  launch->arguments = nullptr;
  if (batch.released) { // what tools say does not count any more
    ++released_;
    return false;
  }
  if (decision == Decision::Original)
    return false;
  const auto awaitCompletion = [&] {
    ++inFlight_;
    entry.completed = Completed{this, launch, std::move(entry.completed)};
  };
  if (decision == Decision::Observed || !runsHooks) {
    launch->blocks.clear();
    awaitCompletion();
    return true;
  }
  const LoadedVariant &variant = *launch->kernel->variant;

  // Memory first: when there is none, the packet must not have been changed.
  if (variant.segment.bytes) {
    if (const auto made = makeSegment(*launch, packet.kernarg_address, batch.queue); !made) {
      const LoadedTools::Lock lock(tools_);
      account_.fail(fmt::format("a launch of {} runs unmodified: {}", account.name, made.error().message()));
      return false;
    }
    packet.kernarg_address = launch->kernarg.data();
    // What the host has put there must not be hidden by what a cache has kept of the memory's last use, and what the
    // hooks leave there must be seen by the host when the dispatch has completed.
    unsigned header = entry.packet.header();
    for (const unsigned shift : {HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE, HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE})
      header = (header & ~(3u << shift)) | static_cast<unsigned>(HSA_FENCE_SCOPE_SYSTEM) << shift;
    entry.packet.setHeader(static_cast<uint16_t>(header));
  }
  launch->instrumented = true;
  ++account.run;
  packet.kernel_object = variant.kernelObject;
  packet.private_segment_size += variant.moreScratch;
  packet.group_segment_size += variant.moreLds;
  awaitCompletion();
  return true;
}

void Launcher::Completed::operator()(const hsa::KernelCompletion &completion) const {
  if (before)
    before(completion);
  launcher->onCompleted(launch, completion);
}

void Launcher::onReleased(const hsa::PacketBatch &batch) {
  for (const hsa::PacketBatch::Entry &entry : batch.entries)
    if (const auto *completed = entry.completed.target<Completed>()) {
      completed->launch->kernel->account->run -= completed->launch->instrumented;
      ++released_;
      giveBack(*completed->launch);
    }
  account_.noteChange();
}

std::shared_ptr<InstrumentedKernel> Launcher::chosen(const std::shared_ptr<InstrumentedKernel> &kernel,
                                                     uint64_t kernelObject, const std::shared_ptr<Launch::Impl> &launch,
                                                     const hsa::PacketBatch &batch) {
  const LoadedTools::Lock lock(tools_, batch.released);
  if (!lock.mayCall())
    return nullptr;
  InstrumentedKernel::Choice choice;
  bool other = false;
  const Launch view(*launch);
  for (const auto &tool : tools_.all()) {
    choice.push_back(0);
    if (tool->tool)
      tools_.call(*tool, "variant", [&] { choice.back() = tool->tool->variant(view); });
    other |= choice.back() != 0;
  }
  if (!other)
    return kernel;
  std::shared_ptr<InstrumentedKernel> &found = kernel->others[choice];
  if (!found)
    found = instrumenter_.instrument(kernelObject, choice);
  return found;
}

bool Launcher::hasRoomFor(const Launch::Impl &launch) {
  InstrumentedKernel &kernel = *launch.kernel;
  const uint64_t items = uint64_t{launch.workgroup.x} * launch.workgroup.y * launch.workgroup.z;
  if (items <= kernel.variant->largestWorkgroup)
    return true;
  if (!kernel.tooLarge.exchange(true)) {
    const LoadedTools::Lock lock(tools_);
    account_.fail(fmt::format("launches of {} with workgroups of {} work-items run unmodified: with its hooks there is "
                              "room for {}",
                              kernel.account->name, items, kernel.variant->largestWorkgroup));
  }
  return false;
}

bool Launcher::hasLdsFor(const Launch::Impl &launch, uint32_t ldsBytes) {
  InstrumentedKernel &kernel = *launch.kernel;
  const uint32_t more = kernel.variant->moreLds;
  if (!more || ldsBytes + uint64_t{more} <= isa::kMaxWorkgroupLds)
    return true;
  if (!kernel.tooMuchLds.exchange(true)) {
    const LoadedTools::Lock lock(tools_);
    account_.fail(fmt::format("launches of {} with {} bytes of LDS run unmodified: its hooks want {} more, and a "
                              "workgroup has {}",
                              kernel.account->name, ldsBytes, more, isa::kMaxWorkgroupLds));
  }
  return false;
}

bool Launcher::staysResident(const Launch::Impl &launch, uint32_t ldsBytes) {
  InstrumentedKernel &kernel = *launch.kernel;
  const LoadedVariant &variant = *kernel.variant;
  const uint64_t all = launch.workgroups();
  const auto perUnit = [&](isa::ResourceUse use, uint32_t moreLds) {
    use.ldsBytes = ldsBytes + moreLds;
    use.workgroupSize = launch.workgroup.x * launch.workgroup.y * launch.workgroup.z;
    return isa::workgroupsPerComputeUnit(*variant.target, use);
  };
  const unsigned after = perUnit(variant.after, variant.moreLds), withoutLds = perUnit(variant.after, 0);
  if (after < withoutLds && !kernel.fewerGroups.exchange(true)) {
    const LoadedTools::Lock lock(tools_);
    account_.logAndRecord(
        log::Level::info,
        fmt::format("{} bytes of LDS of the hooks in {} let a compute unit hold {} workgroups instead "
                    "of {}",
                    variant.moreLds, kernel.account->name, after, withoutLds));
  }
  const uint64_t room = variant.computeUnits * after;
  if (all <= room || all > variant.computeUnits * perUnit(variant.before, 0))
    return true;
  if (!kernel.notResident.exchange(true)) {
    const LoadedTools::Lock lock(tools_);
    account_.fail(fmt::format("launches of {} with {} workgroups run unmodified: without hooks all are on the GPU at "
                              "once and may wait for each other; with its hooks there is room for {}",
                              kernel.account->name, all, room));
  }
  return false;
}

Decision Launcher::decisionOfTools(Launch::Impl &launch, const hsa::PacketBatch &batch) {
  if (launch.numberOfKernel < options_.firstIteration || launch.numberOfKernel > options_.lastIteration)
    return Decision::Original;
  const LoadedTools::Lock lock(tools_, batch.released);
  if (!lock.mayCall())
    return Decision::Original;
  bool instrumented = false, observed = false;
  Launch view(launch);
  tools_.callEach("launch", [&](LoadedTool &tool) {
    launch.kernel->selectVariantFor(tool.number);
    const Decision decision = tool.tool->launch(view);
    instrumented |= decision == Decision::Instrumented;
    observed |= decision == Decision::Observed;
  });
  return instrumented ? Decision::Instrumented : observed ? Decision::Observed : Decision::Original;
}

/// What the kernel's entry reads in place of its arguments (rewrite/entry.h). These stay where they are, and nobody
/// looks at them here: they may not be written yet.
Result<void> Launcher::makeSegment(Launch::Impl &launch, const void *arguments, const hsa::QueueInfo &queue) {
  const InstrumentedKernel &kernel = *launch.kernel;
  const LoadedVariant &variant = *kernel.variant;
  launch.kernarg = LUTHIER_TRY(memory_.take(kernel.agent, ToolMemory::Kind::Kernarg, variant.segment.bytes));
  auto *segment = launch.kernarg.as<std::byte>();
  const auto put = [segment](uint32_t offset, uint64_t word) { memcpy(segment + offset, &word, sizeof word); };
  put(rewrite::LaunchSegment::kOriginal, reinterpret_cast<uint64_t>(arguments));
  const size_t perLaunch = launch.blocks.size();
  for (const auto &module : variant.groupBlocks)
    launch.blocks.push_back(LUTHIER_TRY(groupBlock(launch, module)));
  for (size_t n = 0; n < launch.blocks.size(); ++n) {
    Launch::Impl::Block &block = launch.blocks[n];
    block.memory = LUTHIER_TRY(memory_.take(kernel.agent, ToolMemory::Kind::Device, block.contents.size()));
    LUTHIER_TRY(memory_.toDevice(block.memory, block.contents));
    if (n < perLaunch) {
      put(variant.segment.blocks + 8 * static_cast<uint32_t>(n), block.memory.address());
      continue;
    }
    const uint32_t at =
        variant.segment.groups + rewrite::LaunchSegment::kGroupBytes * static_cast<uint32_t>(n - perLaunch);
    const Dim3 groups = launch.groups();
    const uint64_t x = block.module->block(hook::Storage::PerWorkgroup).stride(), y = x * groups.x, z = y * groups.y;
    put(at, block.memory.address());
    put(at + 8, x | y << 32);
    put(at + 16, z);
  }
  for (const auto &[value, offset] : variant.segment.arguments)
    put(offset, value == LaunchValue::HostcallBuffer
                    ? LUTHIER_TRY(calls_.launch(queue, launch.number, kernel.account->name))
                    : launch.number);
  return {};
}

void Launcher::onCompleted(const std::shared_ptr<Launch::Impl> &launch, const hsa::KernelCompletion &completion) {
  const OnRuntimesThread here;
  launch->begin = completion.begin;
  launch->end = completion.end;
  if (KernelAccount &account = *launch->kernel->account; launch->begin && launch->end >= launch->begin) {
    ++account.timed;
    account.timeSum += launch->end - launch->begin;
  }
  if (details_.wanted())
    details_.add({.kernel = launch->kernel->identity->number,
                  .numberOfKernel = launch->numberOfKernel,
                  .queue = launch->queue,
                  .gpu = launch->kernel->identity->gpu,
                  .grid = {launch->grid.x, launch->grid.y, launch->grid.z},
                  .workgroup = {launch->workgroup.x, launch->workgroup.y, launch->workgroup.z},
                  .begin = launch->begin,
                  .end = launch->end,
                  .instrumented = true});
  for (Launch::Impl::Block &block : launch->blocks)
    if (const auto read = memory_.fromDevice(block.contents, block.memory); !read)
      log::error("results of a launch of {} are lost: {}", launch->kernel->account->name, read.error().message());
  {
    const LoadedTools::Lock lock(tools_);
    Launch view(*launch);
    if (lock.mayCall())
      tools_.callEach("finished", [&](LoadedTool &tool) {
        launch->kernel->selectVariantFor(tool.number);
        tool.tool->finished(view);
      });
    account_.noteChange();
  }
  giveBack(*launch);
}

void Launcher::giveBack(Launch::Impl &launch) {
  if (launch.instrumented && launch.kernel->variant->callsHost)
    calls_.completed(launch.queue, launch.number);
  const hsa_agent_t agent = launch.kernel->agent;
  for (Launch::Impl::Block &block : launch.blocks)
    memory_.giveBack(agent, ToolMemory::Kind::Device, std::move(block.memory));
  memory_.giveBack(agent, ToolMemory::Kind::Kernarg, std::move(launch.kernarg));
  --inFlight_;
}

} // namespace luthier::runtime
