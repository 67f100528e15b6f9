#include "vgpu/driver/drm.h"

#include "support/log.h"
#include "vgpu/driver/driver.h"
#include "vgpu/driver/request_table.h"
#include "vgpu/driver/sharing.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <iterator>
#include <string_view>
#include <unistd.h>

namespace luthier::vgpu {

namespace {

// Layouts of the requests' structures.

struct Version {
  int32_t major, minor, patch;
  uint64_t nameLength, name, dateLength, date, descriptionLength, description;
};

struct Client {
  int32_t index, authenticated;
  uint64_t pid, uid, magic, count;
};

struct Capability {
  uint64_t number, value;
};

struct GemClose {
  uint32_t handle, pad;
};

struct Prime {
  uint32_t handle, flags;
  int32_t fd;
};

struct GemMmap {
  uint64_t handleOrOffset; ///< in: the handle, in 32 bits; out: the offset
};

struct Info {
  uint64_t answer;
  uint32_t answerBytes, query;
  uint32_t parameters[4];
};

struct GemMetadata {
  uint32_t handle, op;
  uint64_t flags, tiling;
  uint32_t bytes, words[64];
};

struct GemVa {
  uint32_t handle, pad, operation, flags;
  uint64_t address, offset, size;
};

struct GemOp {
  uint32_t handle, op;
  uint64_t value;
};

struct GemCreateInfo {
  uint64_t size, alignment, domains, flags;
};

namespace query {
constexpr uint32_t kAccelWorking = 0x00, kHwIpCount = 0x03, kTimestamp = 0x05, kFwVersion = 0x0e, kVramUsage = 0x10,
                   kGttUsage = 0x11, kVramGtt = 0x14, kReadRegisters = 0x15, kDevInfo = 0x16, kVisibleVramUsage = 0x17,
                   kMemory = 0x19;
} // namespace query

/// AMDGPU_INFO_DEV_INFO, as large as the newest libdrm asks for. What is for drivers of graphics stays 0.
struct DevInfo {
  uint32_t deviceId, chipRevision, externalRevision, pciRevision, family, shaderEngines, arraysPerEngine;
  uint32_t counterKilohertz;
  uint64_t engineKilohertz, memoryKilohertz;
  uint32_t computeUnits, alwaysOnMask, computeUnitBits[4][4];
  uint32_t backends[4];
  uint64_t idsFlags, addressOffset, addressMax;
  uint32_t addressAlignment, fragmentBytes, pageBytes, constantRam, memoryType, memoryBits, graphics[14];
  uint32_t waveSize, vgprs, computeUnitsPerArray, more[21];
  uint64_t highAddressOffset, highAddressMax;
  uint64_t later[12];
};
static_assert(offsetof(DevInfo, computeUnits) == 48 && offsetof(DevInfo, idsFlags) == 136 &&
              offsetof(DevInfo, waveSize) == 240 && offsetof(DevInfo, highAddressOffset) == 336 &&
              sizeof(DevInfo) == 448);

struct Heap {
  uint64_t total, usable, used, largest;
};

/// Copies text to where a caller has room for it, and says how long it is.
void answerText(std::string_view text, uint64_t to, uint64_t &length) {
  if (to)
    std::memcpy(reinterpret_cast<char *>(to), text.data(), std::min<uint64_t>(length, text.size()));
  length = text.size();
}

} // namespace

struct RenderNode::Requests {
  static int version(RenderNode &, Version &answer) {
    answer.major = 3;
    answer.minor = 57;
    answer.patch = 0;
    answerText("amdgpu", answer.name, answer.nameLength);
    answerText("0", answer.date, answer.dateLength);
    answerText("Luthier virtual GPU", answer.description, answer.descriptionLength);
    return 0;
  }

  static int client(RenderNode &, Client &answer) {
    if (answer.index != 0)
      return EINVAL;
    answer.authenticated = 1;
    answer.pid = static_cast<uint64_t>(getpid());
    answer.uid = getuid();
    answer.magic = answer.count = 0;
    return 0;
  }

  static int capability(RenderNode &, Capability &request) {
    constexpr uint64_t kPrime = 0x5, kImportAndExport = 3;
    request.value = request.number == kPrime ? kImportAndExport : 0;
    return 0;
  }

  static int gemClose(RenderNode &node, GemClose &request) {
    std::shared_ptr<Buffer> last;
    std::lock_guard lock(node.mutex_);
    auto found = node.handles_.find(request.handle);
    if (found == node.handles_.end())
      return EINVAL;
    last = std::move(found->second);
    node.handles_.erase(found);
    return 0;
  }

  static int primeHandleToFd(RenderNode &node, Prime &request) {
    const std::shared_ptr<Buffer> buffer = node.find(request.handle);
    if (!buffer)
      return ENOENT;
    SharedBuffer shared = node.driver_.memory.share(*buffer);
    shared.gpuId = node.driver_.gpuId(buffer->gpu);
    request.fd = makeDmabuf(shared, (request.flags & O_CLOEXEC) != 0);
    return request.fd < 0 ? errno : 0;
  }

