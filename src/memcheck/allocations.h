// What the application has allocated, to the byte.
//
// Drivers know pages; the application asked for bytes. Whoever sees its requests (hsa_allocations.h) enters them here.
// The pages at both ends of an allocation, and all pages of one that was freed, are guarded, so that a virtual GPU can
// pass on accesses to them to whoever asks `liveAround`; pages in the middle cost nothing.
//
// Pages that no allocation touches are left alone: they belong to the runtime, and the page table decides.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <shared_mutex>
#include <vector>

namespace luthier::memcheck {

/// Return addresses in the host's code, innermost first.
using HostStack = std::vector<uint64_t>;

struct Allocation {
  enum class Kind : uint8_t {
    Device,     ///< a GPU's memory
    Host,       ///< host memory that the runtime allocated
    Kernarg,    ///< the same, for kernel arguments
    Registered, ///< the application's own memory
    Managed,    ///< memory that moves
  };
  uint64_t begin = 0, size = 0;
  Kind kind = Kind::Device;
  uint64_t number = 0; ///< counts allocations, from 1
  HostStack allocatedAt, freedAt;
  bool claimed = false;      ///< the application itself asked for it, not its runtime
  bool mayBeKernarg = false; ///< Host, and of a runtime that keeps nothing but arguments beside arguments

  uint64_t end() const { return begin + size; }
  bool covers(uint64_t address, uint64_t bytes) const {
    return address >= begin && bytes <= size && address - begin <= size - bytes;
  }
};

/// Pages of which single bytes must be looked at.
class PageGuards {
public:
  static constexpr uint64_t kPageSize = 4096;
  virtual ~PageGuards() = default;
  /// All pages that [begin, begin + size) touches, until the guard is taken away.
  virtual void guard(uint64_t begin, uint64_t size) = 0;
  virtual void unguard(uint64_t begin, uint64_t size) = 0;
};

class Allocations {
public:
  explicit Allocations(PageGuards &guards) : guards_(guards) {}

  /// Takes the place of what was known of these addresses.
  void add(Allocation allocation);
  /// The allocation that begins there can no longer be accessed, and its addresses are kept from being used again until
  /// `forget` is called. False when there is none.
  bool free(uint64_t begin, HostStack freedAt);
  /// The addresses of a freed allocation may be used again. It is still remembered for messages, for a while.
  void forget(uint64_t begin);

  /// The application itself asked for what begins there.
  void claim(uint64_t begin);
  /// A kernel's arguments are there: that allocation is Kernarg from now on, if it may be.
  void useForArguments(uint64_t address);

  struct Range {
    uint64_t begin = 0, end = 0;
    Allocation::Kind kind = Allocation::Kind::Device;
    bool mayBeKernarg = false; ///< and nobody but the runtime has asked for it
  };
  /// The live allocation that has all of these bytes.
  std::optional<Range> liveAround(uint64_t address, uint64_t bytes) const;
  /// Whether one of these pages is guarded: bytes of it that are in no live allocation are not meant to be accessed.
  bool guards(uint64_t address, uint64_t bytes) const;
  /// All that is live, in ascending order; registered memory may overlap.
  std::vector<Range> ranges() const;
  /// Whether registered memory begins or ends in one of these pages: others of its bytes are not meant to be accessed.
  bool registeredNear(uint64_t address, uint64_t bytes) const;

  struct Neighbour {
    Allocation allocation;
    bool freed = false;
    enum class Where : uint8_t { Before, Inside, Behind } where = Where::Inside; ///< the first bad byte, of it
    uint64_t distance = 0; ///< bytes between the two; within: from its beginning

    /// Whether it is near enough to have been meant.
    bool isNear() const;
  };
  /// The allocation, live or freed, that the access was probably meant for: of several that are near, one that the
  /// application itself asked for.
  std::optional<Neighbour> nearest(uint64_t address, uint64_t bytes) const;

  /// By number.
  std::vector<Allocation> live() const;

  /// Changes whenever something is freed: what was found before may no longer hold.
  uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

private:
  using Map = std::multimap<uint64_t, Allocation>; ///< by first address

  bool needsGuard(uint64_t page) const;
  void updateGuards(uint64_t begin, uint64_t end);
  std::vector<Range> dropOverlapping(Map &map, uint64_t begin, uint64_t end);

  PageGuards &guards_;
  mutable std::shared_mutex mutex_;
  Map live_, registered_; ///< only the second may overlap
  Map freed_;             ///< not yet forgotten
  std::map<uint64_t, Allocation> past_;
  uint64_t nextNumber_ = 1;
  std::atomic<uint64_t> generation_{1};
};

/// Whether one of a launch's arguments, `bytes` of them at `kernarg`, is an address in `memory`, which they are in
/// themselves. From 5.7 on, HIP keeps constants of its own kernels there.
bool argumentsLeadInto(const Allocations::Range &memory, uint64_t kernarg, uint64_t bytes);

} // namespace luthier::memcheck
