#include "vgpu/thunk/driver.h"

#include "support/log.h"
#include "support/variables.h"
#include "support/write_all.h"
#include "vgpu/translate/report.h"
#include "vgpu/wave/poison.h"
#include "vgpu/wave/stats.h"
#include "vgpu/wave/trace.h"

#include <cerrno>
#include <cstdlib>
#include <fmt/format.h>
#include <mutex>
#include <unistd.h>

namespace luthier::vgpu {

namespace {

constexpr const char *kGpusVariable = "LUTHIER_VGPU_GPUS";

std::vector<uint64_t> gpuSizes(const Topology &topology) {
  std::vector<uint64_t> sizes;
  for (uint32_t node = 1; node < topology.nodes(); ++node)
    sizes.push_back(topology.gpu(node).localMemoryBytes);
  return sizes;
}

// One write, so that blocks from several threads stay whole.
void writeBlock(std::string_view text) {
  std::string block;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    block.append("luthier vgpu: ").append(text.substr(0, end)).append("\n");
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  writeAll(STDERR_FILENO, block);
}

Driver *theDriver = nullptr;

bool strictWaitsWanted() {
  const Result<bool> wanted = env::flag(env::kStrictWaits, false);
  if (!wanted)
    log::error("{}; waits are not checked", wanted.error().message());
  return wanted && *wanted;
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
    DeviceConfig config;
    const Result<const isa::Target *> target = isa::findVirtualTarget(name);
    if (!target)
      return makeError("{}: {}", kGpusVariable, target.error().message());
    config.target = *target;
    gpus.push_back(config);
  }
  return gpus;
}

Driver &Driver::get() {
  static std::once_flag once;
  std::call_once(once, [] {
    Result<std::vector<DeviceConfig>> gpus = configuredGpus();
    if (!gpus)
      log::error("{}. No virtual GPU is available.", gpus.error().message());
    theDriver = new Driver(HostInfo::read(), gpus ? *gpus : std::vector<DeviceConfig>());
    std::atexit([] {
      theDriver->writeStats();
      theDriver->reportPoison();
      if (const std::string text = TranslationReport::process().text(); !text.empty())
        log::info("{}", text);
    });
  });
  return *theDriver;
}

Driver::Driver(HostInfo host, std::vector<DeviceConfig> gpus)
    : stats_(Stats::fromEnvironment().release()), trace_(Trace::fromEnvironment()),
      topology(std::move(host), std::move(gpus)), memory(space_, topology.host().memoryBytes, gpuSizes(topology)) {
  events = std::make_unique<EventTable>(static_cast<uint64_t *>(memory.allocateInternal(EventTable::kMailboxBytes)));
  poison_ = poisonWanted(liveness);
  const bool strictWaits = strictWaitsWanted();
  std::vector<Device *> devices;
  std::vector<uint64_t *> doorbells;
  for (uint32_t node = 1; node < topology.nodes(); ++node) {
    auto device = std::make_unique<Device>(node - 1, topology.gpu(node), space_, scheduler_, stats_);
    device->trace = trace_;
    device->strictWaits = strictWaits;
    device->poison = poison_;
    device->kernelName = [this](uint64_t kernelObject) { return code.kernelName(kernelObject); };
    device->onInterrupt = [this](uint32_t m0) {
      events->interrupt(m0);
      activity_.notify();
    };
    mmioRemaps_.push_back(reinterpret_cast<uint64_t>(memory.allocateInternal(AddressSpace::kPageSize)));
    doorbells.push_back(
        static_cast<uint64_t *>(memory.allocateInternal(QueueTable::kDoorbellBytes, QueueTable::kDoorbellBytes)));
    devices.push_back(device.get());
    devices_.push_back(std::move(device));
  }
  memory.onCodeGone = [this] {
    code.forget();
    liveness.forget();
    for (auto &device : devices_)
      device->invalidateCode();
  };
  queues = std::make_unique<QueueTable>(std::move(devices), std::move(doorbells), *this);
}

Driver::~Driver() = default;

void Driver::writeStats() {
  if (stats_)
    stats_->publish();
  if (trace_)
    trace_->flush();
}

void Driver::reportPoison() const {
  if (!poison_)
    return;
  const Poison::Totals &totals = poison_->totals;
  writeBlock(fmt::format("overwrote {} dead registers before {} instructions; of {} more, liveness is not known",
                         totals.dead.load(), totals.instructions - totals.unknown, totals.unknown.load()));
}

void Driver::reportFault(std::string_view text) {
  writeBlock(text);
  writeStats();
}

bool Driver::raiseMemoryFault(Device &device, const Fault &fault) {
  EventTable::MemoryFault raised{};
  raised.node = device.index() + 1;
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