  static int primeFdToHandle(RenderNode &node, Prime &request) {
    const std::optional<SharedBuffer> shared = readDmabuf(request.fd);
    const std::shared_ptr<Buffer> buffer = shared ? node.driver_.memory.find(*shared, node.gpu_) : nullptr;
    if (!buffer)
      return errno;
    request.handle = node.handleOf(buffer);
    return 0;
  }

  static int gemMmap(RenderNode &node, GemMmap &request) {
    const std::shared_ptr<Buffer> buffer = node.find(static_cast<uint32_t>(request.handleOrOffset));
    if (!buffer)
      return ENOENT;
    request.handleOrOffset = buffer->mmapOffset;
    return 0;
  }

  static int gemMetadata(RenderNode &node, GemMetadata &request) {
    constexpr uint32_t kSet = 1, kGet = 2;
    const std::shared_ptr<Buffer> buffer = node.find(request.handle);
    if (!buffer)
      return ENOENT;
    if (request.op == kSet) {
      if (request.bytes > sizeof(request.words))
        return EINVAL;
      BufferNote note{request.flags, request.tiling, request.bytes, {}};
      std::memcpy(note.words, request.words, request.bytes);
      return buffer->file->writeNote(buffer->fileOffset, note) ? 0 : errno;
    }
    if (request.op != kGet)
      return EINVAL;
    const BufferNote note = buffer->file->readNote(buffer->fileOffset);
    request.flags = note.flags;
    request.tiling = note.tiling;
    request.bytes = note.bytes;
    std::ranges::copy(note.words, request.words);
    return 0;
  }

  static int gemVa(RenderNode &node, GemVa &request) {
    constexpr uint32_t kMap = 1, kUnmap = 2, kClear = 3, kReplace = 4;
    constexpr uint32_t kKnownFlags = 0x1 | 0x2 | 0x4 | 0x8 | 7u << 5 | 1u << 9; // delay, access, memory type, no cache
    if (request.flags & ~kKnownFlags) {
      log::error("vgpu: DRM_AMDGPU_GEM_VA: the flags {:#x} (of {:#x}) are not supported", request.flags & ~kKnownFlags,
                 request.flags);
      return EINVAL;
    }
    MemoryManager &memory = node.driver_.memory;
    if (request.operation == kUnmap || request.operation == kClear)
      return memory.unmapPart(request.address, request.size, node.gpu_);
    const std::shared_ptr<Buffer> buffer = node.find(request.handle);
    if (!buffer)
      return ENOENT;
    if (request.operation == kReplace)
      memory.unmapPart(request.address, request.size, node.gpu_); // there may be nothing to replace
    else if (request.operation != kMap)
      return EINVAL;
    return memory.mapPart(buffer, request.offset, request.address, request.size, node.gpu_);
  }

  static int gemOp(RenderNode &node, GemOp &request) {
    constexpr uint32_t kGetCreateInfo = 0;
    const std::shared_ptr<Buffer> buffer = node.find(request.handle);
    if (!buffer)
      return ENOENT;
    if (request.op != kGetCreateInfo || !request.value)
      return EINVAL;
    constexpr uint64_t kGtt = 2, kVram = 4, kHostAccess = 1;
    *reinterpret_cast<GemCreateInfo *>(request.value) = {
        buffer->size, AddressSpace::kPageSize, buffer->flags & kfd::memory::kVram ? kVram : kGtt, kHostAccess};
    return 0;
  }

  static DevInfo deviceInfo(const RenderNode &node) {
    const Topology &topology = node.driver_.topology;
    const uint32_t at = node.gpu_ + 1;
    const GpuModel &model = topology.model(at);
    const DeviceConfig &config = topology.gpu(at);
    DevInfo info{};
    info.deviceId = model.deviceId;
    info.chipRevision = model.asicRevision;
    info.externalRevision = model.asicRevision;
    info.pciRevision = model.pciRevision;
    info.family = model.drmFamily;
    info.shaderEngines = model.arrays / model.arraysPerEngine;
    info.arraysPerEngine = model.arraysPerEngine;
    info.counterKilohertz = Device::kClockHz / 1000;
    info.engineKilohertz = model.engineMhz * 1000u;
    info.memoryKilohertz = model.memoryMhz * 1000u;
    info.computeUnits = config.computeUnits;
    // libdrm makes its managers of addresses from these.
    info.addressOffset = 0x200000;
    info.addressMax = 1ull << 47;
    info.addressAlignment = info.pageBytes = static_cast<uint32_t>(AddressSpace::kPageSize);
    info.fragmentBytes = 2u << 20;
    info.memoryBits = model.memoryBusBits;
    info.waveSize = config.target->waveSize;
    info.vgprs = 256;
    info.computeUnitsPerArray = model.computeUnitsPerArray;
    info.highAddressOffset = 0xffff800000000000;
    info.highAddressMax = 0xffffffffffe00000;
    return info;
  }

