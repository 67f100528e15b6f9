// hsaKmt*: memory.
#include "vgpu/thunk/driver.h"

#include "support/log.h"

#include <hsakmt.h>

using luthier::vgpu::Driver;

extern "C" {

// Only Kaveri has apertures of different policy; the original thunk answers the same.
HSAKMT_STATUS hsaKmtSetMemoryPolicy(HSAuint32, HSAuint32, HSAuint32, void *, HSAuint64) {
  return HSAKMT_STATUS_NOT_IMPLEMENTED;
}

HSAKMT_STATUS hsaKmtAllocMemory(HSAuint32 node, HSAuint64 size, HsaMemFlags flags, void **address) {
  return Driver::get().memory.allocate(node, size, flags, address);
}

HSAKMT_STATUS hsaKmtFreeMemory(void *address, HSAuint64) {
  return address ? Driver::get().memory.release(address) : HSAKMT_STATUS_ERROR;
}

HSAKMT_STATUS hsaKmtRegisterMemory(void *address, HSAuint64 size) {
  HsaMemFlags flags{};
  flags.ui32.HostAccess = 1;
  flags.ui32.CoarseGrain = 1;
  return Driver::get().memory.registerUser(address, size, flags, {});
}

HSAKMT_STATUS hsaKmtRegisterMemoryToNodes(void *address, HSAuint64 size, HSAuint64 count, HSAuint32 *nodes) {
  HsaMemFlags flags{};
  flags.ui32.HostAccess = 1;
  flags.ui32.CoarseGrain = 1;
  return Driver::get().memory.registerUser(address, size, flags, {nodes, count});
}

HSAKMT_STATUS hsaKmtRegisterMemoryWithFlags(void *address, HSAuint64 size, HsaMemFlags flags) {
  if (!flags.ui32.HostAccess || flags.ui32.NonPaged)
    return HSAKMT_STATUS_NOT_SUPPORTED;
  return Driver::get().memory.registerUser(address, size, flags, {});
}

HSAKMT_STATUS hsaKmtDeregisterMemory(void *address) { return Driver::get().memory.deregister(address); }

HSAKMT_STATUS hsaKmtMapMemoryToGPU(void *address, HSAuint64 size, HSAuint64 *alternate) {
  return address ? Driver::get().memory.mapToAll(address, size, alternate) : HSAKMT_STATUS_ERROR;
}

HSAKMT_STATUS hsaKmtMapMemoryToGPUNodes(void *address, HSAuint64 size, HSAuint64 *alternate, HsaMemMapFlags flags,
                                        HSAuint64 count, HSAuint32 *nodes) {
  if (!address || !nodes)
    return HSAKMT_STATUS_INVALID_PARAMETER;
  // The others are hints.
  if (flags.ui32.Probe || flags.ui32.Reserved1 || flags.ui32.Reserved) {
    luthier::log::error(
        "vgpu: hsaKmtMapMemoryToGPUNodes: the flags {:#x} have Probe or reserved bits set, which is not "
        "supported",
        flags.Value);
    return HSAKMT_STATUS_NOT_SUPPORTED;
  }
  return Driver::get().memory.mapToNodes(address, size, {nodes, count}, alternate);
}

HSAKMT_STATUS hsaKmtUnmapMemoryToGPU(void *address) {
  return address ? Driver::get().memory.unmap(address) : HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtQueryPointerInfo(const void *address, HsaPointerInfo *info) {
  return Driver::get().memory.query(address, info);
}

HSAKMT_STATUS hsaKmtSetMemoryUserData(const void *address, void *userData) {
  return Driver::get().memory.setUserData(address, userData);
}

// Memory of a virtual GPU lives in one process.
HSAKMT_STATUS hsaKmtShareMemory(void *, HSAuint64, HsaSharedMemoryHandle *) {
  luthier::log::error("vgpu: sharing GPU memory between processes (IPC) is not supported");
  return HSAKMT_STATUS_NOT_SUPPORTED;
}

HSAKMT_STATUS hsaKmtRegisterSharedHandle(const HsaSharedMemoryHandle *, void **, HSAuint64 *) {
  luthier::log::error("vgpu: sharing GPU memory between processes (IPC) is not supported");
  return HSAKMT_STATUS_NOT_SUPPORTED;
}

HSAKMT_STATUS hsaKmtRegisterSharedHandleToNodes(const HsaSharedMemoryHandle *, void **, HSAuint64 *, HSAuint64,
                                                HSAuint32 *) {
  luthier::log::error("vgpu: sharing GPU memory between processes (IPC) is not supported");
  return HSAKMT_STATUS_NOT_SUPPORTED;
}

HSAKMT_STATUS hsaKmtRegisterGraphicsHandleToNodes(HSAuint64, HsaGraphicsResourceInfo *, HSAuint64, HSAuint32 *) {
  luthier::log::error("vgpu: sharing memory with graphics is not supported");
  return HSAKMT_STATUS_NOT_SUPPORTED;
}

} // extern "C"
