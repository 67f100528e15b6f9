// Part of libluthier-vgpu.so: what a program does with an open device file, and the one command that asks for the
// kernel module.

#define _GNU_SOURCE
#include "preload.h"

#include <errno.h>
#include <linux/ioctl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

// Requests of amdkfd and DRM have these types; those of other devices are not looked at.
static int mayBeOfGpu(unsigned long request) { return _IOC_TYPE(request) == 'K' || _IOC_TYPE(request) == 'd'; }

EXPORT int ioctl(int descriptor, unsigned long request, ...) {
  va_list list;
  va_start(list, request);
  void *argument = va_arg(list, void *);
  va_end(list);
  const struct LuthierVgpuDriver *driver = mayBeOfGpu(request) ? luthierLoadedDriver() : NULL;
  if (driver) {
    const LuthierVgpuFile device = luthierIdentify(driver, descriptor);
    if (device != LUTHIER_VGPU_NO_FILE)
      return driver->ioctl(device, request, argument);
  }
  return NEXT(ioctl)(descriptor, request, argument);
}

typedef void *(*Map)(void *, size_t, int, int, int, off_t);

static void *mapByKernel(void *address, size_t size, int protection, int flags, int descriptor, off_t offset) {
  return (void *)syscall(SYS_mmap, address, size, protection, flags, descriptor, offset);
}

// The memory of dlsym may come from an allocator that calls mmap: whoever comes while the next mmap is being looked for
// gets the kernel's.
static Map nextMap(const char *name, Map *next, int *looking) {
  Map found = __atomic_load_n(next, __ATOMIC_ACQUIRE);
  if (found)
    return found;
  if (__atomic_exchange_n(looking, 1, __ATOMIC_ACQ_REL))
    return mapByKernel;
  found = (Map)dlsym(RTLD_NEXT, name);
  if (!found)
    found = mapByKernel;
  __atomic_store_n(next, found, __ATOMIC_RELEASE);
  return found;
}

#define DEFINE_MMAP(name)                                                                                              \
  EXPORT void *name(void *address, size_t size, int protection, int flags, int descriptor, off_t offset) {             \
    static Map next;                                                                                                   \
    static int looking;                                                                                                \
    const struct LuthierVgpuDriver *driver =                                                                           \
        descriptor >= 0 && !(flags & MAP_ANONYMOUS) ? luthierLoadedDriver() : NULL;                                    \
    if (driver) {                                                                                                      \
      const LuthierVgpuFile device = luthierIdentify(driver, descriptor);                                              \
      if (device != LUTHIER_VGPU_NO_FILE)                                                                              \
        return driver->mmap(device, address, size, protection, flags, offset);                                         \
    }                                                                                                                  \
    return nextMap(#name, &next, &looking)(address, size, protection, flags, descriptor, offset);                      \
  }

DEFINE_MMAP(mmap)
DEFINE_MMAP(mmap64)

// rocminfo of ROCm 5 looks for the kernel module in this way; later ones read /sys/module/amdgpu.
EXPORT FILE *popen(const char *command, const char *mode) {
  const int asksForModule = command && strcmp(command, "lsmod | grep amdgpu") == 0;
  return NEXT(popen)(asksForModule ? "echo amdgpu 0 0" : command, mode);
}
