// Part of libluthier-vgpu.so: host threads that wait for the virtual GPU leave the processor to it.
//
// HIP waits for every kernel with HSA_WAIT_STATE_ACTIVE: a loop without end that keeps a core busy, for the shortest
// delay. The virtual GPU's waves run on those same cores, so the waiting slows down what is waited for: by a third with
// one program on two cores. The state is a hint, and here it is better to block; ROCr still looks at the signal for a
// while (200 us) before it does, so that short kernels do not notice.
//
// Only calls between libraries can be reached in this way. That covers HIP; ROCr's own waits inside are its own.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <hsa/hsa.h>
#include <stdio.h>
#include <stdlib.h>

static void *needed(const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  if (found)
    return found;
  // The application may have opened ROCr where RTLD_NEXT does not look.
  void *rocr = dlopen("libhsa-runtime64.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (rocr) {
    found = dlsym(rocr, name);
    dlclose(rocr);
  }
  if (!found) {
    fprintf(stderr, "luthier: %s was called, but ROCr (libhsa-runtime64.so.1) is not loaded\n", name);
    abort();
  }
  return found;
}

#define DEFINE_WAIT(name)                                                                                              \
  __attribute__((visibility("default"))) hsa_signal_value_t name(                                                      \
      hsa_signal_t signal, hsa_signal_condition_t condition, hsa_signal_value_t value, uint64_t timeout,               \
      hsa_wait_state_t state) {                                                                                        \
    (void)state;                                                                                                       \
    static __typeof__(&name) next;                                                                                     \
    __typeof__(&name) found = __atomic_load_n(&next, __ATOMIC_RELAXED);                                                \
    if (!found) {                                                                                                      \
      found = (__typeof__(&name))needed(#name);                                                                        \
      __atomic_store_n(&next, found, __ATOMIC_RELAXED);                                                                \
    }                                                                                                                  \
    return found(signal, condition, value, timeout, HSA_WAIT_STATE_BLOCKED);                                           \
  }

DEFINE_WAIT(hsa_signal_wait_scacquire)
DEFINE_WAIT(hsa_signal_wait_relaxed)
