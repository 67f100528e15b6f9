// The interface of /dev/kfd: numbers and layouts of its ioctls, as every release of the kernel driver from 1.8 on has
// them.
//
// Declared here rather than taken from <linux/kfd_ioctl.h>: the driver must understand all thunks from ROCm 5.2 to 7.2
// whatever headers it was built with. Structures only ever grow at their end, so a request is told by its number, and
// its size says which version the caller has.
#pragma once

#include <cstdint>

namespace luthier::vgpu::kfd {

/// What GET_VERSION answers: SDMA queues by engine and VMM through the render node are there, what came later is not.
inline constexpr uint32_t kMajorVersion = 1, kMinorVersion = 17;

enum class Request : uint8_t {
  GetVersion = 0x01,
  CreateQueue = 0x02,
  DestroyQueue = 0x03,
  SetMemoryPolicy = 0x04,
  GetClockCounters = 0x05,
  GetProcessApertures = 0x06,
  UpdateQueue = 0x07,
  CreateEvent = 0x08,
  DestroyEvent = 0x09,
  SetEvent = 0x0a,
  ResetEvent = 0x0b,
  WaitEvents = 0x0c,
  SetScratchBackingVa = 0x11,
  GetTileConfig = 0x12,
  SetTrapHandler = 0x13,
  GetProcessAperturesNew = 0x14,
  AcquireVm = 0x15,
  AllocMemory = 0x16,
  FreeMemory = 0x17,
  MapMemory = 0x18,
  UnmapMemory = 0x19,
  SetCuMask = 0x1a,
  GetQueueWaveState = 0x1b,
  GetDmabufInfo = 0x1c,
  ImportDmabuf = 0x1d,
  AllocQueueGws = 0x1e,
  SmiEvents = 0x1f,
  Svm = 0x20,
  SetXnackMode = 0x21,
  CriuOp = 0x22,
  AvailableMemory = 0x23,
  ExportDmabuf = 0x24,
  RuntimeEnable = 0x25,
  DebugTrap = 0x26,
  CreateProcess = 0x27,
  // Not in the mainline kernel.
  IpcImport = 0x80,
  IpcExport = 0x81,
  OldDebugTrap = 0x82,
  CrossMemoryCopy = 0x83,
  Spm = 0x84,
  PcSampling = 0x85,
};

/// What mmap on /dev/kfd takes for pages that are not buffers. Thunks of ROCm 5 rely on the low 32 bits being 0.
enum class MmapType : uint64_t { MmioRemap = 0, Events = 2, Doorbell = 3 };
constexpr uint64_t mmapOffset(MmapType type, uint32_t gpuId) {
  return static_cast<uint64_t>(type) << 62 | uint64_t{gpuId} << 46;
}

struct Version {
  uint32_t major, minor;
};

enum class QueueType : uint32_t { Compute = 0, Sdma = 1, ComputeAql = 2, SdmaXgmi = 3, SdmaByEngine = 4 };

struct CreateQueue {
  uint64_t ring, writePointer, readPointer;
  uint64_t doorbellOffset; ///< out
  uint32_t ringBytes, gpuId, type, percentage, priority;
  uint32_t queueId; ///< out
  uint64_t eopBuffer, eopBytes, contextSave;
  uint32_t contextSaveBytes, controlStackBytes;
  uint32_t sdmaEngine, pad; ///< from 1.17 on
};

struct DestroyQueue {
  uint32_t queueId, pad;
};

struct UpdateQueue {
  uint64_t ring;
  uint32_t queueId, ringBytes, percentage, priority;
};

struct SetCuMask {
  uint32_t queueId, bits;
  uint64_t mask;
};

struct AllocQueueGws {
  uint32_t queueId, count;
  uint32_t first; ///< out
  uint32_t pad;
};

struct SetMemoryPolicy {
  uint64_t alternateBase, alternateSize;
  uint32_t gpuId, policy, alternatePolicy, flags;
};

struct ClockCounters {
  uint64_t gpu, cpu, system, frequency; ///< out
  uint32_t gpuId, pad;
};

struct Apertures {
  uint64_t ldsBase, ldsLimit, scratchBase, scratchLimit, gpuvmBase, gpuvmLimit;
  uint32_t gpuId, pad;
};

struct GetApertures {
  static constexpr uint32_t kMostGpus = 7;
  Apertures gpus[kMostGpus]; ///< out
  uint32_t count, pad;       ///< out
};

struct GetAperturesNew {
  uint64_t array;
  uint32_t count, pad; ///< in: room; out: what there is
};

enum class EventType : uint32_t { Signal = 0, HwException = 3, Debug = 5, Memory = 8, Count };

struct CreateEvent {
  uint64_t pageOffset;  ///< in: handle of the page with the events' slots, or 0; out: where to map it
  uint32_t triggerData; ///< out
  uint32_t type, autoReset, node;
  uint32_t eventId, slot; ///< out
};

struct EventId {
  uint32_t eventId, pad;
};

struct EventData {
  union {
    struct {
      uint32_t notPresent, readOnly, noExecute, imprecise;
      uint64_t address;
      uint32_t gpuId, errorType;
    } memory;
    struct {
      uint32_t resetType, resetCause, memoryLost, gpuId;
    } hardware;
    struct {
      uint64_t lastAge; ///< in and out
    } signal;
  };
  uint64_t extension;
  uint32_t eventId, pad;
};

enum class WaitResult : uint32_t { Complete = 0, Timeout = 1, Failed = 2 };
inline constexpr uint32_t kWaitForever = 0xffffffff;

struct WaitEvents {
  uint64_t events;
  uint32_t count, all, milliseconds;
  uint32_t result; ///< out
};

struct SetScratchBackingVa {
  uint64_t address;
  uint32_t gpuId, pad;
};

struct GetTileConfig {
  uint64_t tiles, macroTiles;
  uint32_t tileCount, macroTileCount; ///< in: room; out: what there is
  uint32_t gpuId;
  uint32_t addressConfig, banks, ranks; ///< out
};

struct SetTrapHandler {
  uint64_t code, data;
  uint32_t gpuId, pad;
};

struct AcquireVm {
  uint32_t drmFd, gpuId;
};

/// Flags of AllocMemory.
namespace memory {
inline constexpr uint32_t kVram = 1u << 0, kGtt = 1u << 1, kUserPointer = 1u << 2, kDoorbell = 1u << 3,
                          kMmioRemap = 1u << 4;
inline constexpr uint32_t kContiguous = 1u << 23, kExtCoherent = 1u << 24, kUncached = 1u << 25, kCoherent = 1u << 26,
                          kAqlQueue = 1u << 27, kNoSubstitute = 1u << 28, kPublic = 1u << 29, kExecutable = 1u << 30,
                          kWritable = 1u << 31;
inline constexpr uint32_t kKinds = kVram | kGtt | kUserPointer | kDoorbell | kMmioRemap;
inline constexpr uint32_t kKnown =
    kKinds | kContiguous | kExtCoherent | kUncached | kCoherent | kNoSubstitute | kPublic | kExecutable | kWritable;
} // namespace memory

struct AllocMemory {
  uint64_t address, size;
  uint64_t handle;     ///< out
  uint64_t mmapOffset; ///< in: the host's address of a user pointer; out: where to map the rest
  uint32_t gpuId, flags;
};

struct FreeMemory {
  uint64_t handle;
};

/// Also UnmapMemory.
struct MapMemory {
  uint64_t handle, gpuIds;
  uint32_t count;
  uint32_t done; ///< in and out
};

struct AvailableMemory {
  uint64_t bytes; ///< out
  uint32_t gpuId, pad;
};

struct ExportDmabuf {
  uint64_t handle;
  uint32_t flags;
  uint32_t fd; ///< out
};

struct GetDmabufInfo {
  uint64_t size; ///< out
  uint64_t metadata;
  uint32_t metadataSize; ///< in: room; out: what there is
  uint32_t gpuId, flags; ///< out
  uint32_t fd;
};

struct ImportDmabuf {
  uint64_t address;
  uint64_t handle; ///< out
  uint32_t gpuId, fd;
};

struct IpcExport {
  uint64_t handle;
  uint32_t shared[4]; ///< out
  uint32_t gpuId, flags;
};

struct IpcImport {
  uint64_t handle; ///< out
  uint64_t address;
  uint64_t mmapOffset; ///< out
  uint32_t shared[4];
  uint32_t gpuId;
  uint32_t flags; ///< out
};

struct SmiEvents {
  uint32_t gpuId;
  uint32_t fd; ///< out
};

enum class SvmOp : uint32_t { Set = 0, Get = 1 };
enum class SvmType : uint32_t {
  PreferredLocation = 0,
  PrefetchLocation = 1,
  Access = 2,
  AccessInPlace = 3,
  NoAccess = 4,
  SetFlags = 5,
  ClearFlags = 6,
  Granularity = 7,
};
inline constexpr uint32_t kSvmSystemMemory = 0, kSvmUndefined = 0xffffffff;
/// HOST_ACCESS COHERENT HIVE_LOCAL GPU_RO GPU_EXEC GPU_READ_MOSTLY GPU_ALWAYS_MAPPED EXT_COHERENT
inline constexpr uint32_t kSvmKnownFlags = 0xff;

struct SvmAttribute {
  uint32_t type, value;
};

struct Svm {
  uint64_t start, size;
  uint32_t op, count;
  // SvmAttribute attributes[count] follow.
};

struct SetXnackMode {
  int32_t enabled; ///< in: 0, 1, or less to ask; out: what it is
};

struct RuntimeEnable {
  uint64_t loadedCode;
  uint32_t mode, capabilities;
};

} // namespace luthier::vgpu::kfd
