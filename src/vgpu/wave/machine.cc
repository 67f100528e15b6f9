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

/// A place for the wave: distinct for the waves of one workgroup, spread over all compute units by workgroup.
uint32_t Wave::hardwareId() const {
  const Launch &launch = group->dispatch().launch();
  const auto id = group->id();
  uint64_t number = 0;
  for (unsigned d = 3; d-- > 0;)
    number = number * ((uint64_t(launch.grid[d]) + launch.workgroup[d] - 1) / launch.workgroup[d]) + id[d];
  const auto cu = static_cast<uint32_t>(number % device->config().computeUnits);
  const uint32_t simds = device->config().simdsPerComputeUnit;
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
