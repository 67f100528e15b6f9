// The driver as the preloaded library sees it, and its life: one for each process that opens /dev/kfd.
//
// A child of fork has none of the parent's threads, so it must not use the parent's driver; it gets its own at its
// first ioctl on a descriptor that it opened itself. The parent's stays in the child's memory, untouched. Descriptors
// that the child inherited answer EBADF, as the kernel's do.
#include "vgpu/driver/entry.h"

#include "memcheck/hsa_allocations.h"
#include "support/cache_folder.h"
#include "support/log.h"
#include "vgpu/driver/device_files.h"
#include "vgpu/driver/driver.h"
#include "vgpu/driver/drm.h"
#include "vgpu/driver/hang_watch.h"
#include "vgpu/driver/kfd.h"
#include "vgpu/driver/tree.h"
#include "vgpu/translate/report.h"

#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

namespace luthier::vgpu {

namespace {

/// What stays the same over fork.
struct Machine {
  Topology topology;
  DeviceFiles files;
  std::string tree;
};

struct Process {
  Driver driver;
  std::vector<std::unique_ptr<RenderNode>> renderNodes;
  HangWatch watch{driver};

  explicit Process(const Topology &topology) : driver(topology) {
    for (uint32_t gpu = 0; gpu < topology.gpus(); ++gpu)
      renderNodes.push_back(std::make_unique<RenderNode>(driver, gpu));
  }
};

Machine *machine = nullptr;
/// None before the first opening of /dev/kfd.
std::atomic<Process *> process = nullptr;
std::atomic<bool> opened = false;
pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;

void reportAtExit() {
  Process *const ending = process.load();
  if (!ending)
    return;
  ending->driver.writeStats();
  if (CheckSession *check = ending->driver.check.get())
    check->finish();
  ending->driver.reportChecks();
  if (const std::string text = TranslationReport::process().text(); !text.empty())
    log::info("{}", text);
}

/// Null when this process has not opened the device.
Process *current() {
  if (Process *running = process.load(std::memory_order_acquire))
    return running;
  if (!opened.load())
    return nullptr;
  pthread_mutex_lock(&starting);
  Process *running = process.load(std::memory_order_acquire);
  if (!running) {
    running = new Process(machine->topology);
    process.store(running, std::memory_order_release);
  }
  pthread_mutex_unlock(&starting);
  return running;
}

int openFile(LuthierVgpuFile file, int flags) {
  if (file == DeviceFiles::kKfd)
    opened = true;
  return machine->files.open(file, flags);
}

int ioctlFile(LuthierVgpuFile file, unsigned long request, void *argument) {
  Process *const running = current();
  int error = EBADF;
  if (running || file != DeviceFiles::kKfd) {
    const unsigned number = _IOC_NR(request);
    const uint64_t size = _IOC_SIZE(request);
    if (file == DeviceFiles::kKfd) {
      error = kfdIoctl(running->driver, number, size, argument);
    } else {
      // Whoever asks a render node what it is need not open /dev/kfd.
      opened = true;
      error = current()->renderNodes.at(static_cast<size_t>(file) - 1)->ioctl(number, size, argument);
    }
  }
  errno = error;
  return error ? -1 : 0;
}

void *mmapFile(LuthierVgpuFile, void *address, size_t size, int, int flags, off_t offset) {
  Process *const running = current();
  if (!running) {
    errno = EBADF;
    return MAP_FAILED;
  }
  return running->driver.memory.mapToHost(address, size, flags, static_cast<uint64_t>(offset));
}

/// Null when nothing is checked.
memcheck::ApplicationMemory *checkedMemory() {
  Process *const running = current();
  CheckSession *const check = running ? running->driver.check.get() : nullptr;
  return check ? &check->application() : nullptr;
}

Result<Machine *> makeMachine() {
  std::vector<DeviceConfig> gpus = LUTHIER_TRY(configuredGpus());
  Topology topology(HostInfo::read(), std::move(gpus));
  const uint32_t count = topology.gpus();
  auto *made = new Machine{std::move(topology), DeviceFiles(count), {}};
  made->tree = LUTHIER_TRY(placeTree(describeTree(made->topology, made->files), defaultCacheFolder()));
  return made;
}

} // namespace

} // namespace luthier::vgpu

extern "C" [[gnu::visibility("default")]] const LuthierVgpuDriver *luthierVgpuDriver() {
  using namespace luthier;
  using namespace luthier::vgpu;
  static std::once_flag once;
  static LuthierVgpuDriver driver{};
  std::call_once(once, [] {
    Result<Machine *> made = makeMachine();
    if (!made) {
      log::error("{}. No virtual GPU is available.", made.error().message());
      return;
    }
    machine = *made;
    driver = {.version = LUTHIER_VGPU_DRIVER_VERSION,
              .tree = machine->tree.c_str(),
              .open = openFile,
              .identify = [](dev_t device, ino_t inode) { return machine->files.identify(device, inode); },
              .find = [](const char *path) { return machine->files.find(path); },
              .number = [](LuthierVgpuFile file) { return machine->files.number(file); },
              .ioctl = ioctlFile,
              .mmap = mmapFile};
    pthread_atfork([] { pthread_mutex_lock(&starting); }, [] { pthread_mutex_unlock(&starting); },
                   [] {
                     pthread_mutex_unlock(&starting);
                     process = nullptr;
                     opened = false;
                   });
    std::atexit(reportAtExit);
  });
  return driver.version ? &driver : nullptr;
}

// `luthier check` names this library in HSA_TOOLS_LIB (memcheck/hsa_allocations.h). In other runs ROCr does not know of
// it.
extern "C" [[gnu::visibility("default")]] bool OnLoad(HsaApiTable *table, uint64_t, uint64_t, const char *const *) {
  using namespace luthier::vgpu;
  if (checkedMemory())
    luthier::memcheck::watchHsaAllocations(table, checkedMemory);
  return true;
}

extern "C" [[gnu::visibility("default")]] void OnUnload() {}

// For libluthier-check.so (preload/hip_calls.c): the application has asked HIP for this memory, or has freed it.
extern "C" [[gnu::visibility("default")]] void luthierCheckClaim(void *address) {
  if (luthier::memcheck::ApplicationMemory *memory = luthier::vgpu::checkedMemory())
    memory->claimed(reinterpret_cast<uint64_t>(address));
}

extern "C" [[gnu::visibility("default")]] void luthierCheckFreed(void *address) {
  if (luthier::memcheck::ApplicationMemory *memory = luthier::vgpu::checkedMemory())
    memory->freedByHip(reinterpret_cast<uint64_t>(address));
}
