// What the parts of libluthier-vgpu.so share; paths.c says what the library is.
#pragma once

#include "vgpu/driver/entry.h"

#include <dlfcn.h>
#include <limits.h>

#define EXPORT __attribute__((visibility("default")))
// Keeps what a virtual path needs, a buffer above all, off the stack of calls on others.
#define RARE __attribute__((noinline, cold))

// The next definition of `name`, found at its first use: other libraries' constructors may call before ours would.
#define NEXT(name)                                                                                                     \
  ({                                                                                                                   \
    static __typeof__(&name) next;                                                                                     \
    __typeof__(&name) found = __atomic_load_n(&next, __ATOMIC_RELAXED);                                                \
    if (!found) {                                                                                                      \
      found = (__typeof__(&name))dlsym(RTLD_NEXT, #name);                                                              \
      __atomic_store_n(&next, found, __ATOMIC_RELAXED);                                                                \
    }                                                                                                                  \
    found;                                                                                                             \
  })

// Whether the virtual driver answers for this path. Does not bring the driver in.
int luthierIsVirtualPath(const char *path);

// A virtual path, and where its file really is.
struct VirtualPath {
  const struct LuthierVgpuDriver *driver;
  LuthierVgpuFile device;  // LUTHIER_VGPU_NO_FILE: not a device file
  size_t treeLength;       // of `file`
  char file[PATH_MAX + 1]; // in the driver's tree; of a device, a placeholder
};

// False: it is not virtual, or there is no driver, and the path is to be used as it is. Brings the driver in.
int luthierFindVirtual(const char *path, struct VirtualPath *found);

// The driver if it is in, else null. It may not be before a virtual path has been used: then no descriptor is virtual.
const struct LuthierVgpuDriver *luthierLoadedDriver(void);

// The driver, brought in if need be. Null when there is none, and for calls that the driver itself makes while it
// starts. Keeps errno.
const struct LuthierVgpuDriver *luthierDriver(void);

// Which of the driver's device files this descriptor is. Keeps errno.
LuthierVgpuFile luthierIdentify(const struct LuthierVgpuDriver *driver, int descriptor);
