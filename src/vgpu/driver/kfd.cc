// One function for each request, in the order of the requests' numbers. Those of memory, queues, events and shared
// virtual memory are a few lines that turn KFD's names of GPUs into indices; what they do is in the classes they call.
//
// What the kernel driver has and this one has not is refused with the kernel's error. It is also logged where a
// program could miss it, and not where ROCr merely asks.
#include "vgpu/driver/kfd.h"

#include "isa/target_id.h"
#include "support/log.h"
#include "vgpu/driver/driver.h"
#include "vgpu/driver/request_table.h"
#include "vgpu/driver/sharing.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <iterator>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

namespace luthier::vgpu {

namespace {

uint64_t nanoseconds(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

int getVersion(Driver &, kfd::Version &version) {
  version = {kfd::kMajorVersion, kfd::kMinorVersion};
  return 0;
}

int createQueue(Driver &driver, kfd::CreateQueue &request) {
  const auto gpu = driver.gpuIndex(request.gpuId);
  return gpu ? driver.queues->create(*gpu, request) : EINVAL;
}

int destroyQueue(Driver &driver, kfd::DestroyQueue &request) { return driver.queues->destroy(request.queueId); }

// Caches are coherent here, whatever the policy.
int setMemoryPolicy(Driver &driver, kfd::SetMemoryPolicy &request) {
  constexpr uint32_t kCoherent = 0, kNonCoherent = 1;
  const auto valid = [](uint32_t policy) { return policy == kCoherent || policy == kNonCoherent; };
  return driver.gpuIndex(request.gpuId) && valid(request.policy) && valid(request.alternatePolicy) ? 0 : EINVAL;
}

// The system clock is CLOCK_BOOTTIME in nanoseconds, as the kernel driver has it; ROCr interpolates between the two.
int getClockCounters(Driver &, kfd::ClockCounters &counters) {
  counters.gpu = Device::clock();
  counters.cpu = nanoseconds(CLOCK_MONOTONIC_RAW);
  counters.system = nanoseconds(CLOCK_BOOTTIME);
  counters.frequency = 1'000'000'000;
  return 0;
}

kfd::Apertures aperturesOf(const Driver &driver, uint32_t gpu) {
  const DeviceConfig &config = driver.topology.gpu(gpu + 1);
  // A limit of 2^47 - 1 makes the thunk use the host's addresses instead of reserving a part of them.
  constexpr uint64_t kApertureMask = 0xffffffff, kLowestAddress = 0x1000000, kHighestAddress = 0x7fffffffffff;
  return {config.sharedApertureBase,
          config.sharedApertureBase | kApertureMask,
          config.privateApertureBase,
          config.privateApertureBase | kApertureMask,
          kLowestAddress,
          kHighestAddress,
          driver.gpuId(gpu),
          0};
}

int getProcessApertures(Driver &driver, kfd::GetApertures &answer) {
  answer.count = std::min(driver.topology.gpus(), kfd::GetApertures::kMostGpus);
  for (uint32_t gpu = 0; gpu < answer.count; ++gpu)
    answer.gpus[gpu] = aperturesOf(driver, gpu);
  return 0;
}

int getProcessAperturesNew(Driver &driver, kfd::GetAperturesNew &request) {
  const uint32_t gpus = driver.topology.gpus();
  auto *array = reinterpret_cast<kfd::Apertures *>(request.array);
  if (request.count != 0 && !array)
    return EFAULT;
  for (uint32_t gpu = 0; gpu < std::min(gpus, request.count); ++gpu)
    array[gpu] = aperturesOf(driver, gpu);
  request.count = request.count == 0 ? gpus : std::min(gpus, request.count);
  return 0;
}

int updateQueue(Driver &driver, kfd::UpdateQueue &request) { return driver.queues->update(request); }

/// The thunk provides the page with the events' mailboxes at the first event; without one, ours may be mapped.
int createEvent(Driver &driver, kfd::CreateEvent &request) {
  if (request.pageOffset != 0) {
    const std::shared_ptr<Buffer> page = driver.memory.buffer(request.pageOffset);
    if (!page || page->size < EventTable::kMailboxBytes || driver.mailboxHandle != 0)
      return EINVAL;
    void *mailboxes = MemoryManager::mapInternally(*page);
    if (!mailboxes)
      return errno;
    madvise(mailboxes, page->size, MADV_DONTFORK);
    driver.mailboxHandle = request.pageOffset;
    driver.events->setMailboxes(static_cast<uint64_t *>(mailboxes), driver.memory.addressOf(request.pageOffset));
  }
  uint32_t id;
  if (int error = driver.events->create(request.type, request.autoReset != 0, id))
    return error;
  request.eventId = id;
  request.triggerData = request.slot = 0;
  request.pageOffset = 0;
  if (EventTable::isSignal(request.type)) {
    request.triggerData = request.slot = id;
    request.pageOffset = driver.mailboxOffset;
  }
  return 0;
}

int destroyEvent(Driver &driver, kfd::EventId &request) { return driver.events->destroy(request.eventId); }

// ROCr calls this for every store to a signal that has an event: packets may be waiting for the value.
int setEvent(Driver &driver, kfd::EventId &request) {
  const int error = driver.events->set(request.eventId);
  driver.activity().notify();
  return error;
}

int resetEvent(Driver &driver, kfd::EventId &request) { return driver.events->reset(request.eventId); }

int waitEvents(Driver &driver, kfd::WaitEvents &request) {
  auto *events = reinterpret_cast<kfd::EventData *>(request.events);
  if (request.count != 0 && !events)
    return EFAULT;
  kfd::WaitResult result = kfd::WaitResult::Failed;
  const int error = driver.events->wait({events, request.count}, request.all != 0, request.milliseconds, result);
  request.result = static_cast<uint32_t>(result);
  return error;
}

// Where flat scratch would begin on GPUs that need to be told; what a queue uses is described in its amd_queue_t.
int setScratchBackingVa(Driver &driver, kfd::SetScratchBackingVa &request) {
  return driver.gpuIndex(request.gpuId) ? 0 : EINVAL;
}

int getTileConfig(Driver &driver, kfd::GetTileConfig &request) {
  if (!driver.gpuIndex(request.gpuId))
    return EINVAL;
  request.tileCount = request.macroTileCount = 0;
  request.addressConfig = request.banks = request.ranks = 0;
  return 0;
}

// ROCr's trap handler is machine code for a privileged mode that does not exist here; traps end in a queue error.
int setTrapHandler(Driver &driver, kfd::SetTrapHandler &request) { return driver.gpuIndex(request.gpuId) ? 0 : EINVAL; }

int acquireVm(Driver &driver, kfd::AcquireVm &request) { return driver.gpuIndex(request.gpuId) ? 0 : EINVAL; }

int allocMemory(Driver &driver, kfd::AllocMemory &request) {
  const auto gpu = driver.gpuIndex(request.gpuId);
  if (!gpu)
    return EINVAL;
  return driver.memory.allocate(*gpu, request.address, request.size, request.flags, request.mmapOffset, request.handle,
                                request.mmapOffset);
}

int freeMemory(Driver &driver, kfd::FreeMemory &request) { return driver.memory.release(request.handle); }

/// Indices of the GPUs that a request names in an array.
int gpusOf(const Driver &driver, const kfd::MapMemory &request, std::vector<uint32_t> &gpus) {
  const auto *ids = reinterpret_cast<const uint32_t *>(request.gpuIds);
  if (request.count == 0 || request.done > request.count)
    return EINVAL;
  if (!ids)
    return EFAULT;
  for (uint32_t n = 0; n < request.count; ++n) {
    const auto gpu = driver.gpuIndex(ids[n]);
    if (!gpu)
      return EINVAL;
    gpus.push_back(*gpu);
  }
  return 0;
}

int mapMemory(Driver &driver, kfd::MapMemory &request) {
  std::vector<uint32_t> gpus;
  const int error = gpusOf(driver, request, gpus);
  return error ? error : driver.memory.map(request.handle, gpus, request.done);
}

int unmapMemory(Driver &driver, kfd::MapMemory &request) {
  std::vector<uint32_t> gpus;
  const int error = gpusOf(driver, request, gpus);
  return error ? error : driver.memory.unmap(request.handle, gpus, request.done);
}

int setCuMask(Driver &driver, kfd::SetCuMask &request) {
  return driver.queues->setCuMask(request.queueId, request.bits, reinterpret_cast<const uint32_t *>(request.mask));
}

int getDmabufInfo(Driver &driver, kfd::GetDmabufInfo &request) {
  const std::optional<SharedBuffer> shared = readDmabuf(static_cast<int>(request.fd));
  if (!shared)
    return errno;
  request.size = shared->size;
  request.gpuId = driver.gpuIndex(shared->gpuId) ? shared->gpuId : driver.gpuId(0);
  request.flags = shared->flags;
  request.metadataSize = 0;
  return 0;
}

/// Gives a buffer of another process, or of another part of this one, an address here.
/// \returns the buffer, or null with errno set.
std::shared_ptr<Buffer> import(Driver &driver, const SharedBuffer &shared, uint32_t gpuId, uint64_t address,
                               uint64_t &handle) {
  const auto gpu = driver.gpuIndex(gpuId);
  if (!gpu) {
    errno = EINVAL;
    return nullptr;
  }
  std::shared_ptr<Buffer> buffer = driver.memory.find(shared, *gpu);
  if (buffer)
    handle = driver.memory.adopt(buffer, address);
  return buffer;
}

int importDmabuf(Driver &driver, kfd::ImportDmabuf &request) {
  const std::optional<SharedBuffer> shared = readDmabuf(static_cast<int>(request.fd));
  return shared && import(driver, *shared, request.gpuId, request.address, request.handle) ? 0 : errno;
}

int exportDmabuf(Driver &driver, kfd::ExportDmabuf &request) {
  const std::shared_ptr<Buffer> buffer = driver.memory.buffer(request.handle);
  if (!buffer || !buffer->file)
    return EINVAL;
  SharedBuffer shared = driver.memory.share(*buffer);
  shared.gpuId = driver.gpuId(buffer->gpu);
  const int fd = makeDmabuf(shared, (request.flags & O_CLOEXEC) != 0);
  if (fd < 0)
    return errno;
  request.fd = static_cast<uint32_t>(fd);
  return 0;
}

int allocQueueGws(Driver &driver, kfd::AllocQueueGws &request) {
  return driver.queues->allocateGws(request.queueId, request.count, request.first);
}

// A descriptor of which nothing is ever to be read: no such event happens.
int smiEvents(Driver &driver, kfd::SmiEvents &request) {
  if (!driver.gpuIndex(request.gpuId))
    return EINVAL;
  const int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (fd < 0)
    return errno;
  request.fd = static_cast<uint32_t>(fd);
  return 0;
}

int svm(Driver &driver, kfd::Svm &request) {
  const std::span attributes(reinterpret_cast<kfd::SvmAttribute *>(&request + 1), request.count);
  switch (static_cast<kfd::SvmOp>(request.op)) {
  case kfd::SvmOp::Set:
    return driver.sharedMemory.set(request.start, request.size, attributes);
  case kfd::SvmOp::Get:
    return driver.sharedMemory.get(request.start, request.size, attributes);
  }
  return EINVAL;
}

int setXnackMode(Driver &driver, kfd::SetXnackMode &request) {
  if (request.enabled >= 0) {
    for (uint32_t gpu = 0; request.enabled && gpu < driver.topology.gpus(); ++gpu)
      if (const auto id = isa::TargetId::parse(driver.topology.gpu(gpu + 1).target->name);
          !id || id->xnack == isa::Feature::Unsupported)
        return EPERM;
    driver.sharedMemory.setXnack(request.enabled != 0);
  }
  request.enabled = driver.sharedMemory.xnack();
  return 0;
}

int availableMemory(Driver &driver, kfd::AvailableMemory &request) {
  const auto gpu = driver.gpuIndex(request.gpuId);
  if (!gpu)
    return EINVAL;
  request.bytes = driver.memory.available(*gpu);
  return 0;
}

// There is no debugger's interface: queue errors then reach ROCr through queue_inactive_signal, whose codes say most.
int runtimeEnable(Driver &driver, kfd::RuntimeEnable &request) {
  driver.code.setList(reinterpret_cast<const r_debug *>(request.mode & 1 ? request.loadedCode : 0));
  request.capabilities = 0;
  return 0;
}

int ipcImport(Driver &driver, kfd::IpcImport &request) {
  SharedBuffer shared = unpackShareHandle(request.shared);
  shared.gpuId = request.gpuId;
  const std::shared_ptr<Buffer> buffer = import(driver, shared, request.gpuId, request.address, request.handle);
  if (!buffer)
    return errno;
  request.mmapOffset = buffer->mmapOffset;
  request.flags = buffer->flags;
  return 0;
}

int ipcExport(Driver &driver, kfd::IpcExport &request) {
  const std::shared_ptr<Buffer> buffer = driver.memory.buffer(request.handle);
  if (!buffer || !buffer->file)
    return EINVAL;
  return packShareHandle(driver.memory.share(*buffer), request.shared) ? 0 : EINVAL;
}

template <auto Run> constexpr RequestRow<Driver> row(kfd::Request number, const char *name) {
  return requestRow<Run>(static_cast<unsigned>(number), name);
}

/// What is known and not there: an interface of debuggers, checkpoints and profilers, for which ROCr does without.
constexpr RequestRow<Driver> absent(kfd::Request number, const char *name) {
  return {static_cast<unsigned>(number), name, 0, 0, 0, nullptr};
}

#define REQUEST(NUMBER, NAME, RUN) row<RUN>(kfd::Request::NUMBER, "AMDKFD_IOC_" NAME)

constexpr RequestRow<Driver> kRequests[] = {
    REQUEST(GetVersion, "GET_VERSION", getVersion),
    requestRow<createQueue>(static_cast<unsigned>(kfd::Request::CreateQueue), "AMDKFD_IOC_CREATE_QUEUE", 88, 128),
    REQUEST(DestroyQueue, "DESTROY_QUEUE", destroyQueue),
    REQUEST(SetMemoryPolicy, "SET_MEMORY_POLICY", setMemoryPolicy),
    REQUEST(GetClockCounters, "GET_CLOCK_COUNTERS", getClockCounters),
    REQUEST(GetProcessApertures, "GET_PROCESS_APERTURES", getProcessApertures),
    REQUEST(UpdateQueue, "UPDATE_QUEUE", updateQueue),
    REQUEST(CreateEvent, "CREATE_EVENT", createEvent),
    REQUEST(DestroyEvent, "DESTROY_EVENT", destroyEvent),
    REQUEST(SetEvent, "SET_EVENT", setEvent),
    REQUEST(ResetEvent, "RESET_EVENT", resetEvent),
    REQUEST(WaitEvents, "WAIT_EVENTS", waitEvents),
    REQUEST(SetScratchBackingVa, "SET_SCRATCH_BACKING_VA", setScratchBackingVa),
    REQUEST(GetTileConfig, "GET_TILE_CONFIG", getTileConfig),
    REQUEST(SetTrapHandler, "SET_TRAP_HANDLER", setTrapHandler),
    REQUEST(GetProcessAperturesNew, "GET_PROCESS_APERTURES_NEW", getProcessAperturesNew),
    REQUEST(AcquireVm, "ACQUIRE_VM", acquireVm),
    REQUEST(AllocMemory, "ALLOC_MEMORY_OF_GPU", allocMemory),
    REQUEST(FreeMemory, "FREE_MEMORY_OF_GPU", freeMemory),
    REQUEST(MapMemory, "MAP_MEMORY_TO_GPU", mapMemory),
    REQUEST(UnmapMemory, "UNMAP_MEMORY_FROM_GPU", unmapMemory),
    REQUEST(SetCuMask, "SET_CU_MASK", setCuMask),
    absent(kfd::Request::GetQueueWaveState, "AMDKFD_IOC_GET_QUEUE_WAVE_STATE"),
    REQUEST(GetDmabufInfo, "GET_DMABUF_INFO", getDmabufInfo),
    REQUEST(ImportDmabuf, "IMPORT_DMABUF", importDmabuf),
    REQUEST(AllocQueueGws, "ALLOC_QUEUE_GWS", allocQueueGws),
    REQUEST(SmiEvents, "SMI_EVENTS", smiEvents),
    REQUEST(Svm, "SVM", svm),
    REQUEST(SetXnackMode, "SET_XNACK_MODE", setXnackMode),
    absent(kfd::Request::CriuOp, "AMDKFD_IOC_CRIU_OP"),
    REQUEST(AvailableMemory, "AVAILABLE_MEMORY", availableMemory),
    REQUEST(ExportDmabuf, "EXPORT_DMABUF", exportDmabuf),
    REQUEST(RuntimeEnable, "RUNTIME_ENABLE", runtimeEnable),
    absent(kfd::Request::DebugTrap, "AMDKFD_IOC_DBG_TRAP"),
    absent(kfd::Request::CreateProcess, "AMDKFD_IOC_CREATE_PROCESS"),
    REQUEST(IpcImport, "IPC_IMPORT_HANDLE", ipcImport),
    REQUEST(IpcExport, "IPC_EXPORT_HANDLE", ipcExport),
    absent(kfd::Request::OldDebugTrap, "AMDKFD_IOC_DBG_TRAP (before 1.13)"),
    absent(kfd::Request::CrossMemoryCopy, "AMDKFD_IOC_CROSS_MEMORY_COPY"),
    absent(kfd::Request::Spm, "AMDKFD_IOC_RLC_SPM"),
    absent(kfd::Request::PcSampling, "AMDKFD_IOC_PC_SAMPLE"),
};

#undef REQUEST

constexpr size_t kMostKnownBytes = std::ranges::max(kRequests, {}, &RequestRow<Driver>::knownBytes).knownBytes;

/// The one request whose structure is followed by a list.
int serveSvm(Driver &driver, uint64_t size, void *argument) {
  auto *request = static_cast<kfd::Svm *>(argument);
  if (!request)
    return EFAULT;
  if (size < sizeof(kfd::Svm) || size != sizeof(kfd::Svm) + request->count * sizeof(kfd::SvmAttribute)) {
    log::error("vgpu: AMDKFD_IOC_SVM with {} bytes, which is not what its number of attributes takes", size);
    return EINVAL;
  }
  return svm(driver, *request);
}

} // namespace

int kfdIoctl(Driver &driver, unsigned number, uint64_t size, void *argument) {
  const auto found = std::ranges::find(kRequests, number, &RequestRow<Driver>::number);
  if (found == std::end(kRequests)) {
    log::error("vgpu: ioctl {:#x} of /dev/kfd, with {} bytes, is not known; it is newer than version {}.{} of the "
               "interface",
               number, size, kfd::kMajorVersion, kfd::kMinorVersion);
    return ENOTTY;
  }
  if (!found->run) {
    log::debug("vgpu: {} is not supported", found->name);
    return ENOTTY;
  }
  const int error = found->number == static_cast<unsigned>(kfd::Request::Svm)
                        ? serveSvm(driver, size, argument)
                        : serveRequest<kMostKnownBytes>(*found, driver, size, argument);
  if (error)
    log::debug("vgpu: {} gives {}", found->name, std::strerror(error));
  return error;
}

} // namespace luthier::vgpu
