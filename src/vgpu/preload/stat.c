// Part of libluthier-vgpu.so: functions that look at a file without opening it, and those that look at an open one.
//
// What they say of a device file is what they say of the regular file behind it, but for its type and number.

#define _GNU_SOURCE
#include "preload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

_Static_assert(sizeof(struct stat) == sizeof(struct stat64), "stat and stat64 are one structure on 64-bit Linux");

enum { deviceMode = S_IFCHR | 0666 };

static void describe(const struct LuthierVgpuDriver *driver, LuthierVgpuFile device, struct stat *status) {
  if (device == LUTHIER_VGPU_NO_FILE)
    return;
  status->st_mode = deviceMode;
  status->st_rdev = driver->number(device);
}

// `status` is what fstat said of a descriptor.
static void describeOpened(struct stat *status) {
  const struct LuthierVgpuDriver *driver = luthierLoadedDriver();
  if (driver && S_ISREG(status->st_mode))
    describe(driver, driver->identify(status->st_dev, status->st_ino), status);
}

// An empty path stands for the descriptor itself.
static int isDescriptorItself(const char *path, int flags) { return flags & AT_EMPTY_PATH && (!path || !*path); }

// Declares `usable`, the path to call the next function with; after the call, `found` describes the result.
#define RESOLVE(path)                                                                                                  \
  struct VirtualPath found;                                                                                            \
  const int isVirtual = luthierFindVirtual(path, &found);                                                              \
  const char *usable = isVirtual ? found.file : path

// The functions of a name's family differ in their structure, and in that those of glibc before 2.33, which older
// programs call, take the structure's version first: PARAMETER and ARGUMENT are that version, or nothing.

#define DEFINE_STAT(name, structure, PARAMETER, ARGUMENT)                                                              \
  RARE static int name##Virtual(PARAMETER const char *path, struct structure *result) {                                \
    RESOLVE(path);                                                                                                     \
    const int failed = NEXT(name)(ARGUMENT usable, result);                                                            \
    if (!failed && isVirtual)                                                                                          \
      describe(found.driver, found.device, (struct stat *)result);                                                     \
    return failed;                                                                                                     \
  }                                                                                                                    \
  EXPORT int name(PARAMETER const char *path, struct structure *result) {                                              \
    return luthierIsVirtualPath(path) ? name##Virtual(ARGUMENT path, result) : NEXT(name)(ARGUMENT path, result);      \
  }

#define DEFINE_FSTAT(name, structure, PARAMETER, ARGUMENT)                                                             \
  EXPORT int name(PARAMETER int descriptor, struct structure *result) {                                                \
    const int failed = NEXT(name)(ARGUMENT descriptor, result);                                                        \
    if (!failed)                                                                                                       \
      describeOpened((struct stat *)result);                                                                           \
    return failed;                                                                                                     \
  }

#define DEFINE_FSTATAT(name, structure, PARAMETER, ARGUMENT)                                                           \
  RARE static int name##Virtual(PARAMETER int folder, const char *path, struct structure *result, int flags) {         \
    RESOLVE(path);                                                                                                     \
    const int failed = NEXT(name)(ARGUMENT folder, usable, result, flags);                                             \
    if (!failed && isVirtual)                                                                                          \
      describe(found.driver, found.device, (struct stat *)result);                                                     \
    return failed;                                                                                                     \
  }                                                                                                                    \
  EXPORT int name(PARAMETER int folder, const char *path, struct structure *result, int flags) {                       \
    if (luthierIsVirtualPath(path))                                                                                    \
      return name##Virtual(ARGUMENT folder, path, result, flags);                                                      \
    const int failed = NEXT(name)(ARGUMENT folder, path, result, flags);                                               \
    if (!failed && isDescriptorItself(path, flags))                                                                    \
      describeOpened((struct stat *)result);                                                                           \
    return failed;                                                                                                     \
  }

#define VERSION_PARAMETER int version,
#define VERSION_ARGUMENT version,

// The system's headers no longer declare the versioned ones.
int __xstat(int version, const char *path, struct stat *result);
int __xstat64(int version, const char *path, struct stat64 *result);
int __lxstat(int version, const char *path, struct stat *result);
int __lxstat64(int version, const char *path, struct stat64 *result);
int __fxstat(int version, int descriptor, struct stat *result);
int __fxstat64(int version, int descriptor, struct stat64 *result);
int __fxstatat(int version, int folder, const char *path, struct stat *result, int flags);
int __fxstatat64(int version, int folder, const char *path, struct stat64 *result, int flags);

DEFINE_STAT(stat, stat, , )
DEFINE_STAT(stat64, stat64, , )
DEFINE_STAT(lstat, stat, , )
DEFINE_STAT(lstat64, stat64, , )
DEFINE_FSTAT(fstat, stat, , )
DEFINE_FSTAT(fstat64, stat64, , )
DEFINE_FSTATAT(fstatat, stat, , )
DEFINE_FSTATAT(fstatat64, stat64, , )
DEFINE_STAT(__xstat, stat, VERSION_PARAMETER, VERSION_ARGUMENT)
DEFINE_STAT(__xstat64, stat64, VERSION_PARAMETER, VERSION_ARGUMENT)
DEFINE_STAT(__lxstat, stat, VERSION_PARAMETER, VERSION_ARGUMENT)
DEFINE_STAT(__lxstat64, stat64, VERSION_PARAMETER, VERSION_ARGUMENT)
DEFINE_FSTAT(__fxstat, stat, VERSION_PARAMETER, VERSION_ARGUMENT)
DEFINE_FSTAT(__fxstat64, stat64, VERSION_PARAMETER, VERSION_ARGUMENT)
DEFINE_FSTATAT(__fxstatat, stat, VERSION_PARAMETER, VERSION_ARGUMENT)
DEFINE_FSTATAT(__fxstatat64, stat64, VERSION_PARAMETER, VERSION_ARGUMENT)

