// libluthier-kfd-shim.so: answers the questions that ROCm's programs ask the operating system before they ask HSA.
//
// The virtual GPU replaces libhsakmt.so.1, which is all that ROCr and HIP need. A few programs look for the kernel
// driver by themselves first and give up where there is none:
//   rocminfo 5.2.3          popen("lsmod | grep amdgpu") must print something; open("/dev/kfd", O_RDWR) must succeed
//   later rocminfo          reads "live" from /sys/module/amdgpu/initstate instead of running lsmod
//   rocm_agent_enumerator   reads the file named by ROCM_TARGET_LST (else sysfs, where a missing folder is fatal)
// `luthier run` preloads this library for virtual runs only. It changes these paths and that one command, and passes
// everything else on untouched: /dev/kfd becomes /dev/null, the two small files are made up in memory, the command
// becomes an echo. Plain C on libc alone, no constructor, no thread, no allocation: it sits in every child process too.
//
// Calls that are not covered (statx, opendir of the sysfs topology, programs without libc) see the machine as it is.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

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

enum { notMadeUp = -2 };

static int same(const char *a, const char *b) { return a && strcmp(a, b) == 0; }

static const char *device(const char *path) { return same(path, "/dev/kfd") ? "/dev/null" : path; }

static int isModuleState(const char *path) { return same(path, "/sys/module/amdgpu/initstate"); }
static int isTargetList(const char *path) { return same(path, "/proc/luthier/target.lst"); }

// For calls that only look: a made-up file looks like any regular file that surely exists.
static const char *lookedAt(const char *path) {
  return isModuleState(path) || isTargetList(path) ? "/proc/self/exe" : device(path);
}

static int fileInMemory(const char *text, int flags) {
  int fd = memfd_create("luthier", flags & O_CLOEXEC ? MFD_CLOEXEC : 0);
  if (fd < 0)
    return -1;
  // LUTHIER_VGPU_GPUS has commas where the list of targets has lines.
  for (; *text; ++text) {
    char c = *text == ',' ? '\n' : *text;
    if (write(fd, &c, 1) != 1)
      break;
  }
  if (write(fd, "\n", 1) != 1 || lseek(fd, 0, SEEK_SET) != 0) {
    close(fd);
    return -1;
  }
  return fd;
}

// A descriptor of the made-up file, -1 with errno, or notMadeUp.
static int openMadeUp(const char *path, int flags) {
  if (isModuleState(path))
    return fileInMemory("live", flags);
  if (isTargetList(path)) {
    const char *gpus = secure_getenv("LUTHIER_VGPU_GPUS");
    return fileInMemory(gpus ? gpus : "", flags);
  }
  return notMadeUp;
}

static int takesMode(int flags) { return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE; }

#define DEFINE_OPEN(name)                                                                                              \
  EXPORT int name(const char *path, int flags, ...) {                                                                  \
    mode_t mode = 0;                                                                                                   \
    if (takesMode(flags)) {                                                                                            \
      va_list list;                                                                                                    \
      va_start(list, flags);                                                                                           \
      mode = va_arg(list, mode_t);                                                                                     \
      va_end(list);                                                                                                    \
    }                                                                                                                  \
    int fd = openMadeUp(path, flags);                                                                                  \
    return fd != notMadeUp ? fd : NEXT(name)(device(path), flags, mode);                                               \
  }

#define DEFINE_OPENAT(name)                                                                                            \
  EXPORT int name(int folder, const char *path, int flags, ...) {                                                      \
    mode_t mode = 0;                                                                                                   \
    if (takesMode(flags)) {                                                                                            \
      va_list list;                                                                                                    \
      va_start(list, flags);                                                                                           \
      mode = va_arg(list, mode_t);                                                                                     \
      va_end(list);                                                                                                    \
    }                                                                                                                  \
    int fd = openMadeUp(path, flags);                                                                                  \
    return fd != notMadeUp ? fd : NEXT(name)(folder, device(path), flags, mode);                                       \
  }

#define DEFINE_FOPEN(name)                                                                                             \
  EXPORT FILE *name(const char *path, const char *mode) {                                                              \
    int fd = openMadeUp(path, mode && strchr(mode, 'e') ? O_CLOEXEC : 0);                                              \
    return fd == notMadeUp ? NEXT(name)(device(path), mode) : fd < 0 ? NULL : fdopen(fd, mode);                        \
  }

DEFINE_OPEN(open)
DEFINE_OPEN(open64)
DEFINE_OPENAT(openat)
DEFINE_OPENAT(openat64)
DEFINE_FOPEN(fopen)
DEFINE_FOPEN(fopen64)

// What open and openat become in programs compiled with _FORTIFY_SOURCE; the C library's headers do not declare them.
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);

EXPORT int __open_2(const char *path, int flags) {
  int fd = openMadeUp(path, flags);
  return fd != notMadeUp ? fd : NEXT(__open_2)(device(path), flags);
}

EXPORT int __open64_2(const char *path, int flags) {
  int fd = openMadeUp(path, flags);
  return fd != notMadeUp ? fd : NEXT(__open64_2)(device(path), flags);
}

EXPORT int access(const char *path, int mode) { return NEXT(access)(lookedAt(path), mode); }

EXPORT int faccessat(int folder, const char *path, int mode, int flags) {
  return NEXT(faccessat)(folder, lookedAt(path), mode, flags);
}

EXPORT int stat(const char *path, struct stat *result) { return NEXT(stat)(lookedAt(path), result); }

EXPORT int stat64(const char *path, struct stat64 *result) { return NEXT(stat64)(lookedAt(path), result); }

EXPORT int fstatat(int folder, const char *path, struct stat *result, int flags) {
  return NEXT(fstatat)(folder, lookedAt(path), result, flags);
}

EXPORT int fstatat64(int folder, const char *path, struct stat64 *result, int flags) {
  return NEXT(fstatat64)(folder, lookedAt(path), result, flags);
}

EXPORT FILE *popen(const char *command, const char *mode) {
  return NEXT(popen)(same(command, "lsmod | grep amdgpu") ? "echo amdgpu 0 0" : command, mode);
}
