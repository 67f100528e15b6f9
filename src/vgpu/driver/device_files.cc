#include "vgpu/driver/device_files.h"

#include "vgpu/driver/device_numbers.h"

#include <cassert>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace luthier::vgpu {

namespace {

constexpr std::string_view kKfdPath = "/dev/kfd";

/// Out of the way of programs that count on low numbers, and of select().
constexpr int kLowestDescriptor = 1000;

int moveUp(int descriptor) {
  const int moved = ::fcntl(descriptor, F_DUPFD_CLOEXEC, kLowestDescriptor);
  if (moved < 0)
    return descriptor; // there may be no such numbers
  ::close(descriptor);
  return moved;
}

/// The lowest that no other device has.
std::vector<uint32_t> freeCards(uint32_t count, const std::filesystem::path &root) {
  std::vector<uint32_t> cards;
  for (uint32_t minor = 0; minor < LUTHIER_VGPU_CARD_MINORS && cards.size() < count; ++minor) {
    std::error_code failed;
    const std::string name = fmt::format("card{}", minor);
    if (!std::filesystem::exists(root / "dev/dri" / name, failed) &&
        !std::filesystem::exists(root / "sys/class/drm" / name, failed))
      cards.push_back(minor);
  }
  return cards;
}

} // namespace

uint32_t renderMinor(uint32_t index) { return LUTHIER_VGPU_FIRST_RENDER_MINOR + index; }

DeviceFiles::DeviceFiles(uint32_t gpus, const std::filesystem::path &root)
    : gpus_(gpus), cards_(freeCards(gpus, root)), files_(std::make_unique<File[]>(gpus + 1)) {
  assert(cards_.size() == gpus);
  for (uint32_t n = 0; n <= gpus_; ++n)
    make(static_cast<LuthierVgpuFile>(n)); // if it fails, opening it will try again and say so
}

DeviceFiles::~DeviceFiles() {
  for (uint32_t n = 0; n <= gpus_; ++n)
    if (files_[n].descriptor >= 0)
      ::close(files_[n].descriptor);
}

int DeviceFiles::make(LuthierVgpuFile number) {
  File &file = files_[static_cast<uint32_t>(number)];
  const std::string name = number == kKfd ? "luthier-kfd" : fmt::format("luthier-renderD{}", renderMinor(number - 1));
  const int made = ::memfd_create(name.c_str(), MFD_CLOEXEC);
  if (made < 0)
    return -1;
  const int descriptor = moveUp(made);
  struct stat status;
  if (::fstat(descriptor, &status) != 0)
    return -1;
  file.inode = 0; // never a mixture of two files
  file.device = status.st_dev;
  file.inode = status.st_ino;
  file.descriptor = descriptor;
  return descriptor;
}

int DeviceFiles::ensure(LuthierVgpuFile number) {
  const File &file = files_[static_cast<uint32_t>(number)];
  const auto isOurs = [&](int descriptor) {
    struct stat status;
    return descriptor >= 0 && ::fstat(descriptor, &status) == 0 && status.st_dev == file.device &&
           status.st_ino == file.inode;
  };
  if (const int descriptor = file.descriptor; isOurs(descriptor))
    return descriptor;
  std::lock_guard lock(mutex_);
  if (const int descriptor = file.descriptor; isOurs(descriptor))
    return descriptor;
  return make(number);
}

int DeviceFiles::open(LuthierVgpuFile file, int flags) {
  if (file < 0 || static_cast<uint32_t>(file) > gpus_) {
    errno = ENODEV;
    return -1;
  }
  const int descriptor = ensure(file);
  if (descriptor < 0)
    return -1;
  // Opened anew rather than duplicated, so that access, O_CLOEXEC and O_NONBLOCK are as asked for. The path is a link.
  char path[64];
  *fmt::format_to_n(path, sizeof path - 1, "/proc/self/fd/{}", descriptor).out = '\0';
  const int opened = ::open(path, flags & ~O_NOFOLLOW, 0);
  if (opened >= 0 || errno != ENOENT)
    return opened;
  return ::fcntl(descriptor, flags & O_CLOEXEC ? F_DUPFD_CLOEXEC : F_DUPFD, 0); // no /proc
}

LuthierVgpuFile DeviceFiles::identify(dev_t device, ino_t inode) const {
  for (uint32_t n = 0; n <= gpus_ && inode != 0; ++n)
    if (files_[n].inode == inode && files_[n].device == device)
      return static_cast<LuthierVgpuFile>(n);
  return LUTHIER_VGPU_NO_FILE;
}

LuthierVgpuFile DeviceFiles::find(std::string_view path) const {
  if (path == kKfdPath)
    return kKfd;
  for (uint32_t gpu = 0; gpu < gpus_ && path.starts_with("/dev/dri/"); ++gpu)
    if (path == fmt::format("/dev/dri/renderD{}", renderMinor(gpu)) ||
        path == fmt::format("/dev/dri/card{}", cardMinor(gpu)))
      return renderNode(gpu);
  return LUTHIER_VGPU_NO_FILE;
}

dev_t DeviceFiles::number(LuthierVgpuFile file) const {
  return file == kKfd ? makedev(LUTHIER_VGPU_KFD_MAJOR, 0)
                      : makedev(LUTHIER_VGPU_DRM_MAJOR, renderMinor(static_cast<uint32_t>(file - 1)));
}

std::vector<std::string> DeviceFiles::paths() const {
  std::vector<std::string> all{std::string(kKfdPath)};
  for (uint32_t gpu = 0; gpu < gpus_; ++gpu) {
    all.push_back(fmt::format("/dev/dri/card{}", cardMinor(gpu)));
    all.push_back(fmt::format("/dev/dri/renderD{}", renderMinor(gpu)));
  }
  return all;
}

} // namespace luthier::vgpu
