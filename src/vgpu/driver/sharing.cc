#include "vgpu/driver/sharing.h"

#include "vgpu/memory/address_space.h"

#include <cerrno>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace luthier::vgpu {

namespace {

struct Description {
  static constexpr uint64_t kMagic = 0x6275666d75687431;
  uint64_t magic = kMagic;
  SharedBuffer buffer;
};

} // namespace

int makeDmabuf(const SharedBuffer &shared, bool closeOnExec) {
  const int fd = memfd_create("luthier-vgpu-dmabuf", closeOnExec ? MFD_CLOEXEC : 0);
  if (fd < 0)
    return -1;
  const Description description{Description::kMagic, shared};
  if (pwrite(fd, &description, sizeof(description), 0) == ssize_t{sizeof(description)} &&
      ftruncate(fd, static_cast<off_t>(shared.size)) == 0)
    return fd;
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

std::optional<SharedBuffer> readDmabuf(int fd) {
  Description description{};
  struct stat status;
  if (fstat(fd, &status) != 0)
    return std::nullopt;
  if (pread(fd, &description, sizeof(description), 0) != ssize_t{sizeof(description)} ||
      description.magic != Description::kMagic || static_cast<uint64_t>(status.st_size) != description.buffer.size) {
    errno = EINVAL;
    return std::nullopt;
  }
  return description.buffer;
}

// Process, descriptor in 16 bits, first page in 48, pages in 32.
bool packShareHandle(const SharedBuffer &shared, uint32_t (&words)[4]) {
  const uint64_t page = shared.offset / AddressSpace::kPageSize, pages = shared.size / AddressSpace::kPageSize;
  if (shared.fd >> 16 || page >> 48 || pages >> 32)
    return false;
  words[0] = shared.pid;
  words[1] = shared.fd | static_cast<uint32_t>(page >> 32) << 16;
  words[2] = static_cast<uint32_t>(page);
  words[3] = static_cast<uint32_t>(pages);
  return true;
}

SharedBuffer unpackShareHandle(const uint32_t (&words)[4]) {
  SharedBuffer shared;
  shared.pid = words[0];
  shared.fd = words[1] & 0xffff;
  shared.offset = (uint64_t{words[1] >> 16} << 32 | words[2]) * AddressSpace::kPageSize;
  shared.size = words[3] * AddressSpace::kPageSize;
  shared.flags = kfd::memory::kVram | kfd::memory::kPublic | kfd::memory::kWritable;
  return shared;
}

} // namespace luthier::vgpu
