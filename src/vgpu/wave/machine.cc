// What handlers ask of the machine around their wave. They know only the wave (vgpu/state/): who runs it is above them.

#include "vgpu/state/global_wave_sync.h"
#include "vgpu/state/wave.h"
#include "vgpu/wave/device.h"
#include "vgpu/wave/kernel_descriptor.h"
#include "vgpu/wave/workgroup.h"

namespace luthier::vgpu {

GlobalWaveSync &Wave::gws() const { return device->gws(); }
uint64_t Wave::clock() { return Device::clock(); }

void Wave::interrupt(uint32_t m0) {
  if (device->onInterrupt)
    device->onInterrupt(m0);
}

void Wave::invalidateCode() { device->invalidateCode(); }
bool Wave::hasCompany() const { return group->waveCount() > 1; }
bool Wave::signalBarrier() { return group->signalBarrier(*this); }
uint32_t Wave::barrierState() const { return group->barrierState(); }
bool Wave::deallocatesVgprs() const { return device->target().deallocatesVgprs; }
isa::HardwareRegister Wave::hardwareRegister(uint32_t number) const {
  return (*device->target().hardwareRegisters)[number];
}
uint32_t Wave::fixedModes() const { return device->target().clampAndIeeeModes ? 0 : mode::kDx10Clamp | mode::kIeee; }
bool Wave::hasFixedFlatScratch() const { return device->target().flatScratch == isa::FlatScratch::Architected; }

namespace {

/// The number of a workgroup in its grid.
uint64_t numberOf(Workgroup &group) {
  const Launch &launch = group.dispatch().launch();
  const auto id = group.id();
  uint64_t number = 0;
  for (unsigned d = 3; d-- > 0;)
    number = number * ((uint64_t(launch.grid[d]) + launch.workgroup[d] - 1) / launch.workgroup[d]) + id[d];
  return number;
}

} // namespace

uint32_t Wave::xccId() const { return static_cast<uint32_t>(numberOf(*group) % device->config().dies); }

/// A place for the wave: distinct for the waves of one workgroup, spread over all compute units by workgroup.
uint32_t Wave::hardwareId() const {
  const auto cu = static_cast<uint32_t>(numberOf(*group) % device->config().computeUnits);
  const uint32_t simds = device->config().simdsPerComputeUnit;
  if (device->target().wave32) // HW_ID1: two compute units are a WGP
    return (index / (2 * simds) & 0x1f) | (index % (2 * simds)) << 8 | (cu / 2 & 0xf) << 10 | (cu >> 5 & 1) << 16 |
           (cu >> 6 & 7) << 18;
  return (index / simds & 0xf) | (index % simds) << 4 | (cu & 0xf) << 8 | (cu >> 4 & 1) << 12 | (cu >> 5 & 3) << 13;
}

/// Sizes as the kernel descriptor has them, all bases 0. The manual still shows the fields of older targets; since
/// gfx90a VGPR_SIZE is at bit 6 and ACCV_OFFSET at bit 12 (the amdgpu driver's context-switch handler).
uint32_t Wave::gprAllocation() const {
  const KernelDescriptor descriptor = descriptorAt(group->dispatch().launch().kernelObject);
  const uint32_t sgprs = object::rsrc1::sgprBlocks.get(descriptor.rsrc1) / 2;
  const uint32_t vgprs = object::rsrc1::vgprBlocks.get(descriptor.rsrc1);
  return device->target().unifiedVgprs
             ? sgprs << 24 | object::rsrc3::accumOffset.get(descriptor.rsrc3) << 12 | vgprs << 6
             : sgprs << 24 | vgprs << 8;
}

} // namespace luthier::vgpu