  static int info(RenderNode &node, Info &request) {
    MemoryManager &memory = node.driver_.memory;
    const Topology &topology = node.driver_.topology;
    const uint64_t vram = topology.gpu(node.gpu_ + 1).localMemoryBytes, gtt = topology.host().memoryBytes;
    const uint64_t used = vram - memory.available(node.gpu_);
    const auto answer = [&](const auto &value) {
      if (!request.answer)
        return EFAULT;
      std::memcpy(reinterpret_cast<void *>(request.answer), &value,
                  std::min<size_t>(request.answerBytes, sizeof(value)));
      return 0;
    };
    switch (request.query) {
    case query::kAccelWorking:
      return answer(uint32_t{1});
    case query::kHwIpCount: // no rings of the kernel's: nothing can be submitted to them
      return answer(uint32_t{0});
    case query::kTimestamp:
      return answer(Device::clock());
    case query::kFwVersion: {
      const GpuModel &model = topology.model(node.gpu_ + 1);
      return answer(std::array<uint32_t, 2>{model.firmware, 0});
    }
    case query::kVramUsage:
    case query::kVisibleVramUsage:
      return answer(used);
    case query::kGttUsage:
      return answer(uint64_t{0});
    case query::kVramGtt:
      return answer(std::array<uint64_t, 3>{vram, vram, gtt});
    case query::kReadRegisters: // those that say how images are tiled
      if (!request.answer)
        return EFAULT;
      std::memset(reinterpret_cast<void *>(request.answer), 0, request.answerBytes);
      return 0;
    case query::kDevInfo:
      return answer(deviceInfo(node));
    case query::kMemory:
      return answer(std::array<Heap, 3>{Heap{vram, vram, used, vram}, {vram, vram, used, vram}, {gtt, gtt, 0, gtt}});
    default:
      log::error("vgpu: DRM_AMDGPU_INFO: query {:#x} is not supported", request.query);
      return EINVAL;
    }
  }

  /// Structures of DRM's requests may have any size; the kernel takes what both sides have.
  template <auto Run> static constexpr RequestRow<RenderNode> row(unsigned number, const char *name) {
    return requestRow<Run>(number, name, 0, ~0ull);
  }

  static const RequestRow<RenderNode> kRows[];
  static constexpr size_t kMostBytes = sizeof(GemMetadata);
};

const RequestRow<RenderNode> RenderNode::Requests::kRows[] = {
    row<version>(0x00, "DRM_IOCTL_VERSION"),
    row<client>(0x05, "DRM_IOCTL_GET_CLIENT"),
    row<gemClose>(0x09, "DRM_IOCTL_GEM_CLOSE"),
    row<capability>(0x0c, "DRM_IOCTL_GET_CAP"),
    row<primeHandleToFd>(0x2d, "DRM_IOCTL_PRIME_HANDLE_TO_FD"),
    row<primeFdToHandle>(0x2e, "DRM_IOCTL_PRIME_FD_TO_HANDLE"),
    row<gemMmap>(0x41, "DRM_IOCTL_AMDGPU_GEM_MMAP"),
    row<info>(0x45, "DRM_IOCTL_AMDGPU_INFO"),
    row<gemMetadata>(0x46, "DRM_IOCTL_AMDGPU_GEM_METADATA"),
    row<gemVa>(0x48, "DRM_IOCTL_AMDGPU_GEM_VA"),
    row<gemOp>(0x50, "DRM_IOCTL_AMDGPU_GEM_OP"),
};

std::shared_ptr<Buffer> RenderNode::find(uint32_t handle) {
  std::lock_guard lock(mutex_);
  auto found = handles_.find(handle);
  return found == handles_.end() ? nullptr : found->second;
}

/// One buffer has one handle.
uint32_t RenderNode::handleOf(const std::shared_ptr<Buffer> &buffer) {
  std::lock_guard lock(mutex_);
  for (const auto &[handle, known] : handles_)
    if (known == buffer)
      return handle;
  handles_.emplace(nextHandle_, buffer);
  return nextHandle_++;
}

int RenderNode::ioctl(unsigned number, uint64_t size, void *argument) {
  const auto found = std::ranges::find(Requests::kRows, number, &RequestRow<RenderNode>::number);
  if (found == std::end(Requests::kRows)) {
    log::error("vgpu: ioctl {:#x} of a render node, with {} bytes, is not supported", number, size);
    return EINVAL;
  }
  const int error = serveRequest<Requests::kMostBytes>(*found, *this, size, argument);
  if (error)
    log::debug("vgpu: {} gives {}", found->name, std::strerror(error));
  return error;
}

} // namespace luthier::vgpu
