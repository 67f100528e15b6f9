#include "vgpu/wave/device.h"

#include "vgpu/exec/modes.h"
#include "vgpu/state/fp_mode.h"
#include "vgpu/wave/code_cache.h"
#include "vgpu/wave/kernel_descriptor.h"
#include "vgpu/wave/observer.h"
#include "vgpu/wave/scheduler.h"
#include "vgpu/wave/strict_resources.h"

#include <fmt/format.h>

#include <time.h>

namespace luthier::vgpu {

namespace {

/// What is wrong with a kernel descriptor, empty when nothing is. Fields that the packet processor fills in itself (LDS
/// size, priority, trap handler) are not looked at, nor those that say what compilers wanted (TG_SPLIT, dynamic stack).
std::string problemWith(const KernelDescriptor &descriptor, const isa::Target &target) {
  struct Check {
    const char *word;
    uint32_t value, mustBeZero;
  };
  using namespace object;
  const uint32_t rsrc1Bits = rsrc1::privileged.mask() | rsrc1::debugMode.mask() | rsrc1::bulky.mask() |
                             rsrc1::cdbgUser.mask() | target.rsrc1Reserved;
  // Floating-point exceptions would go to a trap handler, which does not run here.
  const uint32_t rsrc2Bits = rsrc2::exceptionAddressWatch.mask() | rsrc2::exceptionMemory.mask() | 0xffu << 24;
  constexpr uint32_t kPropertyBits = 7u << 7 | 0xfu << 12;
  for (const Check &check : {Check{"COMPUTE_PGM_RSRC1", descriptor.rsrc1, rsrc1Bits},
                             {"COMPUTE_PGM_RSRC2", descriptor.rsrc2, rsrc2Bits},
                             {"COMPUTE_PGM_RSRC3", descriptor.rsrc3, target.rsrc3Reserved},
                             {"KERNEL_CODE_PROPERTIES", descriptor.codeProperties, kPropertyBits}})
    if (check.value & check.mustBeZero)
      return fmt::format(
          "{} of its kernel descriptor is {:#x}, of which the bits {:#x} are reserved or ask for what is "
          "not implemented",
          check.word, check.value, check.value & check.mustBeZero);
  if (target.dynamicVgprs && rsrc2::dynamicVgprs.get(descriptor.rsrc2))
    return "its waves allocate VGPRs while they run (DYNAMIC_VGPR), which is not implemented";
  if (target.wave32 && rsrc3::sharedVgprs.get(descriptor.rsrc3))
    return "the halves of its waves share VGPRs (SHARED_VGPR_COUNT), which is not implemented";
  return {};
}

/// What is wrong with a launch, empty when nothing is. Checked before any wave runs, as the packet processor does.
std::string problemWith(const Device &device, const Launch &launch) {
  const isa::Target &target = device.target();
  if (launch.kernelObject == 0 || !device.memory().mapped(launch.kernelObject, KernelDescriptor::kBytes, device.mask()))
    return fmt::format("the kernel object {:#x} is not in memory that the GPU can access", launch.kernelObject);
  uint64_t items = 1, total = 1;
  for (unsigned d = 0; d < 3; ++d) {
    if (launch.grid[d] == 0 || launch.workgroup[d] == 0)
      return fmt::format("dimension {} of the grid or workgroup is zero", d);
    items *= launch.workgroup[d];
    if (__builtin_mul_overflow(total, uint64_t{launch.grid[d]}, &total))
      return fmt::format("a grid of {}x{}x{} has more than 2^64 work-items", launch.grid[0], launch.grid[1],
                         launch.grid[2]);
  }
  if (items > uint64_t(target.maxWorkgroupWaves) * target.waveSize)
    return fmt::format("a workgroup of {} work-items is more than the {} that {} allows", items,
                       target.maxWorkgroupWaves * target.waveSize, target.name);
  if (launch.groupSegmentSize > device.config().ldsBytesPerComputeUnit)
    return fmt::format("{} bytes of LDS are more than the {} of a compute unit", launch.groupSegmentSize,
                       device.config().ldsBytesPerComputeUnit);
  const KernelDescriptor descriptor = descriptorAt(launch.kernelObject);
  if (descriptor.wave32() && !target.wave32)
    return "the kernel was compiled for waves of 32 lanes, which this GPU does not have";
  const uint32_t lanes = descriptor.waveSize(target);
  if (std::string problem = problemWith(descriptor, target); !problem.empty())
    return problem;
  // Hardware wants 256; here, code may start wherever an instruction may.
  constexpr uint64_t kCodeAlignment = 4;
  if (const uint64_t entry = entryAt(launch.kernelObject, target); entry % kCodeAlignment != 0)
    return fmt::format("its code starts at {:#x}, which is not a multiple of {}", entry, kCodeAlignment);
  const uint64_t preloaded = uint64_t{descriptor.preloaded(target)} * 4;
  if (const uint64_t from = launch.kernarg + uint64_t{descriptor.preloadOffset()} * 4;
      preloaded && !device.memory().mapped(from, preloaded, device.mask()))
    return fmt::format("{} bytes of arguments at {:#x}, which it wants preloaded, are not in memory that the GPU can "
                       "access",
                       preloaded, from);
  if (launch.privateSegmentSize) {
    const uint64_t waves = (items + lanes - 1) / lanes;
    const uint64_t needed = uint64_t(launch.privateSegmentSize) * lanes;
    if (!launch.scratch || launch.scratch->bytesPerWave() < needed || launch.scratch->slots() < waves)
      return fmt::format("{} bytes of scratch per wave for {} waves are more than the queue has", needed, waves);
  }
  return {};
}

/// Why the waves of a dispatch may not run in translated code, null when they may. They may if no observer wants single
/// instructions and MODE needs no per-instruction handling.
const char *whyInterpreted(const Dispatch &dispatch, const WaveStart &start) {
  const uint32_t mode = start.mode();
  constexpr uint32_t kKeepsDenormals = mode::kDenormF32 | mode::kDenormF64; // the optimiser knows no other way (jit.cc)
  if (!Translations::wanted())
    return "translation is off";
  if (dispatch.watched())
    return "statistics, a trace or a check needs single instructions";
  if (dispatch.lanes() != kMaxLanes)
    return "waves of 32 lanes";
  if ((mode & kModal) || mxcsrForF32(mode) != mxcsrForF64(mode) || (mode & kKeepsDenormals) != kKeepsDenormals)
    return "a floating-point mode other than the compilers' default";
  return nullptr;
}

} // namespace

Device::Device(uint32_t index, const DeviceConfig &config, AddressSpace &memory, Scheduler &scheduler, Stats *stats)
    : index_(index), config_(config), memory_(memory), scheduler_(scheduler), stats_(stats),
      code_{std::make_unique<CodeCache>(*this, 32), std::make_unique<CodeCache>(*this, 64)} {}

Device::~Device() = default;

std::shared_ptr<Dispatch> Device::prepare(const Launch &launch, Dispatch::OnDone onDone) {
  auto dispatch = std::make_shared<Dispatch>(*this, launch, std::move(onDone));
  if (std::string problem = problemWith(*this, launch); !problem.empty()) {
    dispatch->abort({Fault::Kind::BadLaunch, launch.kernelObject, false,
                     fmt::format("cannot launch {}: {}", dispatch->kernelName(), problem)});
  } else {
    if (onLaunch)
      onLaunch(launch);
    dispatch->setWaveSize(descriptorAt(launch.kernelObject).waveSize(target()));
    dispatch->entry_ = dispatch->code_->find(entryAt(launch.kernelObject, target()), dispatch->entryChunk_);
    dispatch->start_ = WaveStart(*dispatch);
    dispatch->observation_ = Observation::of(*dispatch);
    if (const Observation *observation = dispatch->observation_.get(); observation && observation->machine)
      dispatch->limitResidency(observation->machine->workgroupsPerUnit(target(), launch));
    dispatch->waves_ = dispatch->groupCount_ * dispatch->start_.fullWaves();
    dispatch->interpreted_ = whyInterpreted(*dispatch, dispatch->start_);
    if (!dispatch->interpreted_)
      dispatch->translation_ = dispatch->findTranslation(dispatch->waves_, false);
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

CodeCache &Device::code(uint32_t lanes) { return *code_[(lanes ? lanes : target().waveSize) == 64]; }

void Device::invalidateCode() {
  for (const auto &code : code_)
    code->invalidate();
}

bool Device::invalidateCode(uint64_t begin, uint64_t size) {
  bool any = false;
  for (const auto &code : code_)
    any |= code->invalidate(begin, size);
  return any;
}

uint64_t Device::clock() {
  timespec now;
  clock_gettime(CLOCK_BOOTTIME, &now);
  return (static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec)) /
         (1'000'000'000 / kClockHz);
}

} // namespace luthier::vgpu
