// Part of libluthier-vgpu.so: brings the driver in.
//
// No lock is held meanwhile: another thread may be inside the dynamic linker, running a constructor that uses a GPU,
// and would wait for us while we wait for it. Threads that come together all open the library and all call its entry,
// which makes the driver once.

#define _GNU_SOURCE
#include "preload.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef __typeof__(&luthierVgpuDriver) Entry;

static Entry loaded; // of a driver that is ready
static int missing;
// Each thread calls the entry once for itself. That hands it what the thread that made the driver has written, in a way
// that ThreadSanitizer, which does not look into this library, sees too.
static __thread const struct LuthierVgpuDriver *ofThread __attribute__((tls_model("initial-exec")));
// While the driver starts, what it asks of the machine is about the real one.
static __thread int starting __attribute__((tls_model("initial-exec")));

static void complain(const char *what, const char *why) {
  if (__atomic_exchange_n(&missing, 1, __ATOMIC_ACQ_REL))
    return;
  char text[2048];
  const int length = snprintf(text, sizeof text, "luthier: error: no virtual GPU: %s: %s\n", what, why);
  const size_t written = length < (int)sizeof text ? (size_t)length : sizeof text - 1;
  if (length > 0 && write(STDERR_FILENO, text, written) < 0)
    return; // nobody reads it
}

static Entry bringIn(void) {
  static const char name[] = "libluthier-vgpu-driver.so";
  Dl_info self;
  char path[PATH_MAX];
  const char *slash = dladdr((void *)&luthierDriver, &self) && self.dli_fname ? strrchr(self.dli_fname, '/') : NULL;
  const int folder = slash ? (int)(slash + 1 - self.dli_fname) : 0;
  if (snprintf(path, sizeof path, "%.*s%s", folder, folder ? self.dli_fname : "", name) >= (int)sizeof path) {
    complain(name, strerror(ENAMETOOLONG));
    return NULL;
  }
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *why = dlerror();
    complain("cannot load its driver", why ? why : path);
    return NULL;
  }
  const Entry entry = (Entry)dlsym(library, LUTHIER_VGPU_DRIVER_ENTRY);
  if (!entry) {
    complain(path, "has no " LUTHIER_VGPU_DRIVER_ENTRY);
    return NULL;
  }
  const struct LuthierVgpuDriver *driver = entry();
  if (driver && driver->version == LUTHIER_VGPU_DRIVER_VERSION)
    return entry;
  if (driver)
    complain(path, "is of another version than libluthier-vgpu.so beside it");
  __atomic_store_n(&missing, 1, __ATOMIC_RELEASE); // if it did not complain, the driver has
  return NULL;
}

const struct LuthierVgpuDriver *luthierLoadedDriver(void) {
  if (!ofThread) {
    const Entry entry = __atomic_load_n(&loaded, __ATOMIC_ACQUIRE);
    ofThread = entry ? entry() : NULL;
  }
  return ofThread;
}

const struct LuthierVgpuDriver *luthierDriver(void) {
  if (starting)
    return NULL;
  const struct LuthierVgpuDriver *driver = luthierLoadedDriver();
  if (driver || __atomic_load_n(&missing, __ATOMIC_ACQUIRE))
    return driver;
  const int before = errno;
  starting = 1;
  const Entry entry = bringIn();
  starting = 0;
  if (entry)
    __atomic_store_n(&loaded, entry, __ATOMIC_RELEASE);
  driver = luthierLoadedDriver();
  errno = before;
  return driver;
}

LuthierVgpuFile luthierIdentify(const struct LuthierVgpuDriver *driver, int descriptor) {
  const int before = errno;
  struct stat status; // as the kernel has it, past our own fstat and others'
  const long failed = syscall(SYS_fstat, descriptor, &status);
  errno = before;
  return failed ? LUTHIER_VGPU_NO_FILE : driver->identify(status.st_dev, status.st_ino);
}
