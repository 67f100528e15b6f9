#include "vgpu/device.h"

#include "vgpu/exec/modes.h"
#include "vgpu/wave/code_cache.h"
#include "vgpu/wave/fp_mode.h"
#include "vgpu/wave/kernel_descriptor.h"
#include "vgpu/wave/observer.h"
#include "vgpu/wave/scheduler.h"

#include <fmt/format.h>

#include <time.h>

namespace luthier::vgpu {

namespace {

/// What is wrong with a launch, empty when nothing is. Checked before any wave runs, as the packet processor does.
std::string problemWith(const Device &device, const Launch &launch) {
  const isa::Target &target = device.target();
  if (launch.kernelObject == 0 || !device.memory().allows(launch.kernelObject, KernelDescriptor::kBytes, device.mask()))
    return fmt::format("the kernel object {:#x} is not in memory that the GPU can access", launch.kernelObject);
  uint64_t items = 1;
  for (unsigned d = 0; d < 3; ++d) {
    if (launch.grid[d] == 0 || launch.workgroup[d] == 0)
      return fmt::format("dimension {} of the grid or workgroup is zero", d);
    items *= launch.workgroup[d];
  }
  if (items > uint64_t(target.maxWorkgroupWaves) * target.waveSize)
    return fmt::format("a workgroup of {} work-items is more than the {} that {} allows", items,
                       target.maxWorkgroupWaves * target.waveSize, target.name);
  if (launch.groupSegmentSize > device.config().ldsBytesPerComputeUnit)
    return fmt::format("{} bytes of LDS are more than the {} of a compute unit", launch.groupSegmentSize,
                       device.config().ldsBytesPerComputeUnit);
  if (descriptorAt(launch.kernelObject).wave32() && target.waveSize != 32)
    return "the kernel was compiled for waves of 32 lanes, which this GPU does not have";
  if (launch.privateSegmentSize) {
    const uint64_t waves = (items + target.waveSize - 1) / target.waveSize;
    const uint64_t needed = uint64_t(launch.privateSegmentSize) * target.waveSize;
    if (!launch.scratch || launch.scratch->bytesPerWave() < needed || launch.scratch->slots() < waves)
      return fmt::format("{} bytes of scratch per wave for {} waves are more than the queue has", needed, waves);
  }
  return {};
}

/// Why the waves of a dispatch may not run in translated code, null when they may. They may if no observer wants single
/// instructions, MODE needs no per-instruction handling, and no wave needs anything but registers and memory.
const char *whyInterpreted(const Dispatch &dispatch, const WaveStart &start) {
  const uint32_t mode = start.mode();
  constexpr uint32_t kKeepsDenormals = mode::kDenormF32 | mode::kDenormF64; // the optimiser knows no other way (jit.cc)
  if (!Translations::wanted())
    return "translation is off";
  if (dispatch.watched())
    return "statistics, a trace or a check needs single instructions";
  if (dispatch.launch().privateSegmentSize)
    return "scratch memory";
  if (dispatch.device().target().waveSize != kMaxLanes)
    return "waves of 32 lanes";
  if ((mode & kModal) || mxcsrForF32(mode) != mxcsrForF64(mode) || (mode & kKeepsDenormals) != kKeepsDenormals)
    return "a floating-point mode other than the compilers' default";
  return nullptr;
}

} // namespace

Device::Device(uint32_t index, const DeviceConfig &config, AddressSpace &memory, Scheduler &scheduler, Stats *stats)
    : index_(index), config_(config), memory_(memory), scheduler_(scheduler), stats_(stats),
      code_(std::make_unique<CodeCache>(*this)) {}

Device::~Device() = default;

std::shared_ptr<Dispatch> Device::prepare(const Launch &launch, Dispatch::OnDone onDone) {
  auto dispatch = std::make_shared<Dispatch>(*this, launch, std::move(onDone));
  if (std::string problem = problemWith(*this, launch); !problem.empty()) {
    dispatch->abort({Fault::Kind::BadLaunch, launch.kernelObject, false,
                     fmt::format("cannot launch {}: {}", dispatch->kernelName(), problem)});
  } else {
    dispatch->entry_ = dispatch->code_->find(entryAt(launch.kernelObject) & ~3ull, dispatch->entryChunk_);
    dispatch->start_ = WaveStart(*dispatch);
    dispatch->observation_ = Observation::of(*dispatch);
    dispatch->waves_ = dispatch->groupCount_ * dispatch->start_.fullWaves();
    dispatch->interpreted_ = whyInterpreted(*dispatch, dispatch->start_);
    if (!dispatch->interpreted_)
      dispatch->translation_ =
          dispatch->code_->translations().find({.code = dispatch->code_,
                                                .entry = dispatch->entry_,
                                                .itemIdRegisters = dispatch->start_.itemIdRegisters(),
                                                .waves = dispatch->waves_,
                                                .kernel = [&dispatch] { return dispatch->kernelName(); }});
    if (!dispatch->interpreted_ && !dispatch->translation_)
      dispatch->interpreted_ = kNotHot;
  }
  return dispatch;
}

std::shared_ptr<Dispatch> Device::launch(const Launch &launch, Dispatch::OnDone onDone) {
  auto dispatch = prepare(launch, std::move(onDone));
  scheduler_.submit(dispatch);
  return dispatch;
}

void Device::invalidateCode() { code_->invalidate(); }

uint64_t Device::clock() {
  timespec now;
  clock_gettime(CLOCK_BOOTTIME, &now);
  return (static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec)) /
         (1'000'000'000 / kClockHz);
}

} // namespace luthier::vgpu
