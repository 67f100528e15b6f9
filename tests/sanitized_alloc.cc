// ROCr's soft queues (every queue that is intercepted) ask aligned_alloc for 56 bytes aligned to 64. C says that the
// size must be a multiple of the alignment, glibc does not mind, sanitizers refuse. Programs that are built with a
// sanitizer and meet ROCr link this one instead.
#include <cstdlib>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
extern "C" [[gnu::visibility("default")]] void *aligned_alloc(size_t alignment, size_t size) {
  void *memory = nullptr;
  return posix_memalign(&memory, alignment, size) == 0 ? memory : nullptr;
}
#endif
#endif
