// Global wave sync (GWS): barriers between the waves of a whole grid, used by cooperative launches.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>

namespace luthier::vgpu {

/// The GPU's GWS resources, each used as a barrier. A wave that arrives gets a ticket and waits until it is called.
class GlobalWaveSync {
public:
  static constexpr unsigned kResources = 64;

  /// ds_gws_init: the next barrier on `resource` is complete when `waves` waves have arrived.
  void init(unsigned resource, uint32_t waves) {
    std::lock_guard lock(mutex_);
    resources_[resource % kResources].expected = waves;
    resources_[resource % kResources].arrived = 0;
  }

  /// ds_gws_barrier: a wave arrives; the barrier after this one expects `wavesNext`. Returns the ticket to wait for.
  uint64_t arrive(unsigned resource, uint32_t wavesNext) {
    std::lock_guard lock(mutex_);
    Resource &r = resources_[resource % kResources];
    const uint64_t ticket = ticketOf(resource % kResources, r.generation);
    if (++r.arrived >= r.expected) {
      r.arrived = 0;
      r.expected = wavesNext;
      ++r.generation;
    }
    return ticket;
  }

  bool called(uint64_t ticket) {
    std::lock_guard lock(mutex_);
    const auto resource = static_cast<unsigned>(ticket % kResources);
    return ticketOf(resource, resources_[resource].generation) != ticket;
  }

private:
  struct Resource {
    uint32_t expected = 1;
    uint32_t arrived = 0;
    uint64_t generation = 0;
  };
  static uint64_t ticketOf(unsigned resource, uint64_t generation) { return generation * kResources + resource; }

  std::mutex mutex_;
  std::array<Resource, kResources> resources_;
};

} // namespace luthier::vgpu
