// A driver for the tests of the preloaded library: real device files and a real tree, ioctls that answer what they were
// asked.
#include "fake_driver.h"
#include "support/cache_folder.h"
#include "vgpu/driver/tree.h"

#include <cerrno>
#include <cstdlib>
#include <mutex>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace luthier::vgpu {
namespace {

struct Fake {
  DeviceFiles files{2};
  std::string tree;
  int errnoOfKfd = 0;
};
Fake *fake;
int made;

int fakeIoctl(LuthierVgpuFile file, unsigned long request, void *argument) {
  if (_IOC_NR(request) == kFakeFailure) {
    errno = EPROTO;
    return -1;
  }
  *static_cast<FakeAnswer *>(argument) = {file, request, made, fake->errnoOfKfd};
  return 7;
}

void *fakeMmap(LuthierVgpuFile file, void *address, size_t size, int protection, int flags, off_t offset) {
  auto *words = static_cast<uint64_t *>(
      ::mmap(address, size, PROT_READ | PROT_WRITE, (flags & ~MAP_TYPE) | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  words[0] = static_cast<uint64_t>(file);
  words[1] = static_cast<uint64_t>(offset);
  words[2] = static_cast<uint64_t>(protection);
  return words;
}

} // namespace
} // namespace luthier::vgpu

using namespace luthier::vgpu;

extern "C" __attribute__((visibility("default"))) const LuthierVgpuDriver *luthierVgpuDriver() {
  if (::getenv("FAKE_DRIVER_FAILS"))
    return nullptr;
  static LuthierVgpuDriver driver{};
  static std::once_flag once;
  std::call_once(once, [] {
    fake = new Fake;
    ++made;
    errno = 0;
    const int real = ::open("/dev/kfd", O_RDWR | O_CLOEXEC); // while it starts, this is the machine's
    fake->errnoOfKfd = errno;
    if (real >= 0)
      ::close(real);
    const DeviceConfig config = deviceConfig(*luthier::isa::findTarget("gfx90a"));
    const Topology topology(HostInfo::read(), {config, config});
    fake->tree = placeTree(describeTree(topology, fake->files), luthier::defaultCacheFolder()).value();
    ::usleep(10000); // so that other threads come meanwhile
    driver = {.version = LUTHIER_VGPU_DRIVER_VERSION,
              .tree = fake->tree.c_str(),
              .open = [](LuthierVgpuFile file, int flags) { return fake->files.open(file, flags); },
              .identify = [](dev_t device, ino_t inode) { return fake->files.identify(device, inode); },
              .find = [](const char *path) { return fake->files.find(path); },
              .number = [](LuthierVgpuFile file) { return fake->files.number(file); },
              .ioctl = fakeIoctl,
              .mmap = fakeMmap};
    errno = ERANGE; // must not be seen
  });
  return &driver;
}
