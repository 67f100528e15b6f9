/* libluthier-check.so: tells whoever checks memory, the virtual driver or the tool with hooks, which memory the
 * application itself has asked HIP for.
 *
 * HIP allocates for its own purposes too, through the same functions of ROCr, and never frees that; and it does not
 * tell ROCr when managed memory is freed. Only HIP's own functions know. `luthier check` preloads this library, and
 * nothing else does: in other runs nothing stands in front of HIP. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

/* HIP's function behind ours. A program may have loaded HIP where RTLD_NEXT does not look. */
static void *next(const char *name) {
  static const char *const libraries[] = {"libamdhip64.so.5", "libamdhip64.so.6", "libamdhip64.so.7", "libamdhip64.so"};
  void *function = dlsym(RTLD_NEXT, name);
  for (size_t n = 0; !function && n < sizeof(libraries) / sizeof(*libraries); ++n) {
    void *library = dlopen(libraries[n], RTLD_LAZY | RTLD_NOLOAD);
    function = library ? dlsym(library, name) : NULL;
  }
  if (!function) {
    fprintf(stderr, "luthier: %s was called, but HIP (libamdhip64.so) is not loaded\n", name);
    abort();
  }
  return function;
}

/* Neither is there as long as nothing has used a GPU; the driver may be there and check nothing. */
static void tell(const char *name, void *memory) {
  static const char *const libraries[] = {"libluthier-vgpu-driver.so", "libluthier-memory-check.so"};
  for (size_t n = 0; memory && n < sizeof(libraries) / sizeof(*libraries); ++n) {
    void *library = dlopen(libraries[n], RTLD_LAZY | RTLD_NOLOAD);
    if (!library)
      continue;
    void (*function)(void *) = (void (*)(void *))dlsym(library, name);
    if (function)
      function(memory);
    dlclose(library);
  }
}

/* hipError_t is an int, of which 0 is success. */
#define ALLOCATES(name, parameters, arguments)                                                                         \
  EXPORT int name parameters {                                                                                         \
    static int(*function) parameters;                                                                                  \
    if (!function)                                                                                                     \
      function = (int(*) parameters)next(#name);                                                                       \
    const int status = function arguments;                                                                             \
    if (status == 0 && memory)                                                                                         \
      tell("luthierCheckClaim", *memory);                                                                              \
    return status;                                                                                                     \
  }

ALLOCATES(hipMalloc, (void **memory, size_t size), (memory, size))
ALLOCATES(hipExtMallocWithFlags, (void **memory, size_t size, unsigned flags), (memory, size, flags))
ALLOCATES(hipHostMalloc, (void **memory, size_t size, unsigned flags), (memory, size, flags))
ALLOCATES(hipHostAlloc, (void **memory, size_t size, unsigned flags), (memory, size, flags))
ALLOCATES(hipMallocHost, (void **memory, size_t size), (memory, size))
ALLOCATES(hipMemAllocHost, (void **memory, size_t size), (memory, size))
ALLOCATES(hipMallocManaged, (void **memory, size_t size, unsigned flags), (memory, size, flags))
ALLOCATES(hipMallocPitch, (void **memory, size_t *pitch, size_t width, size_t height), (memory, pitch, width, height))
ALLOCATES(hipMemAllocPitch, (void **memory, size_t *pitch, size_t width, size_t height, unsigned element),
          (memory, pitch, width, height, element))

EXPORT int hipFree(void *memory) {
  static int (*function)(void *);
  if (!function)
    function = (int (*)(void *))next("hipFree");
  const int status = function(memory);
  if (status == 0)
    tell("luthierCheckFreed", memory);
  return status;
}
