// A library of somebody else's that stands in front of the same functions: it counts and passes on.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/mman.h>

int otherOpens, otherMaps;

int open(const char *path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const int mode = va_arg(list, int);
  va_end(list);
  ++otherOpens;
  return ((int (*)(const char *, int, int))dlsym(RTLD_NEXT, "open"))(path, flags, mode);
}

void *mmap(void *address, size_t size, int protection, int flags, int descriptor, off_t offset) {
  ++otherMaps;
  return ((void *(*)(void *, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, "mmap"))(address, size, protection, flags,
                                                                                     descriptor, offset);
}
