// What a check knows of the application's memory while it runs: its allocations, those that HIP was asked for by the
// application itself, and freed memory that is kept from being used again, so that late accesses are recognised.
#pragma once

#include "memcheck/allocations.h"

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace luthier::memcheck {

/// Thread-safe.
class ApplicationMemory {
public:
  static constexpr uint64_t kDefaultQuarantine = 256; ///< MiB

  /// LUTHIER_CHECK_QUARANTINE says how much freed memory is kept.
  explicit ApplicationMemory(PageGuards &guards);

  // Set once, before anything is allocated; all but the first may be left empty.

  /// Whether what ROCr has just allocated there is a GPU's memory.
  std::function<bool(uint64_t begin)> isDevice;
  /// A GPU's memory has got a new owner, and nobody has written it yet.
  std::function<void(uint64_t begin, uint64_t size)> onUndefined;
  /// Freed memory is given back: whoever has it next may write it unseen.
  std::function<void(uint64_t begin, uint64_t size)> onGivenBack;
  /// The host has written `size` bytes at `to` itself, from `from`.
  std::function<void(uint64_t to, uint64_t from, uint64_t size)> onCopied;

  Allocations &allocations() { return allocations_; }
  const Allocations &allocations() const { return allocations_; }

  // What the application does.

  void allocated(uint64_t begin, uint64_t size);
  void registered(uint64_t host, uint64_t begin, uint64_t size);
  void unregistered(uint64_t host);
  /// Memory that hipMallocManaged has got from the host.
  void managed(uint64_t begin, uint64_t size);
  /// The application itself asked for what begins there.
  void claimed(uint64_t begin);
  /// hipFree has returned: ROCr does not hear of managed memory.
  void freedByHip(uint64_t begin);

  enum class Freed : uint8_t {
    Kept,    ///< nobody may access it; it is given back later, by `release`
    Again,   ///< it was freed before
    Unknown, ///< none of ours
  };
  Freed freed(uint64_t begin);
  /// Addresses that may be given back to the runtime now: the oldest, so that no more than the quarantine holds are
  /// kept. `all`: memory is short.
  std::vector<uint64_t> release(bool all);

  /// ROCr has handed over its table: sizes are known.
  void tableSeen() { tableSeen_ = true; }
  bool sizesKnown() const { return tableSeen_; }

private:
  Allocations allocations_;
  uint64_t quarantineBytes_;
  std::atomic<bool> tableSeen_{false};
  std::mutex mutex_;
  std::map<uint64_t, uint64_t> registered_;              ///< GPU's addresses by the host's
  std::deque<std::pair<uint64_t, uint64_t>> quarantine_; ///< addresses and sizes, oldest first
  uint64_t quarantined_ = 0;                             ///< bytes
};

} // namespace luthier::memcheck
