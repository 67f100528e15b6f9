// Part of libluthier-vgpu.so: functions that open a file or a folder by its path.

#define _GNU_SOURCE
#include "preload.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int takesMode(int flags) { return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE; }

// Files of sysfs that have nothing to set refuse to be opened for writing, by root too; and the tree is shared with
// other processes.
static int wouldChange(int flags) {
  return (flags & O_ACCMODE) != O_RDONLY || flags & (O_CREAT | O_TRUNC) || (flags & O_TMPFILE) == O_TMPFILE;
}

static int refuse(const char *file) {
  if (access(file, F_OK) == 0)
    errno = EACCES;
  return -1;
}

RARE static int openVirtual(const char *path, int flags, int *descriptor) {
  struct VirtualPath found;
  if (!luthierFindVirtual(path, &found))
    return 0;
  if (found.device != LUTHIER_VGPU_NO_FILE)
    *descriptor = found.driver->open(found.device, flags);
  else
    *descriptor = wouldChange(flags) ? refuse(found.file) : NEXT(open)(found.file, flags);
  return 1;
}

#define MODE_OF(flags)                                                                                                 \
  ({                                                                                                                   \
    mode_t given = 0;                                                                                                  \
    if (takesMode(flags)) {                                                                                            \
      va_list list;                                                                                                    \
      va_start(list, flags);                                                                                           \
      given = va_arg(list, mode_t);                                                                                    \
      va_end(list);                                                                                                    \
    }                                                                                                                  \
    given;                                                                                                             \
  })

#define DEFINE_OPEN(name)                                                                                              \
  EXPORT int name(const char *path, int flags, ...) {                                                                  \
    const mode_t mode = MODE_OF(flags);                                                                                \
    int descriptor;                                                                                                    \
    if (luthierIsVirtualPath(path) && openVirtual(path, flags, &descriptor))                                           \
      return descriptor;                                                                                               \
    return NEXT(name)(path, flags, mode);                                                                              \
  }

#define DEFINE_OPENAT(name)                                                                                            \
  EXPORT int name(int folder, const char *path, int flags, ...) {                                                      \
    const mode_t mode = MODE_OF(flags);                                                                                \
    int descriptor;                                                                                                    \
    if (luthierIsVirtualPath(path) && openVirtual(path, flags, &descriptor))                                           \
      return descriptor;                                                                                               \
    return NEXT(name)(folder, path, flags, mode);                                                                      \
  }

DEFINE_OPEN(open)
DEFINE_OPEN(open64)
DEFINE_OPENAT(openat)
DEFINE_OPENAT(openat64)

// What these become in programs compiled with _FORTIFY_SOURCE; the C library's headers do not declare them.
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int folder, const char *path, int flags);
int __openat64_2(int folder, const char *path, int flags);

#define DEFINE_CHECKED_OPEN(name)                                                                                      \
  EXPORT int name(const char *path, int flags) {                                                                       \
    int descriptor;                                                                                                    \
    if (luthierIsVirtualPath(path) && openVirtual(path, flags, &descriptor))                                           \
      return descriptor;                                                                                               \
    return NEXT(name)(path, flags);                                                                                    \
  }

#define DEFINE_CHECKED_OPENAT(name)                                                                                    \
  EXPORT int name(int folder, const char *path, int flags) {                                                           \
    int descriptor;                                                                                                    \
    if (luthierIsVirtualPath(path) && openVirtual(path, flags, &descriptor))                                           \
      return descriptor;                                                                                               \
    return NEXT(name)(folder, path, flags);                                                                            \
  }

DEFINE_CHECKED_OPEN(__open_2)
DEFINE_CHECKED_OPEN(__open64_2)
DEFINE_CHECKED_OPENAT(__openat_2)
DEFINE_CHECKED_OPENAT(__openat64_2)

// For the functions of stdio. Gives a path to use in place of `path`; for a device, that of a descriptor, which is to
// be closed once the path has been used, else -1. Null: refused, with errno.
RARE static const char *pathForStdio(const char *path, const char *mode, struct VirtualPath *found, int *descriptor) {
  *descriptor = -1;
  if (!luthierFindVirtual(path, found))
    return path;
  if (found->device == LUTHIER_VGPU_NO_FILE) {
    if (mode && (mode[0] != 'r' || strchr(mode, '+')))
      return refuse(found->file), NULL;
    return found->file;
  }
  *descriptor = found->driver->open(found->device, O_RDWR | O_CLOEXEC);
  if (*descriptor < 0)
    return NULL;
  snprintf(found->file, sizeof found->file, "/proc/self/fd/%d", *descriptor);
  return found->file;
}

