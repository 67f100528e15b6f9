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
void __tsan_acquire(void *address); // NOLINT(bugprone-reserved-identifier)
void __tsan_release(void *address); // NOLINT(bugprone-reserved-identifier)
}
#endif

namespace luthier::vgpu {

/// What this thread did to the host's mappings is before what comes after seeMappings(of) in another. The packets that
/// make it so go through queues in guest memory, which ThreadSanitizer does not follow.
inline void publishMappings([[maybe_unused]] const void *of) {
#if defined(__has_feature) && __has_feature(thread_sanitizer)
  __tsan_release(const_cast<void *>(of));
#endif
}
inline void seeMappings([[maybe_unused]] const void *of) {
#if defined(__has_feature) && __has_feature(thread_sanitizer)
  __tsan_acquire(const_cast<void *>(of));
#endif
}

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
