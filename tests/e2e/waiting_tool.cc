// A subscriber whose callbacks call HIP and wait for the GPU: LUTHIER_TEST_WAIT says where (packets, completions) and
// how (memcpy, stream, device). Prints how often it did.
#include "hsa/interceptor.h"
#include "hsa/queue_interception.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include <dlfcn.h>

namespace hsa = luthier::hsa;

namespace {

std::atomic<unsigned> waits = 0;
std::atomic<bool> ended = false;

template <class Function> Function hip(const char *name) {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

/// Callbacks that HIP's calls bring about do not call HIP themselves.
thread_local bool inside = false;

void wait(const std::string &how) {
  if (ended || std::exchange(inside, true))
    return;
  int status = 0;
  if (how == "memcpy") {
    void *memory = nullptr;
    unsigned value = 0;
    status = hip<int (*)(void **, size_t)>("hipMalloc")(&memory, sizeof value);
    if (status == 0)
      status = hip<int (*)(void *, const void *, size_t, int)>("hipMemcpy")(&value, memory, sizeof value, 2);
    if (status == 0)
      status = hip<int (*)(void *)>("hipFree")(memory); // which waits, too
  } else if (how == "stream")
    status = hip<int (*)(void *)>("hipStreamSynchronize")(nullptr);
  else
    status = hip<int (*)()>("hipDeviceSynchronize")();
  if (status != 0)
    fprintf(stderr, "HIP failed in a callback: %d\n", status);
  ++waits;
  inside = false;
}

} // namespace

extern "C" [[gnu::visibility("default")]] bool OnLoad(HsaApiTable *table, uint64_t, uint64_t, const char *const *) {
  const char *text = getenv("LUTHIER_TEST_WAIT");
  const std::string where = text ? text : "";
  const std::string how = where.substr(where.find(' ') + 1);
  hsa::Interceptor &interceptor = hsa::Interceptor::instance();
  if (where.starts_with("packets")) {
    interceptor.packets().subscribe([=](hsa::PacketBatch &) { wait(how); }).keep();
    interceptor.heldWorks().noteBlockingCallbacks(true);
  } else
    interceptor.events().kernelCompleted.subscribe([=](const hsa::KernelCompletion &) { wait(how); }).keep();
  atexit([] {
    ended = true; // HIP is about to go
    hsa::Interceptor::instance().queues().drainCompletions();
    printf("waited %s\n", waits > 0 ? "in callbacks" : "never");
  });
  return interceptor.install(table).has_value();
}

extern "C" [[gnu::visibility("default")]] void OnUnload() { hsa::Interceptor::instance().uninstall(); }