static void closeKeepingErrno(int descriptor) {
  const int before = errno;
  if (descriptor >= 0)
    close(descriptor);
  errno = before;
}

#define DEFINE_FOPEN(name)                                                                                             \
  RARE static FILE *name##Virtual(const char *path, const char *mode) {                                                \
    struct VirtualPath found;                                                                                          \
    int descriptor;                                                                                                    \
    const char *usable = pathForStdio(path, mode, &found, &descriptor);                                                \
    FILE *file = usable ? NEXT(name)(usable, mode) : NULL;                                                             \
    closeKeepingErrno(descriptor);                                                                                     \
    return file;                                                                                                       \
  }                                                                                                                    \
  EXPORT FILE *name(const char *path, const char *mode) {                                                              \
    return luthierIsVirtualPath(path) ? name##Virtual(path, mode) : NEXT(name)(path, mode);                            \
  }

// A refused one closes the stream, as a failing one does.
#define DEFINE_FREOPEN(name)                                                                                           \
  RARE static FILE *name##Virtual(const char *path, const char *mode, FILE *stream) {                                  \
    struct VirtualPath found;                                                                                          \
    int descriptor;                                                                                                    \
    const char *usable = pathForStdio(path, mode, &found, &descriptor);                                                \
    const int reason = errno;                                                                                          \
    FILE *file = NEXT(name)(usable ? usable : "", mode, stream);                                                       \
    if (!usable)                                                                                                       \
      errno = reason;                                                                                                  \
    closeKeepingErrno(descriptor);                                                                                     \
    return file;                                                                                                       \
  }                                                                                                                    \
  EXPORT FILE *name(const char *path, const char *mode, FILE *stream) {                                                \
    return luthierIsVirtualPath(path) ? name##Virtual(path, mode, stream) : NEXT(name)(path, mode, stream);            \
  }

DEFINE_FOPEN(fopen)
DEFINE_FOPEN(fopen64)
DEFINE_FREOPEN(freopen)
DEFINE_FREOPEN(freopen64)

// Calls `name` on `path`, or on what it really is. `...` is the call, of `usable`.
#define REDIRECTED(path, ...)                                                                                          \
  struct VirtualPath found;                                                                                            \
  const char *usable = luthierFindVirtual(path, &found) ? found.file : path;                                           \
  return __VA_ARGS__

RARE static DIR *opendirVirtual(const char *path) { REDIRECTED(path, NEXT(opendir)(usable)); }

EXPORT DIR *opendir(const char *path) {
  return luthierIsVirtualPath(path) ? opendirVirtual(path) : NEXT(opendir)(path);
}

typedef int (*Select)(const struct dirent *);
typedef int (*Order)(const struct dirent **, const struct dirent **);
typedef int (*Select64)(const struct dirent64 *);
typedef int (*Order64)(const struct dirent64 **, const struct dirent64 **);

#define DEFINE_SCANDIR(suffix, Entry, Chosen, Ordered)                                                                 \
  RARE static int scandir##suffix##Virtual(const char *path, struct Entry ***list, Chosen chosen, Ordered ordered) {   \
    REDIRECTED(path, NEXT(scandir##suffix)(usable, list, chosen, ordered));                                            \
  }                                                                                                                    \
  EXPORT int scandir##suffix(const char *path, struct Entry ***list, Chosen chosen, Ordered ordered) {                 \
    return luthierIsVirtualPath(path) ? scandir##suffix##Virtual(path, list, chosen, ordered)                          \
                                      : NEXT(scandir##suffix)(path, list, chosen, ordered);                            \
  }                                                                                                                    \
  EXPORT int scandirat##suffix(int folder, const char *path, struct Entry ***list, Chosen chosen, Ordered ordered) {   \
    return luthierIsVirtualPath(path) ? scandir##suffix##Virtual(path, list, chosen, ordered)                          \
                                      : NEXT(scandirat##suffix)(folder, path, list, chosen, ordered);                  \
  }

DEFINE_SCANDIR(, dirent, Select, Order)
DEFINE_SCANDIR(64, dirent64, Select64, Order64)

RARE static int chdirVirtual(const char *path) { REDIRECTED(path, NEXT(chdir)(usable)); }

EXPORT int chdir(const char *path) { return luthierIsVirtualPath(path) ? chdirVirtual(path) : NEXT(chdir)(path); }
