// How ThreadSanitizer tells guest data from the virtual GPU's own.
//
// Kernels race with each other and with the host, by mistake or by design, and what orders their accesses with the
// application's passes through ROCr, which is not built for ThreadSanitizer. So the few functions that touch guest data
// are not watched; everything else in the virtual GPU is.
#pragma once

/// For functions that access guest data themselves. What they call is watched, memcpy of more than a few bytes
/// included.
#define LUTHIER_GUEST_ACCESS __attribute__((no_sanitize("thread")))

#if defined(__has_feature) && __has_feature(thread_sanitizer)
extern "C" {
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
}
#endif

namespace luthier::vgpu {

/// While one lives, its thread accesses guest data, in whatever it calls.
class GuestCopy {
public:
#if defined(__has_feature) && __has_feature(thread_sanitizer)
  GuestCopy() {
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  }
  ~GuestCopy() {
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  }
#else
  GuestCopy() = default;
  ~GuestCopy() {} // not trivial: a guard that is not used otherwise
#endif
  GuestCopy(const GuestCopy &) = delete;
  GuestCopy &operator=(const GuestCopy &) = delete;
};

} // namespace luthier::vgpu
