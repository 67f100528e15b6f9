#include "vgpu/driver/memory.h"

#include "support/log.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

namespace luthier::vgpu {

namespace {

constexpr uint64_t kPage = AddressSpace::kPageSize;
constexpr const char *kFileName = "luthier-vgpu-memory";
constexpr uint64_t kFileBytes = 1ull << 45;
/// Behind the memory, a place for each page in which a buffer's note may be.
constexpr uint64_t kNoteBytes = 512, kNotesBytes = kFileBytes / AddressSpace::kPageSize * kNoteBytes;
static_assert(sizeof(BufferNote) <= kNoteBytes);
/// By which other processes' buffers are mapped: between our own file's offsets and those of kfd::mmapOffset.
constexpr uint64_t kForeignOffsets = kFileBytes;
constexpr int kFirstDescriptor = 200; ///< out of the way of programs that expect small ones

uint64_t alignUp(uint64_t value, uint64_t alignment) { return (value + alignment - 1) / alignment * alignment; }

/// A lock that belongs to the open file rather than to the process, and that vanishes with it.
bool rangeLock(int fd, int command, short type, uint64_t offset, uint64_t size, struct flock &lock) {
  lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(offset);
  lock.l_len = static_cast<off_t>(size);
  return fcntl(fd, command, &lock) == 0;
}

off_t noteOf(uint64_t offset) { return static_cast<off_t>(kFileBytes + offset / kPage * kNoteBytes); }

/// Freed buffers that are remembered for messages.
constexpr size_t kMostFreed = 1024;

Allocation asAllocation(uint64_t address, const Buffer &buffer) {
  Allocation allocation;
  allocation.begin = address;
  allocation.size = buffer.size;
  allocation.kind = buffer.flags & kfd::memory::kVram          ? Allocation::Kind::Device
                    : buffer.flags & kfd::memory::kUserPointer ? Allocation::Kind::Registered
                                                               : Allocation::Kind::Host;
  return allocation;
}

/// Whether the host has something at all of these pages.
bool hostHas(uint64_t begin, uint64_t size) {
  constexpr uint64_t kAtOnce = 4096;
  unsigned char resident[kAtOnce];
  for (uint64_t at = begin; at < begin + size; at += kAtOnce * kPage)
    if (mincore(reinterpret_cast<void *>(at), std::min(begin + size - at, kAtOnce * kPage), resident) != 0)
      return false;
  return true;
}

} // namespace

std::shared_ptr<BackingFile> BackingFile::create() {
  const int fd = memfd_create(kFileName, MFD_CLOEXEC);
  if (fd < 0)
    return nullptr;
  const int high = fcntl(fd, F_DUPFD_CLOEXEC, kFirstDescriptor);
  if (high >= 0)
    close(fd);
  const int used = high >= 0 ? high : fd;
  if (ftruncate(used, static_cast<off_t>(kFileBytes + kNotesBytes)) != 0) {
    close(used);
    return nullptr;
  }
  return std::shared_ptr<BackingFile>(new BackingFile(used));
}

std::shared_ptr<BackingFile> BackingFile::of(uint32_t pid, int fd) {
  const std::string path = fmt::format("/proc/{}/fd/{}", pid, fd);
  char target[64] = {};
  if (readlink(path.c_str(), target, sizeof(target) - 1) < 0)
    return nullptr;
  if (std::string_view(target).substr(0, 7) != "/memfd:" || !std::string_view(target + 7).starts_with(kFileName)) {
    errno = EINVAL;
    return nullptr;
  }
  const int opened = open(path.c_str(), O_RDWR | O_CLOEXEC);
  return opened < 0 ? nullptr : std::shared_ptr<BackingFile>(new BackingFile(opened));
}

BackingFile::~BackingFile() { close(fd_); }

std::optional<uint64_t> BackingFile::reserve(uint64_t size, uint64_t alignment) {
  size = alignUp(size, kPage);
  const auto takeFrom = [&](std::multimap<uint64_t, uint64_t> &ranges) -> std::optional<uint64_t> {
    auto [first, last] = ranges.equal_range(size);
    for (; first != last; ++first)
      if (const uint64_t offset = first->second; offset % alignment == 0) {
        ranges.erase(first);
        return offset;
      }
    return std::nullopt;
  };
  if (const auto offset = takeFrom(free_))
    return offset;
  const uint64_t begin = alignUp(end_, alignment);
  if (begin >= kFileBytes || size > kFileBytes - begin)
    return takeFrom(retired_);
  end_ = begin + size;
  return begin;
}

bool BackingFile::hold(uint64_t offset, uint64_t size) const {
  struct flock lock;
  return rangeLock(fd_, F_OFD_SETLK, F_RDLCK, offset, size, lock);
}

void BackingFile::letGo(uint64_t offset, uint64_t size) const {
  struct flock lock;
  rangeLock(fd_, F_OFD_SETLK, F_UNLCK, offset, size, lock);
}

// By locks on bytes that are not memory.
void BackingFile::announce(uint64_t offset, uint64_t size, bool there) const {
  struct flock lock;
  rangeLock(fd_, F_OFD_SETLK, there ? F_RDLCK : F_UNLCK, kFileBytes + offset, size, lock);
}

bool BackingFile::announced(uint64_t offset, uint64_t size) const {
  struct flock lock;
  if (!rangeLock(fd_, F_OFD_GETLK, F_WRLCK, kFileBytes + offset, size, lock) || lock.l_type == F_UNLCK)
    return false;
  const auto first = static_cast<uint64_t>(lock.l_start), length = static_cast<uint64_t>(lock.l_len);
  return first <= kFileBytes + offset && kFileBytes + offset + size <= first + length;
}

bool BackingFile::writeNote(uint64_t offset, const BufferNote &note) const {
  return pwrite(fd_, &note, sizeof(note), noteOf(offset)) == ssize_t{sizeof(note)};
}

BufferNote BackingFile::readNote(uint64_t offset) const {
  BufferNote note;
  return pread(fd_, &note, sizeof(note), noteOf(offset)) == ssize_t{sizeof(note)} ? note : BufferNote{};
}

bool BackingFile::discard(uint64_t offset, uint64_t size, bool again) {
  struct flock lock;
  if (!rangeLock(fd_, F_OFD_GETLK, F_WRLCK, offset, size, lock) || lock.l_type != F_UNLCK)
    return false;
  constexpr int kDrop = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  if (fallocate(fd_, kDrop, static_cast<off_t>(offset), static_cast<off_t>(size)) != 0 ||
      fallocate(fd_, kDrop, noteOf(offset), kNoteBytes) != 0)
    return false;
  (again ? free_ : retired_).emplace(alignUp(size, kPage), offset);
  return true;
}

MemoryManager::MemoryManager(AddressSpace &space, uint64_t hostBytes, std::vector<uint64_t> gpuBytes)
    : space_(space), hostBytes_(hostBytes), gpuBytes_(std::move(gpuBytes)), file_(BackingFile::create()),
      used_(gpuBytes_.size() + 1), nextForeignOffset_(kForeignOffsets) {
  if (!file_)
    log::error("vgpu: no file in memory for the GPUs' memory: {}", std::strerror(errno));
}

MemoryManager::~MemoryManager() {
  // Buffers go while there is still something to take them back.
  auto objects = std::move(objects_);
  auto parts = std::move(parts_);
  auto provided = std::move(provided_);
}

uint64_t &MemoryManager::usedBy(const Buffer &buffer) {
  return used_[buffer.flags & kfd::memory::kVram ? buffer.gpu : gpuBytes_.size()];
}

std::shared_ptr<Buffer> MemoryManager::newBuffer() {
  return {new Buffer{}, [this](Buffer *gone) {
            destroy(*gone);
            delete gone;
          }};
}

/// Called with the lock held. Null, and errno, when there is no room.
std::shared_ptr<Buffer> MemoryManager::makeBuffer(uint32_t gpu, uint64_t size, uint32_t flags) {
  if (!file_) {
    errno = ENOMEM;
    return nullptr;
  }
  std::shared_ptr<Buffer> buffer = newBuffer();
  buffer->gpu = gpu;
  buffer->flags = flags;
  uint64_t &used = usedBy(*buffer);
  const uint64_t limit = flags & kfd::memory::kVram ? gpuBytes_[gpu] : hostBytes_;
  if (size > limit || used > limit - size) {
    errno = ENOMEM; // the buffer has no size yet, so nothing is given back
    return nullptr;
  }
  // Large buffers start where the host could use large pages.
  constexpr uint64_t kLargePage = 2ull << 20;
  const std::optional<uint64_t> offset = file_->reserve(size, size >= kLargePage ? kLargePage : kPage);
  if (!offset) {
    errno = ENOMEM;
    return nullptr;
  }
  buffer->size = size;
  used += size;
  buffer->file = file_;
  buffer->fileOffset = *offset;
  buffer->mmapOffset = buffer->fileOffset;
  byOffset_[buffer->mmapOffset] = buffer;
  return buffer;
}

/// Called without the lock: with the last reference.
void MemoryManager::destroy(const Buffer &buffer) {
  if (buffer.size == 0 || !buffer.file)
    return;
  std::lock_guard lock(mutex_);
  byOffset_.erase(buffer.mmapOffset);
  if (buffer.foreign) {
    buffer.file->letGo(buffer.fileOffset, buffer.size);
    return;
  }
  usedBy(buffer) -= buffer.size;
  // Handles of what was shared may outlive it, and must not find something else.
  if (buffer.shared)
    buffer.file->announce(buffer.fileOffset, buffer.size, false);
  if (!buffer.file->discard(buffer.fileOffset, buffer.size, !buffer.shared) && !buffer.shared)
    log::error("vgpu: {} bytes of freed memory were not given back: {}", buffer.size, std::strerror(errno));
}

int MemoryManager::allocate(uint32_t gpu, uint64_t address, uint64_t size, uint32_t flags, uint64_t hostAddress,
                            uint64_t &handle, uint64_t &mmapOffset) {
  using namespace kfd::memory;
  if (const uint32_t unknown = flags & ~kKnown) {
    log::error("vgpu: AMDKFD_IOC_ALLOC_MEMORY_OF_GPU: the flags {:#x} (of {:#x}) are not supported", unknown, flags);
    return EINVAL;
  }
  const uint32_t kind = flags & kKinds;
  if (std::popcount(kind) != 1 || size == 0 || size % kPage != 0 || address % kPage != 0)
    return EINVAL;
  if (address >= AddressSpace::kEnd || size > AddressSpace::kEnd - address)
    return EINVAL;
  Object object;
  object.address = address;
  std::lock_guard lock(mutex_);
  if (kind == kUserPointer) {
    if (hostAddress == 0 || hostAddress % kPage != 0 || hostAddress >= AddressSpace::kEnd ||
        size > AddressSpace::kEnd - hostAddress)
      return EINVAL;
    if (!hostHas(hostAddress, size))
      return EFAULT;
    object.hostAddress = hostAddress;
    object.buffer = std::make_shared<Buffer>();
    object.buffer->gpu = gpu;
    object.buffer->flags = flags;
    object.buffer->size = size;
  } else if (kind == kDoorbell || kind == kMmioRemap) {
    const auto found = provided_.find({gpu, kind});
    if (found == provided_.end() || size != found->second->size)
      return EINVAL;
    object.buffer = found->second;
  } else {
    object.buffer = makeBuffer(gpu, size, flags);
    if (!object.buffer)
      return errno;
  }
  handle = uint64_t{gpu + 1} << 32 | nextHandle_++;
  mmapOffset = object.buffer->mmapOffset;
  byAddress_.emplace(address, handle);
  objects_.emplace(handle, std::move(object));
  return 0;
}

uint64_t MemoryManager::adopt(std::shared_ptr<Buffer> buffer, uint64_t address) {
  std::lock_guard lock(mutex_);
  const uint64_t handle = uint64_t{buffer->gpu + 1} << 32 | nextHandle_++;
  Object object;
  object.address = address;
  object.buffer = std::move(buffer);
  byAddress_.emplace(address, handle);
  objects_.emplace(handle, std::move(object));
  return handle;
}

int MemoryManager::release(uint64_t handle) {
  std::shared_ptr<Buffer> last; // let go without the lock
  {
    std::lock_guard lock(mutex_);
    auto found = objects_.find(handle);
    if (found == objects_.end())
      return EINVAL;
    if (found->second.mapped)
      return EBUSY;
    if (found->second.address) {
      freed_.push_front(asAllocation(found->second.address, *found->second.buffer));
      freed_.resize(std::min(freed_.size(), kMostFreed));
    }
    last = std::move(found->second.buffer);
    auto [first, end] = byAddress_.equal_range(found->second.address);
    byAddress_.erase(std::find_if(first, end, [&](const auto &entry) { return entry.second == handle; }));
    objects_.erase(found);
  }
  if (onFree)
    onFree(handle);
  return 0;
}

std::optional<Allocations::Neighbour> MemoryManager::nearest(uint64_t address) {
  using Where = Allocations::Neighbour::Where;
  std::lock_guard lock(mutex_);
  std::optional<Allocations::Neighbour> best;
  const auto consider = [&](const Allocation &allocation, bool freed) {
    Allocations::Neighbour here{allocation, freed, Where::Inside, 0};
    if (address < allocation.begin) {
      here.where = Where::Before;
      here.distance = allocation.begin - address;
    } else if (address >= allocation.end()) {
      here.where = Where::Behind;
      here.distance = address - allocation.end();
    }
    // Of two as near as each other, the live one, or the one that was freed last.
    if (!best || here.distance < best->distance)
      best = here;
  };
  const auto considerLive = [&](uint64_t handle) {
    const Object &object = objects_.at(handle);
    consider(asAllocation(object.address, *object.buffer), false);
  };
  auto after = byAddress_.upper_bound(address);
  if (after != byAddress_.end())
    considerLive(after->second);
  if (after != byAddress_.begin() && std::prev(after)->first != 0)
    considerLive(std::prev(after)->second);
  for (const Allocation &allocation : freed_)
    consider(allocation, true);
  if (best && best->where == Where::Inside)
    best->distance = address - best->allocation.begin;
  return best;
}

std::shared_ptr<Buffer> MemoryManager::buffer(uint64_t handle) {
  std::lock_guard lock(mutex_);
  auto found = objects_.find(handle);
  return found == objects_.end() ? nullptr : found->second.buffer;
}

uint64_t MemoryManager::addressOf(uint64_t handle) {
  std::lock_guard lock(mutex_);
  auto found = objects_.find(handle);
  return found == objects_.end() ? 0 : found->second.address;
}

int MemoryManager::findObject(uint64_t handle, std::span<const uint32_t> gpus, Object *&object) {
  if (std::ranges::any_of(gpus, [&](uint32_t gpu) { return gpu >= gpuBytes_.size(); }))
    return EINVAL;
  auto found = objects_.find(handle);
  if (found == objects_.end())
    return EINVAL;
  object = &found->second;
  return object->address ? 0 : EINVAL;
}

int MemoryManager::map(uint64_t handle, std::span<const uint32_t> gpus, uint32_t &done) {
  std::lock_guard lock(mutex_);
  Object *object;
  if (int error = findObject(handle, gpus, object))
    return error;
  // The thunk leaves memory that the host need not see without a mapping, or with one that nobody may use.
  if (!object->isUser() && !object->visible) {
    const Buffer &buffer = *object->buffer;
    void *at = ::mmap(reinterpret_cast<void *>(object->address), buffer.size, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_FIXED, buffer.file->fd(), static_cast<off_t>(buffer.fileOffset));
    if (at == MAP_FAILED)
      return errno;
    madvise(at, buffer.size, MADV_DONTFORK);
    object->visible = true;
  }
  for (; done < gpus.size(); ++done)
    give(*object, bit(gpus[done]));
  return 0;
}

int MemoryManager::unmap(uint64_t handle, std::span<const uint32_t> gpus, uint32_t &done) {
  uint64_t begin = 0, size = 0;
  {
    std::lock_guard lock(mutex_);
    Object *object;
    if (int error = findObject(handle, gpus, object))
      return error;
    for (; done < gpus.size(); ++done)
      take(*object, bit(gpus[done]));
    begin = object->address;
    size = object->buffer->size;
  }
  if (onGone)
    onGone(begin, size);
  return 0;
}

void MemoryManager::enter(uint64_t begin, uint64_t size, DeviceMask devices) {
  if (onGiven)
    onGiven(begin, size);
  space_.map(begin, size, devices);
}

void MemoryManager::give(Object &object, DeviceMask devices) {
  object.mapped |= devices;
  const uint64_t size = object.buffer->size;
  if (!object.isUser()) {
    enter(object.address, size, devices);
    return;
  }
  enter(object.hostAddress, size, devices);
  if (object.address != object.hostAddress)
    space_.mapAlias(object.address, size, object.hostAddress, devices);
}

void MemoryManager::take(Object &object, DeviceMask devices) {
  devices &= object.mapped;
  object.mapped &= static_cast<DeviceMask>(~devices);
  if (!object.isUser()) {
    space_.unmap(object.address, object.buffer->size, devices);
    return;
  }
  if (object.address != object.hostAddress)
    space_.unmapAlias(object.address, devices);
  takeUserPages(object, devices);
}

// A page may belong to several buffers, the application's and ours; it goes with the last of them.
void MemoryManager::takeUserPages(const Object &object, DeviceMask devices) {
  const uint64_t begin = object.hostAddress, end = begin + object.buffer->size;
  for (uint32_t gpu = 0; gpu < gpuBytes_.size(); ++gpu) {
    if (!(devices & bit(gpu)))
      continue;
    std::vector<std::pair<uint64_t, uint64_t>> kept;
    for (const auto &[handle, other] : objects_) {
      const uint64_t first = other.isUser() ? other.hostAddress : other.address;
      if (&other != &object && (other.mapped & bit(gpu)) && first < end && begin < first + other.buffer->size)
        kept.emplace_back(first, first + other.buffer->size);
    }
    std::ranges::sort(kept);
    uint64_t at = begin;
    for (auto [first, last] : kept) {
      if (first > at)
        space_.unmap(at, first - at, bit(gpu));
      at = std::max(at, last);
    }
    if (at < end)
      space_.unmap(at, end - at, bit(gpu));
  }
}

uint64_t MemoryManager::available(uint32_t gpu) {
  std::lock_guard lock(mutex_);
  return gpuBytes_[gpu] - used_[gpu];
}

std::shared_ptr<Buffer> MemoryManager::byOffset(uint64_t mmapOffset) {
  auto after = byOffset_.upper_bound(mmapOffset);
  if (after == byOffset_.begin())
    return nullptr;
  std::shared_ptr<Buffer> buffer = std::prev(after)->second.lock();
  return buffer && mmapOffset - buffer->mmapOffset < buffer->size ? buffer : nullptr;
}

// Whatever protection the thunk asks for, pages are readable, writable and shared: GPUs access them by the same
// addresses. (It maps what the host need not see without any, and older ones privately.)
void *MemoryManager::mapToHost(void *address, uint64_t size, int flags, uint64_t mmapOffset) {
  std::shared_ptr<Buffer> buffer;
  std::lock_guard lock(mutex_);
  buffer = byOffset(mmapOffset);
  const uint64_t inside = buffer ? mmapOffset - buffer->mmapOffset : 0;
  if (!buffer || alignUp(size, kPage) > alignUp(buffer->size, kPage) - inside) {
    errno = EINVAL;
    return MAP_FAILED;
  }
  void *at = ::mmap(address, size, PROT_READ | PROT_WRITE, (flags & ~MAP_TYPE) | MAP_SHARED, buffer->file->fd(),
                    static_cast<off_t>(buffer->fileOffset + inside));
  if (at == MAP_FAILED)
    return at;
  const auto mapped = reinterpret_cast<uint64_t>(at);
  auto [first, last] = byAddress_.equal_range(mapped);
  for (; first != last; ++first) {
    Object &object = objects_.at(first->second);
    object.visible |= object.buffer == buffer && inside == 0 && size >= buffer->size;
  }
  if (auto part = parts_.find(mapped); part != parts_.end() && part->second.buffer == buffer)
    part->second.ours = false;
  return at;
}

void *MemoryManager::mapInternally(const Buffer &buffer) {
  if (!buffer.file) {
    errno = EINVAL;
    return nullptr;
  }
  void *at = ::mmap(nullptr, buffer.size, PROT_READ | PROT_WRITE, MAP_SHARED, buffer.file->fd(),
                    static_cast<off_t>(buffer.fileOffset));
  return at == MAP_FAILED ? nullptr : at;
}

std::optional<MemoryManager::Internal> MemoryManager::allocateInternal(uint64_t size, uint64_t alignment) {
  if (!file_)
    return std::nullopt;
  std::lock_guard lock(mutex_);
  size = alignUp(size, kPage);
  const std::optional<uint64_t> offset = file_->reserve(size, alignment);
  if (!offset)
    return std::nullopt;
  void *reserved = ::mmap(nullptr, size + alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED)
    return std::nullopt;
  const uint64_t begin = alignUp(reinterpret_cast<uint64_t>(reserved), alignment);
  void *at = ::mmap(reinterpret_cast<void *>(begin), size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file_->fd(),
                    static_cast<off_t>(*offset));
  if (at == MAP_FAILED)
    return std::nullopt;
  madvise(at, size, MADV_DONTFORK);
  space_.map(begin, size, allDevices());
  return Internal{at, size, *offset};
}

void MemoryManager::provide(uint32_t gpu, uint32_t kind, const Internal &memory, uint64_t mmapOffset) {
  std::lock_guard lock(mutex_);
  auto buffer = std::make_shared<Buffer>();
  buffer->gpu = gpu;
  buffer->flags = kind;
  buffer->size = memory.size;
  buffer->file = file_;
  buffer->fileOffset = memory.fileOffset;
  buffer->mmapOffset = mmapOffset;
  byOffset_[buffer->mmapOffset] = buffer;
  provided_[{gpu, kind}] = std::move(buffer);
}

SharedBuffer MemoryManager::share(Buffer &buffer) const {
  buffer.shared = true;
  buffer.file->announce(buffer.fileOffset, buffer.size, true);
  SharedBuffer shared;
  shared.pid = static_cast<uint32_t>(getpid());
  shared.fd = static_cast<uint32_t>(buffer.file->fd());
  shared.offset = buffer.fileOffset;
  shared.size = buffer.size;
  shared.flags = buffer.flags;
  return shared;
}

std::shared_ptr<Buffer> MemoryManager::find(const SharedBuffer &shared, uint32_t gpu) {
  std::shared_ptr<Buffer> buffer; // before the lock: letting go of the last reference takes it
  std::lock_guard lock(mutex_);
  if (shared.pid == static_cast<uint32_t>(getpid()) && file_ && shared.fd == static_cast<uint32_t>(file_->fd())) {
    buffer = byOffset(shared.offset);
    if (buffer && buffer->fileOffset == shared.offset)
      return buffer;
    errno = ENOENT;
    return nullptr;
  }
  Foreign &owner = foreign_[{shared.pid, shared.fd}];
  buffer = owner.buffers[shared.offset].lock();
  if (buffer)
    return buffer;
  std::shared_ptr<BackingFile> file = owner.file.lock();
  if (!file) {
    file = BackingFile::of(shared.pid, static_cast<int>(shared.fd));
    owner.file = file;
  }
  if (!file || !file->hold(shared.offset, shared.size))
    return nullptr;
  if (!file->announced(shared.offset, shared.size)) {
    file->letGo(shared.offset, shared.size);
    errno = ENOENT;
    return nullptr;
  }
  const uint64_t mmapOffset = nextForeignOffset_;
  nextForeignOffset_ += alignUp(shared.size, kPage);
  buffer = newBuffer();
  buffer->gpu = gpu;
  buffer->flags = shared.flags;
  buffer->size = shared.size;
  buffer->foreign = true;
  buffer->file = std::move(file);
  buffer->fileOffset = shared.offset;
  buffer->mmapOffset = mmapOffset;
  byOffset_[buffer->mmapOffset] = buffer;
  owner.buffers[shared.offset] = buffer;
  return buffer;
}

int MemoryManager::mapPart(const std::shared_ptr<Buffer> &buffer, uint64_t offset, uint64_t address, uint64_t size,
                           uint32_t gpu) {
  if (address % kPage || size % kPage || offset % kPage || size == 0 || address >= AddressSpace::kEnd ||
      size > AddressSpace::kEnd - address || offset > buffer->size || size > alignUp(buffer->size, kPage) - offset)
    return EINVAL;
  std::lock_guard lock(mutex_);
  const auto next = parts_.upper_bound(address);
  if (next != parts_.end() && next->first < address + size)
    return EINVAL;
  if (next != parts_.begin())
    if (const auto &[before, other] = *std::prev(next); before != address && before + other.size > address)
      return EINVAL;
  Part &part = parts_[address];
  if (part.devices && (part.buffer != buffer || part.size != size || part.offset != offset))
    return EINVAL;
  if (!part.devices) {
    void *at = ::mmap(reinterpret_cast<void *>(address), size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                      buffer->file->fd(), static_cast<off_t>(buffer->fileOffset + offset));
    if (at == MAP_FAILED) {
      const int error = errno;
      parts_.erase(address);
      return error;
    }
    madvise(at, size, MADV_DONTFORK);
    part = {size, buffer, offset, 0, true};
  }
  part.devices |= bit(gpu);
  enter(address, size, bit(gpu));
  return 0;
}

int MemoryManager::unmapPart(uint64_t address, uint64_t size, uint32_t gpu) {
  std::shared_ptr<Buffer> last;
  {
    std::lock_guard lock(mutex_);
    auto found = parts_.find(address);
    if (found == parts_.end() || found->second.size != size || !(found->second.devices & bit(gpu)))
      return EINVAL;
    Part &part = found->second;
    space_.unmap(address, size, bit(gpu));
    part.devices &= static_cast<DeviceMask>(~bit(gpu));
    if (!part.devices) {
      // The address range stays whoever reserved it's.
      if (part.ours && ::mmap(reinterpret_cast<void *>(address), size, PROT_NONE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
        log::error("vgpu: {:#x} bytes at {:#x} stay mapped to the host: {}", size, address, std::strerror(errno));
      last = std::move(part.buffer);
      parts_.erase(found);
    }
  }
  if (onGone)
    onGone(address, size);
  return 0;
}

} // namespace luthier::vgpu
