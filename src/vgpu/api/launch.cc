// From a kernel and its arguments to a Launch: what a runtime writes into memory before it rings a doorbell.

#include "vgpu/api/gpu.h"
#include "vgpu/api/metadata.h"
#include "vgpu/wave/code_cache.h"
#include "vgpu/wave/decoder.h"
#include "vgpu/wave/poison.h"
#include "vgpu/wave/stats.h"
#include "vgpu/wave/strict_resources.h"
#include "vgpu/wave/trace.h"

#include <algorithm>
#include <cstring>

namespace luthier::vgpu {

namespace {

/// hsa_kernel_dispatch_packet_t, which kernels read through dispatch_ptr.
struct DispatchPacket {
  uint16_t header = 2; // kernel dispatch
  uint16_t setup = 3;  // dimensions
  uint16_t workgroup[3];
  uint16_t reserved0 = 0;
  uint32_t grid[3];
  uint32_t privateSegmentSize;
  uint32_t groupSegmentSize;
  uint64_t kernelObject;
  uint64_t kernarg;
  uint64_t reserved2 = 0;
  uint64_t completionSignal = 0;
};
static_assert(sizeof(DispatchPacket) == 64);

// Kernels find the apertures of LDS and scratch in the amd_queue_t that queue_ptr names (code object v4 and before).
constexpr uint64_t kQueueBytes = 256;
constexpr uint64_t kQueueGroupApertureHi = 0x40;
constexpr uint64_t kQueuePrivateApertureHi = 0x44;

/// The most scratch that is set aside for waves running at once; only slots that are used cost memory.
constexpr uint64_t kScratchLimit = 4ull << 30;

struct ScratchMemory {
  ScratchRing ring;
  GpuBlock block;
};

/// The buffer resource that ROCr makes (AqlQueue::FillBufRsrc*): swizzle enabled; DST_SEL xyzw, unsigned dwords. On
/// gfx9, 4-byte elements, index stride 64, thread id added to the index; later the packet processor fills these in
/// (wave_start.cc), and there is no range. gfx10's resource has a level, later ones' two bits for swizzling.
std::array<uint32_t, 4> scratchResource(const isa::Target &target, uint64_t base, uint64_t bytes) {
  using isa::BufferResource;
  const BufferResource layout = target.bufferResource;
  const uint32_t format = layout <= BufferResource::Gfx9    ? 0x00ea4fac
                          : layout == BufferResource::Gfx10 ? 0x21014fac
                                                            : 0x20014fac;
  const uint32_t swizzle = layout <= BufferResource::Gfx10 ? 2u << 30 : 1u << 30;
  return {static_cast<uint32_t>(base), static_cast<uint32_t>(base >> 32) | swizzle,
          static_cast<uint32_t>(std::min<uint64_t>(bytes, UINT32_MAX)), format};
}

} // namespace

Result<void> Gpu::prepare() {
  queue_ = LUTHIER_TRY(memory_->allocate(kQueueBytes));
  const auto shared = static_cast<uint32_t>(device_->config().sharedApertureBase >> 32);
  const auto scratch = static_cast<uint32_t>(device_->config().privateApertureBase >> 32);
  memcpy(reinterpret_cast<void *>(queue_ + kQueueGroupApertureHi), &shared, 4);
  memcpy(reinterpret_cast<void *>(queue_ + kQueuePrivateApertureHi), &scratch, 4);
  return {};
}

Result<std::shared_ptr<ScratchRing>> Gpu::scratchFor(uint32_t bytesPerLane, uint32_t lanes) {
  const DeviceConfig &config = device_->config();
  // COMPUTE_TMPRING_SIZE counts in units of 1 KiB.
  const uint64_t perWave = (uint64_t{bytesPerLane} * lanes + 1023) / 1024 * 1024;
  std::lock_guard lock(mutex_);
  if (scratch_ && scratch_->bytesPerWave() >= perWave)
    return scratch_;
  const uint64_t most = uint64_t{config.computeUnits} * config.simdsPerComputeUnit * config.wavesPerSimd;
  const uint64_t slots =
      std::clamp<uint64_t>(kScratchLimit / perWave, device_->target().maxWorkgroupWaves, std::max<uint64_t>(most, 32));
  auto memory = std::make_shared<ScratchMemory>();
  memory->block = LUTHIER_TRY(GpuBlock::make(*memory_, perWave * slots));
  const uint64_t base = memory->block.address();
  memory->ring.reset(base, perWave, static_cast<uint32_t>(slots),
                     scratchResource(device_->target(), base, perWave * slots));
  // Launches that still use a smaller ring keep it alive.
  scratch_ = std::shared_ptr<ScratchRing>(memory, &memory->ring);
  return scratch_;
}

Result<Gpu::Prepared> Gpu::prepare(const Kernel &kernel, const LaunchOptions &options, const Arguments &arguments) {
  const Size3 &grid = options.grid, &group = options.workgroup;
  if (!grid.x || !grid.y || !grid.z || !group.x || !group.y || !group.z)
    return makeErrorCode(static_cast<int>(FaultKind::BadLaunch), "cannot launch {}: the grid or workgroup is empty",
                         kernel.name);
  if (std::max({group.x, group.y, group.z}) > UINT16_MAX)
    return makeErrorCode(static_cast<int>(FaultKind::BadLaunch), "cannot launch {}: the workgroup is too large",
                         kernel.name);
  const size_t given = arguments.bytes().size();
  if (kernel.hasMetadata && given != kernel.explicitBytes())
    return makeErrorCode(static_cast<int>(FaultKind::BadLaunch),
                         "cannot launch {}: it takes {} bytes of arguments, {} were given", kernel.name,
                         kernel.explicitBytes(), given);
  const uint64_t kernargBytes = std::max<uint64_t>(kernel.kernargBytes, given);

  Prepared prepared;
  prepared.memory = std::make_shared<LaunchMemory>();
  prepared.memory->arguments = LUTHIER_TRY(GpuBlock::make(*memory_, sizeof(DispatchPacket) + kernargBytes));
  Launch &launch = prepared.launch;
  launch.kernelObject = kernel.descriptor;
  launch.grid = {grid.x, grid.y, grid.z};
  launch.workgroup = {static_cast<uint16_t>(group.x), static_cast<uint16_t>(group.y), static_cast<uint16_t>(group.z)};
  launch.groupSegmentSize = kernel.ldsBytes + options.dynamicLds;
  launch.privateSegmentSize = kernel.scratchBytes + (kernel.dynamicStack ? options.stackBytes : 0);
  launch.packet = prepared.memory->arguments.address();
  launch.kernarg = launch.packet + sizeof(DispatchPacket);
  launch.queue = queue_;
  launch.count = options.count;
  launch.strictWaits = options.strictWaits;
  if (options.poisonDead)
    launch.poison = std::make_shared<Poison>(options.poisonDead, options.poisonSeed);
  if (options.strictResources)
    launch.strictResources = std::make_shared<StrictResources>(*options.strictResources, options.strictL1);
  if (!options.traceFile.empty())
    launch.trace = LUTHIER_TRY(Trace::open(options.traceFile, "", {options.traceFirstWave, options.traceLastWave}));
  if (options.onWaveEnd)
    launch.onWaveEnd = [report = options.onWaveEnd](const Workgroup &workgroup, const Wave &wave) {
      report(WaveView(workgroup, wave));
    };
  if (launch.privateSegmentSize)
    launch.scratch =
        LUTHIER_TRY(scratchFor(launch.privateSegmentSize, descriptorAt(kernel.descriptor).waveSize(device_->target())));
  {
    std::lock_guard lock(mutex_);
    launch.dispatchId = dispatches_++;
    if (const auto it = kernels_.find(kernel.descriptor); it != kernels_.end())
      prepared.memory->image = it->second.image;
  }

  const std::span kernarg(reinterpret_cast<std::byte *>(launch.kernarg), kernargBytes);
  std::ranges::copy(arguments.bytes(), kernarg.begin());
  fillHidden(kernel,
             {.grid = grid,
              .workgroup = group,
              .dynamicLds = options.dynamicLds,
              .sharedAperture = device_->config().sharedApertureBase,
              .privateAperture = device_->config().privateApertureBase,
              .queue = queue_,
              .hostcallBuffer = reinterpret_cast<uintptr_t>(options.hostcallBuffer)},
             kernarg);
  const DispatchPacket packet{.workgroup = {launch.workgroup[0], launch.workgroup[1], launch.workgroup[2]},
                              .grid = {grid.x, grid.y, grid.z},
                              .privateSegmentSize = launch.privateSegmentSize,
                              .groupSegmentSize = launch.groupSegmentSize,
                              .kernelObject = launch.kernelObject,
                              .kernarg = launch.kernarg};
  memcpy(reinterpret_cast<void *>(launch.packet), &packet, sizeof packet);
  return prepared;
}

Result<RunningLaunch> Gpu::launch(const Kernel &kernel, const LaunchOptions &options, const Arguments &arguments) {
  Prepared prepared = LUTHIER_TRY(prepare(kernel, options, arguments));
  auto state = std::make_shared<RunningLaunch::State>();
  {
    std::lock_guard lock(mutex_);
    running_.insert(state);
  }
  auto onDone = [this, state, memory = prepared.memory](const Dispatch &dispatch) {
    {
      std::lock_guard lock(mutex_);
      running_.erase(state);
    }
    state->finish(dispatch);
  };
  const std::shared_ptr<Dispatch> dispatch = device_->launch(prepared.launch, std::move(onDone));
  std::lock_guard lock(state->mutex);
  state->dispatch = dispatch;
  return RunningLaunch(state);
}

Result<std::unique_ptr<Stepper>> Gpu::step(const Kernel &kernel, const LaunchOptions &options,
                                           const Arguments &arguments) {
  Prepared prepared = LUTHIER_TRY(prepare(kernel, options, arguments));
  auto stepper = makeStepper(*device_, prepared.launch, prepared.memory);
  if (const FaultInfo fault = stepper->fault(); fault.kind != FaultKind::None)
    return makeErrorCode(static_cast<int>(fault.kind), "{}", fault.text);
  return stepper;
}

FaultInfo faultInfo(const Fault &fault) {
  return {static_cast<FaultKind>(fault.kind), fault.address, fault.write, fault.text};
}

void RunningLaunch::State::finish(const Dispatch &finished) {
  std::lock_guard lock(mutex);
  fault = faultInfo(finished.fault());
  report.nanoseconds = (finished.endTime() - finished.startTime()) * (1'000'000'000 / Device::kClockHz);
  report.translatedWaves = finished.translatedWaves();
  if (const DispatchCounters *counters = finished.counters()) {
    const Decoder &decoder = finished.decoder();
    report.waves = counters->waves();
    for (size_t n = 0; n < counters->opcodes().size(); ++n) {
      const OpcodeCount &count = counters->opcodes()[n];
      if (!count.waves)
        continue;
      report.instructions.waves += count.waves;
      report.instructions.lanes += count.lanes;
      report.opcodes[decoder.mnemonic(static_cast<uint16_t>(n))] = {count.waves, count.lanes};
    }
  }
  done = true;
  changed.notify_all();
}

void RunningLaunch::State::finish(FaultInfo why) {
  std::lock_guard lock(mutex);
  fault = std::move(why);
  done = true;
  changed.notify_all();
}

Result<LaunchReport> RunningLaunch::wait() const {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] { return state_->done; });
  if (state_->fault.kind != FaultKind::None)
    return Error(state_->fault.text, static_cast<int>(state_->fault.kind));
  return state_->report;
}

bool RunningLaunch::finished() const {
  std::lock_guard lock(state_->mutex);
  return state_->done;
}

void RunningLaunch::abort() const {
  std::shared_ptr<Dispatch> dispatch;
  {
    std::lock_guard lock(state_->mutex);
    dispatch = state_->dispatch.lock();
  }
  if (dispatch)
    dispatch->abort({Fault::Kind::Aborted, 0, false, "the launch of " + dispatch->kernelName() + " was aborted"});
}

FaultInfo RunningLaunch::fault() const {
  std::lock_guard lock(state_->mutex);
  return state_->fault;
}

} // namespace luthier::vgpu
