/* What the preloaded library (src/vgpu/preload) asks of the virtual driver: the C interface between the two.
 *
 * The preloaded library sits in every process of a virtual run, children that never see a GPU included, so it is small
 * and plain C. The driver, with the engine and LLVM in it, is a library of its own that the first call on a path of a
 * GPU brings in. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LUTHIER_VGPU_DRIVER_VERSION 1
#define LUTHIER_VGPU_DRIVER_ENTRY "luthierVgpuDriver"

/* A device file of the virtual driver: 0 is /dev/kfd, n is the render node of GPU n - 1. */
typedef int LuthierVgpuFile;
#define LUTHIER_VGPU_NO_FILE (-1)

struct LuthierVgpuDriver {
  uint32_t version;
  /* A folder with what this machine would have with the virtual GPUs in it, by its usual path: TREE/sys/...,
   * TREE/dev/... Never null. */
  const char *tree;
  /* Opens a device file; -1 and errno. */
  int (*open)(LuthierVgpuFile file, int flags);
  /* Which device file an open one is, by what fstat says of it: that survives dup, fork and being sent elsewhere. */
  LuthierVgpuFile (*identify)(dev_t device, ino_t inode);
  /* Which device file a path names, LUTHIER_VGPU_NO_FILE for others. */
  LuthierVgpuFile (*find)(const char *path);
  /* What st_rdev says of it. */
  dev_t (*number)(LuthierVgpuFile file);
  /* -1 and errno, as the kernel's. */
  int (*ioctl)(LuthierVgpuFile file, unsigned long request, void *argument);
  void *(*mmap)(LuthierVgpuFile file, void *address, size_t size, int protection, int flags, off_t offset);
};

/* Makes the driver at the first call. Null when there is none to be had, after telling the user. */
const struct LuthierVgpuDriver *luthierVgpuDriver(void);

#ifdef __cplusplus
}
#endif
