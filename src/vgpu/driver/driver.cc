#include "vgpu/driver/driver.h"

#include "check/text.h"
#include "support/log.h"
#include "support/status_line.h"
#include "support/variables.h"
#include "support/write_all.h"
#include "vgpu/driver/running_report.h"
#include "vgpu/wave/poison.h"
#include "vgpu/wave/stats.h"
#include "vgpu/wave/strict_resources.h"
#include "vgpu/wave/trace.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <thread>
#include <unistd.h>

namespace luthier::vgpu {

namespace {

constexpr const char *kGpusVariable = "LUTHIER_VGPU_GPUS";

std::vector<uint64_t> memorySizes(const Topology &topology) {
  std::vector<uint64_t> sizes;
  for (uint32_t node = 1; node < topology.nodes(); ++node)
    sizes.push_back(topology.gpu(node).localMemoryBytes);
  return sizes;
}

std::vector<uint32_t> gpuIds(const Topology &topology) {
  std::vector<uint32_t> ids;
  for (uint32_t node = 1; node < topology.nodes(); ++node)
    ids.push_back(topology.gpuId(node));
  return ids;
}

// One write, so that blocks from several threads stay whole.
void writeBlock(std::string_view text) {
  std::string block(status_line::clearing());
  while (!text.empty()) {
    const size_t end = text.find('\n');
    block.append("luthier vgpu: ").append(text.substr(0, end)).append("\n");
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  writeAll(STDERR_FILENO, block);
}

bool strictWaitsWanted() {
  const Result<bool> wanted = env::flag(env::kStrictWaits, false);
  if (!wanted)
    log::error("{}; waits are not checked", wanted.error().message());
  return wanted && *wanted;
}

/// LUTHIER_VGPU_STRICT_RESOURCES is the seed of what is in registers and memory at the start.
std::shared_ptr<const StrictResources> strictResourcesWanted() {
  if (!env::text(env::kStrictResources.name))
    return nullptr;
  const Result<uint64_t> seed = env::number(env::kStrictResources, 1);
  if (!seed) {
    log::error("{}; resources are not strict", seed.error().message());
    return nullptr;
  }
  const Result<bool> vectorL1 = env::flag(env::kStrictL1, false);
  if (!vectorL1)
    log::error("{}; compute units have no vector L1", vectorL1.error().message());
  return std::make_shared<StrictResources>(*seed, vectorL1 && *vectorL1);
}

/// LUTHIER_VGPU_POISON_DEAD is the seed of the garbage.
std::shared_ptr<const Poison> poisonWanted(LoadedLiveness &liveness) {
  if (!env::text(env::kPoisonDead.name))
    return nullptr;
  const Result<uint64_t> seed = env::number(env::kPoisonDead, 1);
  if (!seed) {
    log::error("{}; dead registers are left alone", seed.error().message());
    return nullptr;
  }
  return std::make_shared<Poison>([&liveness](uint64_t entry, uint64_t pc) { return liveness.at(entry, pc); }, *seed);
}

} // namespace

Result<std::vector<DeviceConfig>> configuredGpus() {
  std::vector<std::string> names = LUTHIER_TRY(env::list(kGpusVariable));
  if (names.empty())
    names.emplace_back("gfx90a");
  if (names.size() > kMaxDevices)
    return makeError("{} asks for {} GPUs; there can be {}", kGpusVariable, names.size(), kMaxDevices);
  std::vector<DeviceConfig> gpus;
  for (const std::string &name : names) {
    const Result<const isa::Target *> target = isa::findVirtualTarget(name);
    if (!target)
      return makeError("{}: {}", kGpusVariable, target.error().message());
    gpus.push_back(deviceConfig(**target));
  }
  return gpus;
}

Driver::Driver(const Topology &machine)
    : stats_(Stats::fromEnvironment().release()), trace_(Trace::fromEnvironment()), topology(machine),
      memory(space_, topology.host().memoryBytes, memorySizes(topology)), sharedMemory(space_, gpuIds(topology)),
      check(CheckSession::fromEnvironment(space_, code, memory)) {
  const auto internal = [&](uint64_t bytes) {
    const auto made = memory.allocateInternal(bytes, std::max(bytes, AddressSpace::kPageSize));
    if (!made)
      die(fmt::format("no memory for the driver's own pages: {}", std::strerror(errno)));
    return *made;
  };
  const MemoryManager::Internal mailboxes = internal(EventTable::kMailboxBytes);
  memory.provide(0, 0, mailboxes, mailboxOffset);
  events = std::make_unique<EventTable>(static_cast<uint64_t *>(mailboxes.address));
  if (check)
    check->isMailbox = [this](uint64_t address) { return events->isMailbox(address); };
  space_.pager = [this](uint64_t address, DeviceMask device) { return sharedMemory.pageIn(address, device); };
  poison_ = poisonWanted(liveness);
  strictResources_ = strictResourcesWanted();
  const bool strictWaits = strictWaitsWanted();
  std::vector<Device *> devices;
  std::vector<QueueTable::Doorbells> doorbells;
  for (uint32_t gpu = 0; gpu < topology.gpus(); ++gpu) {
    auto device = std::make_unique<Device>(gpu, topology.gpu(gpu + 1), space_, scheduler_, stats_);
    device->trace = trace_;
    device->strictWaits = strictWaits;
    device->poison = poison_;
    device->strictResources = strictResources_;
    if (check)
      check->watch(*device);
    device->explain = [this](const Wave &wave, const Inst *inst, const BadAccess &access) {
      return check::toText(explainer.explain(wave, inst, access, nullptr));
    };
    device->xnack = [this](uint64_t kernelObject) { return sharedMemory.xnack() && code.madeForXnack(kernelObject); };
    device->kernelName = [this](uint64_t kernelObject) { return code.kernelName(kernelObject); };
    device->onInterrupt = [this](uint32_t m0) {
      events->interrupt(m0);
      activity_.notify();
    };
    memory.provide(gpu, kfd::memory::kMmioRemap, internal(AddressSpace::kPageSize),
                   kfd::mmapOffset(kfd::MmapType::MmioRemap, gpuId(gpu)));
    const MemoryManager::Internal page = internal(QueueTable::kDoorbellBytes);
    const uint64_t offset = kfd::mmapOffset(kfd::MmapType::Doorbell, gpuId(gpu));
    memory.provide(gpu, kfd::memory::kDoorbell, page, offset);
    doorbells.push_back({static_cast<uint64_t *>(page.address), offset});
    devices.push_back(device.get());
    devices_.push_back(std::move(device));
  }
  memory.onGone = [this](uint64_t begin, uint64_t size) {
    bool hadCode = false;
    for (auto &device : devices_)
      hadCode |= device->invalidateCode(begin, size);
    if (hadCode) {
      code.forget();
      liveness.forget();
    }
  };
  memory.onGiven = [this](uint64_t begin, uint64_t size) { sharedMemory.disown(begin, size); };
  memory.onFree = [this](uint64_t handle) {
    if (uint64_t expected = handle; mailboxHandle.compare_exchange_strong(expected, 0))
      events->setMailboxes(nullptr, 0);
  };
  queues = std::make_unique<QueueTable>(std::move(devices), std::move(doorbells), *this);
}

Driver::~Driver() = default;

std::optional<uint32_t> Driver::gpuIndex(uint32_t gpuId) const {
  const std::optional<uint32_t> node = topology.nodeOf(gpuId);
  return node ? std::optional(*node - 1) : std::nullopt;
}

void Driver::writeStats() {
  if (stats_)
    stats_->publish();
  if (trace_)
    trace_->flush();
}

void Driver::reportChecks() const {
  if (strictResources_) {
    const StrictResources::Totals &totals = strictResources_->totals;
    writeBlock(
        fmt::format("strict resources, seed {}: {} waves; XNACK_MASK written {} times; stale: VCCZ at {} branches, "
                    "{} dwords in caches",
                    strictResources_->seed, totals.waves.load(), totals.xnackWrites.load(), totals.staleBranches.load(),
                    totals.staleWords.load()));
  }
  if (!poison_)
    return;
  const Poison::Totals &totals = poison_->totals;
  writeBlock(fmt::format("overwrote {} dead registers before {} instructions; of {} more, liveness is not known",
                         totals.dead.load(), totals.instructions - totals.unknown, totals.unknown.load()));
}

void Driver::reportRunning(const std::function<bool(const Dispatch &)> &wanted) {
  using std::chrono::milliseconds;
  // Workers answer at the end of a quantum, which is long only where every instruction is observed.
  constexpr milliseconds kPatience(2000), kBetween(200);
  const Running before = scheduler_.look(kPatience);
  std::this_thread::sleep_for(kBetween);
  const Running now = scheduler_.look(kPatience);
  const std::string text = RunningReport(explainer, code).text(before, now, kBetween, [&](const Dispatch &dispatch) {
    return !wanted || wanted(dispatch);
  });
  if (!text.empty())
    writeBlock(text);
  else if (!wanted)
    writeBlock("no kernel is running");
}

std::string Driver::describeCode(uint64_t pc) {
  const check::CodePlace place = explainer.origin(pc);
  std::string text;
  if (!place.owner.empty())
    text += "\n  belongs to  " + place.owner;
  if (!place.source.empty())
    text += fmt::format("\n  source      {}:{}", place.source.front().file, place.source.front().line);
  return text;
}

void Driver::reportFault(std::string_view text) {
  writeBlock(text);
  writeStats();
}

bool Driver::raiseMemoryFault(Device &device, const Fault &fault) {
  EventTable::MemoryFault raised{};
  raised.gpuId = gpuId(device.index());
  raised.address = fault.address;
  raised.notPresent = true;
  return events->raiseMemoryFault(raised);
}

void Driver::die(std::string_view why) {
  writeBlock(why);
  writeStats();
  std::abort();
}

} // namespace luthier::vgpu
