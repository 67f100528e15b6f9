#include "vgpu/wave/dispatch.h"

#include "vgpu/wave/code_cache.h"
#include "vgpu/wave/device.h"
#include "vgpu/wave/kernel_code.h"
#include "vgpu/wave/observer.h"
#include "vgpu/wave/stats.h"

#include <fmt/format.h>

#include <algorithm>

namespace luthier::vgpu {

void ScratchRing::reset(uint64_t base, uint64_t bytesPerWave, uint32_t slots, std::array<uint32_t, 4> resource) {
  std::lock_guard lock(mutex_);
  base_ = base;
  bytesPerWave_ = bytesPerWave;
  slots_ = slots;
  resource_ = resource;
  free_.resize(slots);
  for (uint32_t n = 0; n < slots; ++n)
    free_[n] = slots - 1 - n;
}

bool ScratchRing::acquire(uint32_t count, std::vector<uint32_t> &slots) {
  std::lock_guard lock(mutex_);
  if (free_.size() < count)
    return false;
  slots.assign(free_.end() - count, free_.end());
  free_.resize(free_.size() - count);
  return true;
}

void ScratchRing::release(const std::vector<uint32_t> &slots) {
  std::lock_guard lock(mutex_);
  free_.insert(free_.end(), slots.begin(), slots.end());
}

Dispatch::Dispatch(Device &device, const Launch &launch, OnDone onDone)
    : device_(device), launch_(launch), onDone_(std::move(onDone)), lanes_(device.target().waveSize) {
  if (device.stats() || launch.count)
    counters_ = std::make_unique<DispatchCounters>();
  groupCount_ = 1;
  for (unsigned d = 0; d < 3; ++d) {
    groups_[d] = launch.workgroup[d]
                     ? static_cast<uint32_t>((uint64_t{launch.grid[d]} + launch.workgroup[d] - 1) / launch.workgroup[d])
                     : 0;
    groupCount_ *= groups_[d];
  }
}

void Dispatch::setWaveSize(uint32_t lanes) {
  lanes_ = lanes;
  code_ = device_.code(lanes).current();
  // As many workgroups as the modelled GPU could hold at once.
  const DeviceConfig &config = device_.config();
  const auto &[x, y, z] = launch_.workgroup;
  const uint32_t waves = std::max(1u, (uint32_t{x} * y * z + lanes - 1) / lanes);
  uint32_t perUnit = std::max(1u, config.simdsPerComputeUnit * config.wavesPerSimd / waves);
  if (launch_.groupSegmentSize)
    perUnit = std::clamp(config.ldsBytesPerComputeUnit / launch_.groupSegmentSize, 1u, perUnit);
  maxResident_ = perUnit * config.computeUnits;
}

Translation *Dispatch::findTranslation(uint64_t waves, bool hot) const {
  return code_->translations().find({.code = code_,
                                     .entry = entry_,
                                     .itemIdRegisters = start_.itemIdRegisters(),
                                     .waves = waves,
                                     .hot = hot,
                                     .kernel = [this] { return kernelName(); },
                                     .collect = [this] { return kernelCode(*this); }});
}

Decoder &Dispatch::decoder() const { return device_.code(lanes_).decoder(); }

Dispatch::~Dispatch() = default;

void Dispatch::limitResidency(uint32_t perUnit) {
  if (perUnit == 0)
    abort({Fault::Kind::BadLaunch, launch_.kernelObject, false,
           fmt::format("cannot launch {}: the registers or the LDS of one workgroup are more than a compute unit has",
                       kernelName())});
  maxResident_ = perUnit * device_.config().computeUnits;
  exactResidency_ = true;
}

void Dispatch::abort(Fault fault) {
  {
    std::lock_guard lock(faultMutex_);
    if (settled_)
      return;
    if (fault_.kind == Fault::Kind::None)
      fault_ = std::move(fault);
  }
  aborted_.store(true, std::memory_order_release);
}

void Dispatch::settle() {
  std::lock_guard lock(faultMutex_);
  settled_ = true;
}

std::string Dispatch::kernelName() const {
  return device_.kernelName ? device_.kernelName(launch_.kernelObject)
                            : fmt::format("kernel@{:#x}", launch_.kernelObject);
}

} // namespace luthier::vgpu