static void describeExtended(const struct LuthierVgpuDriver *driver, LuthierVgpuFile device, struct statx *status) {
  if (device == LUTHIER_VGPU_NO_FILE)
    return;
  const dev_t number = driver->number(device);
  status->stx_mode = deviceMode;
  status->stx_rdev_major = major(number);
  status->stx_rdev_minor = minor(number);
}

RARE static int statxVirtual(int folder, const char *path, int flags, unsigned mask, struct statx *result) {
  RESOLVE(path);
  const int failed = NEXT(statx)(folder, usable, flags, mask, result);
  if (!failed && isVirtual)
    describeExtended(found.driver, found.device, result);
  return failed;
}

EXPORT int statx(int folder, const char *path, int flags, unsigned mask, struct statx *result) {
  if (luthierIsVirtualPath(path))
    return statxVirtual(folder, path, flags, mask, result);
  const int failed = NEXT(statx)(folder, path, flags, mask, result);
  const struct LuthierVgpuDriver *driver = luthierLoadedDriver();
  if (!failed && driver && isDescriptorItself(path, flags))
    describeExtended(driver, luthierIdentify(driver, folder), result);
  return failed;
}

// Functions that only need another path. `parameters` and `arguments` are in parentheses; the latter say `usable` where
// the path is.
#define DEFINE_REDIRECTED(result, name, parameters, direct, arguments)                                                 \
  RARE static result name##Virtual parameters {                                                                        \
    RESOLVE(path);                                                                                                     \
    return NEXT(name) arguments;                                                                                       \
  }                                                                                                                    \
  EXPORT result name parameters {                                                                                      \
    const char *usable = path;                                                                                         \
    return luthierIsVirtualPath(path) ? name##Virtual direct : NEXT(name) arguments;                                   \
  }

ssize_t __readlink_chk(const char *path, char *target, size_t size, size_t room);
ssize_t __readlinkat_chk(int folder, const char *path, char *target, size_t size, size_t room);

DEFINE_REDIRECTED(int, access, (const char *path, int mode), (path, mode), (usable, mode))
DEFINE_REDIRECTED(int, euidaccess, (const char *path, int mode), (path, mode), (usable, mode))
DEFINE_REDIRECTED(int, eaccess, (const char *path, int mode), (path, mode), (usable, mode))
DEFINE_REDIRECTED(int, faccessat, (int folder, const char *path, int mode, int flags), (folder, path, mode, flags),
                  (folder, usable, mode, flags))
DEFINE_REDIRECTED(ssize_t, readlink, (const char *path, char *target, size_t size), (path, target, size),
                  (usable, target, size))
DEFINE_REDIRECTED(ssize_t, readlinkat, (int folder, const char *path, char *target, size_t size),
                  (folder, path, target, size), (folder, usable, target, size))
DEFINE_REDIRECTED(ssize_t, __readlink_chk, (const char *path, char *target, size_t size, size_t room),
                  (path, target, size, room), (usable, target, size, room))
DEFINE_REDIRECTED(ssize_t, __readlinkat_chk, (int folder, const char *path, char *target, size_t size, size_t room),
                  (folder, path, target, size, room), (folder, usable, target, size, room))

// `ls -l` asks for these.
DEFINE_REDIRECTED(ssize_t, getxattr, (const char *path, const char *name, void *value, size_t size),
                  (path, name, value, size), (usable, name, value, size))
DEFINE_REDIRECTED(ssize_t, lgetxattr, (const char *path, const char *name, void *value, size_t size),
                  (path, name, value, size), (usable, name, value, size))
DEFINE_REDIRECTED(ssize_t, listxattr, (const char *path, char *list, size_t size), (path, list, size),
                  (usable, list, size))
DEFINE_REDIRECTED(ssize_t, llistxattr, (const char *path, char *list, size_t size), (path, list, size),
                  (usable, list, size))

// The result is a path as the caller knows it.
static char *outsideTree(char *resolved, const struct VirtualPath *found) {
  if (resolved && strncmp(resolved, found->file, found->treeLength) == 0 && resolved[found->treeLength] == '/')
    memmove(resolved, resolved + found->treeLength, strlen(resolved + found->treeLength) + 1);
  return resolved;
}

char *__realpath_chk(const char *path, char *resolved, size_t room);

// The C library's callers give __realpath_chk a buffer of at least PATH_MAX; the check is the next one's.
#define DEFINE_REALPATH(name, parameters, direct, arguments)                                                           \
  RARE static char *name##Virtual parameters {                                                                         \
    RESOLVE(path);                                                                                                     \
    char *result = NEXT(name) arguments;                                                                               \
    return isVirtual ? outsideTree(result, &found) : result;                                                           \
  }                                                                                                                    \
  EXPORT char *name parameters {                                                                                       \
    const char *usable = path;                                                                                         \
    return luthierIsVirtualPath(path) ? name##Virtual direct : NEXT(name) arguments;                                   \
  }

DEFINE_REALPATH(realpath, (const char *path, char *resolved), (path, resolved), (usable, resolved))
DEFINE_REALPATH(__realpath_chk, (const char *path, char *resolved, size_t room), (path, resolved, room),
                (usable, resolved, room))
DEFINE_REALPATH(canonicalize_file_name, (const char *path), (path), (usable))
