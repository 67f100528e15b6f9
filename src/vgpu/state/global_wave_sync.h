// Global wave sync (GWS): barriers and semaphores between the waves of a whole grid, used by cooperative launches.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>

namespace luthier::vgpu {

/// The GPU's GWS resources. As in the manual (12.12), a resource is one counter, which barriers count down and
/// semaphores count both ways. A wave that has to wait gets a ticket and asks with it until it is called.
class GlobalWaveSync {
public:
  static constexpr unsigned kResources = 64;

  /// ds_gws_init: the next barrier on `resource` is complete when `value` waves and one more have arrived; or, a
  /// semaphore that `value` waves may pass.
  void init(unsigned resource, uint32_t value) {
    std::lock_guard lock(mutex_);
    resources_[resource % kResources].counter = value;
  }

  /// ds_gws_barrier: a wave arrives; the barrier after this one has the counter `next`. Returns the ticket to wait
  /// with.
  uint64_t arrive(unsigned resource, uint32_t next) {
    std::lock_guard lock(mutex_);
    Resource &r = resources_[resource % kResources];
    const uint64_t ticket = ticketOf(resource, r.barriers);
    if (r.counter == 0) {
      r.counter = next;
      ++r.barriers;
    } else {
      --r.counter;
    }
    return ticket;
  }

  /// ds_gws_sema_v and ds_gws_sema_br: `count` more waves may pass.
  void release(unsigned resource, uint32_t count) {
    std::lock_guard lock(mutex_);
    resources_[resource % kResources].counter += count;
  }

  /// ds_gws_sema_release_all: all that wait now may pass, and none that comes later.
  void releaseAll(unsigned resource) {
    std::lock_guard lock(mutex_);
    ++resources_[resource % kResources].releases;
  }

  /// ds_gws_sema_p: the ticket to wait with. There is no queue that a wave which ends early would stay in: whoever asks
  /// first while the counter allows it, passes.
  uint64_t acquire(unsigned resource) {
    std::lock_guard lock(mutex_);
    return ticketOf(resource, resources_[resource % kResources].releases) | kSemaphore;
  }

  /// Whether the wave may go on. Yes is said once: it takes what it is about from the semaphore.
  bool called(uint64_t ticket) {
    std::lock_guard lock(mutex_);
    const auto resource = static_cast<unsigned>(ticket % kResources);
    Resource &r = resources_[resource];
    if (!(ticket & kSemaphore))
      return ticketOf(resource, r.barriers) != ticket;
    if ((ticketOf(resource, r.releases) | kSemaphore) != ticket)
      return true;
    if (r.counter == 0)
      return false;
    --r.counter;
    return true;
  }

private:
  struct Resource {
    uint32_t counter = 0;
    uint64_t barriers = 0; ///< completed so far
    uint64_t releases = 0; ///< ds_gws_sema_release_all so far
  };
  static constexpr uint64_t kSemaphore = 1ull << 63;
  static uint64_t ticketOf(unsigned resource, uint64_t generation) {
    return (generation * kResources + resource % kResources) & ~kSemaphore;
  }

  std::mutex mutex_;
  std::array<Resource, kResources> resources_;
};

} // namespace luthier::vgpu
