// hsaKmt*: opening, versions, topology, clocks.
#include "vgpu/thunk/driver.h"

#include <hsakmt.h>

#include <algorithm>
#include <time.h>

using luthier::vgpu::Device;
using luthier::vgpu::Driver;

namespace {

uint64_t nanoseconds(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

template <typename T> HSAKMT_STATUS copyOut(const std::vector<T> &from, uint32_t count, T *to) {
  if (!to || count > from.size())
    return HSAKMT_STATUS_INVALID_PARAMETER;
  std::copy_n(from.begin(), count, to);
  return HSAKMT_STATUS_SUCCESS;
}

} // namespace

extern "C" {

HSAKMT_STATUS hsaKmtOpenKFD() {
  Driver::get();
  return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtCloseKFD() { return HSAKMT_STATUS_SUCCESS; }

HSAKMT_STATUS hsaKmtGetVersion(HsaVersionInfo *version) {
  if (!version)
    return HSAKMT_STATUS_INVALID_PARAMETER;
  // From 1.4 on ROCr trusts SRAM_EDCSupport.
  version->KernelInterfaceMajorVersion = 1;
  version->KernelInterfaceMinorVersion = 8;
  return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtAcquireSystemProperties(HsaSystemProperties *properties) {
  if (!properties)
    return HSAKMT_STATUS_INVALID_PARAMETER;
  Driver::get().topology.system(*properties);
  return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtReleaseSystemProperties() { return HSAKMT_STATUS_SUCCESS; }

HSAKMT_STATUS hsaKmtGetNodeProperties(HSAuint32 node, HsaNodeProperties *properties) {
  if (!properties)
    return HSAKMT_STATUS_INVALID_PARAMETER;
  if (!Driver::get().validNode(node))
    return HSAKMT_STATUS_INVALID_NODE_UNIT;
  Driver::get().topology.node(node, *properties);
  return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtGetNodeMemoryProperties(HSAuint32 node, HSAuint32 count, HsaMemoryProperties *properties) {
  Driver &driver = Driver::get();
  if (!driver.validNode(node))
    return HSAKMT_STATUS_INVALID_NODE_UNIT;
  return copyOut(driver.topology.memory(node, driver.mmioRemap(node)), count, properties);
}

HSAKMT_STATUS hsaKmtGetNodeCacheProperties(HSAuint32 node, HSAuint32, HSAuint32 count, HsaCacheProperties *properties) {
  Driver &driver = Driver::get();
  if (!driver.validNode(node))
    return HSAKMT_STATUS_INVALID_NODE_UNIT;
  return copyOut(driver.topology.caches(node), count, properties);
}

HSAKMT_STATUS hsaKmtGetNodeIoLinkProperties(HSAuint32 node, HSAuint32 count, HsaIoLinkProperties *properties) {
  Driver &driver = Driver::get();
  if (!driver.validNode(node))
    return HSAKMT_STATUS_INVALID_NODE_UNIT;
  return copyOut(driver.topology.links(node), count, properties);
}

// The system clock is CLOCK_BOOTTIME in nanoseconds, as the kernel driver has it; ROCr interpolates between the two.
HSAKMT_STATUS hsaKmtGetClockCounters(HSAuint32 node, HsaClockCounters *counters) {
  if (!counters)
    return HSAKMT_STATUS_INVALID_PARAMETER;
  if (!Driver::get().validNode(node))
    return HSAKMT_STATUS_INVALID_NODE_UNIT;
  counters->GPUClockCounter = Device::clock();
  counters->SystemClockCounter = nanoseconds(CLOCK_BOOTTIME);
  counters->CPUClockCounter = nanoseconds(CLOCK_MONOTONIC_RAW);
  counters->SystemClockFrequencyHz = 1'000'000'000;
  return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtGetTileConfig(HSAuint32 node, HsaGpuTileConfig *config) {
  if (!config)
    return HSAKMT_STATUS_INVALID_PARAMETER;
  if (!Driver::get().isGpu(node))
    return HSAKMT_STATUS_INVALID_NODE_UNIT;
  config->NumTileConfigs = 0;
  config->NumMacroTileConfigs = 0;
  config->GbAddrConfig = 0;
  config->NumBanks = 0;
  config->NumRanks = 0;
  return HSAKMT_STATUS_SUCCESS;
}

// Page faults are never retried here: "xnack-".
HSAKMT_STATUS hsaKmtGetXNACKMode(HSAint32 *enabled) {
  if (!enabled)
    return HSAKMT_STATUS_INVALID_PARAMETER;
  *enabled = 0;
  return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtSetXNACKMode(HSAint32 enable) {
  if (enable != 0 && enable != 1)
    return HSAKMT_STATUS_INVALID_PARAMETER;
  return enable ? HSAKMT_STATUS_NOT_SUPPORTED : HSAKMT_STATUS_SUCCESS;
}

// The list of loaded code objects is kept for kernel names. NOT_SUPPORTED tells ROCr that there is no debugger
// interface, so that it takes queue errors from queue_inactive_signal, whose codes say most; it goes on normally.
HSAKMT_STATUS hsaKmtRuntimeEnable(void *loadedCode, bool) {
  Driver::get().code.setList(static_cast<const r_debug *>(loadedCode));
  return HSAKMT_STATUS_NOT_SUPPORTED;
}

HSAKMT_STATUS hsaKmtRuntimeDisable() {
  Driver::get().code.setList(nullptr);
  return HSAKMT_STATUS_SUCCESS;
}

// ROCr's trap handler is machine code for a privileged mode that does not exist here; traps end in a queue error.
HSAKMT_STATUS hsaKmtSetTrapHandler(HSAuint32 node, void *, HSAuint64, void *, HSAuint64) {
  return Driver::get().isGpu(node) ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_NODE_UNIT;
}

} // extern "C"
