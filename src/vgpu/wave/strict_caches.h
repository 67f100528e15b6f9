// Caches that keep what they have read until somebody invalidates them (strict_resources.h).
//
// Memory is one and the same for everybody here, so code that should invalidate a cache and does not works by accident.
// These caches have one thing of real ones: a line that was read stays as it was read. Stores reach memory at once, and
// drop the line from the cache that they go through, of the compute unit that stores: what a unit has written itself,
// it sees. (Hardware writes through the vector L1, write-combining; of the scalar cache's write-back nothing is
// modelled.)
//
//   scalar cache  filled by scalar loads; emptied by s_dcache_inv. It sees no vector store, not even its own wave's.
//   vector L1     its own switch. Filled by vector loads of global memory without glc; emptied by buffer_wbinvl1 and
//                 _vol. Loads with glc miss and evict (manual, 9.1.10); atomics are done in L2 and evict. RDNA's is
//                 called L0, buffer_gl0_inv empties it; the L1 behind it, which compute units share, is not modelled.
//                 On gfx12, a scope beyond the compute unit has the place of glc, and global_inv empties.
//
// Both start empty with each dispatch: the acquire of a packet invalidates them. Chosen: each compute unit has a scalar
// cache of its own (on hardware two may share one), lines have 64 bytes, and a cache holds as much as it likes up to
// kMostLines, where it starts anew. Not cached: loads that convert formats, swizzled buffers and scratch (private to a
// lane), loads straight to LDS.
#pragma once

#include "vgpu/wave/operands.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace luthier::vgpu {

class Dispatch;

/// One cache.
class StaleCache {
public:
  static constexpr uint64_t kLineBytes = 64;
  static constexpr size_t kMostLines = 4096;

  /// The bytes at `address` as the cache has them. The wave must be allowed to access them.
  void read(Wave &w, uint64_t address, uint64_t size, uint8_t *to);
  void drop(uint64_t address, uint64_t size);
  void invalidate();

private:
  struct Line {
    uint8_t bytes[kLineBytes];
  };
  std::mutex mutex_;
  std::unordered_map<uint64_t, Line> lines_; ///< by number
};

/// All caches of a dispatch.
class StrictCaches {
public:
  StrictCaches(const Dispatch &dispatch, bool vectorL1);

  StaleCache &scalar(const Wave &w) { return units_[unitOf(w)].scalar; }
  /// Null: there is none.
  StaleCache *vector(const Wave &w) { return vectorL1_ ? &units_[unitOf(w)].vector : nullptr; }

private:
  struct Unit {
    StaleCache scalar, vector;
  };
  size_t unitOf(const Wave &w) const;

  bool vectorL1_;
  std::array<uint32_t, 3> groups_;
  std::vector<Unit> units_;
};

/// The caches as one wave sees them: lets each load execute, and puts what the cache has in place of what it loaded.
class WaveCaches {
public:
  explicit WaveCaches(StrictCaches &caches) : caches_(caches) {}

  void enter(Wave &w, const OperandCache::Known &operands);
  void leave(Wave &w, const Inst *inst, const Operands &operands);
  /// Dwords that were not what memory has.
  uint64_t stale() const { return stale_; }

private:
  void enterScalar(Wave &w, const Operands &operands);
  void enterVector(Wave &w, const Operands &operands);
  void leaveScalar(Wave &w, const Inst *inst, const Operands &operands);
  void leaveVector(Wave &w, const Inst *inst, const Operands &operands, StaleCache &cache);

  StrictCaches &caches_;
  CacheUse use_ = CacheUse::None; ///< of the instruction
  Addresses addresses_;
  uint64_t lanes_ = 0;  ///< that access memory
  unsigned inside_ = 0; ///< scalar: dwords that are not out of a buffer's bounds
  uint64_t stale_ = 0;
};

} // namespace luthier::vgpu
