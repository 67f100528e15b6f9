// Races in memory that all workgroups share.
//
// Waves are numbered; their memory operations are numbered in the order of their issue. For each line of 64 bytes it is
// kept which operation of which wave wrote it last, and which two have read it: one record as long as a wave takes a
// line as a whole, one per dword after that. Accesses are in order if they are of one wave; if a barrier of their
// workgroup is between them; if their kernels did not run at the same time; or if the wave of the second has read
// something that the wave of the first has published after it.
//
// Any store may publish. What it publishes are the operations of its wave, and of the waves that it met at barriers,
// that waits have covered by then (in_flight.h). This is written down when a wave stores and something has changed
// since it last stored. Who reads the value with an atomic operation or a load that passes the compute unit's cache
// learns it (SyncNode); what that one publishes contains it.
#pragma once

#include "vgpu/wave/race.h"

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace luthier::vgpu {

class Dispatch;

/// Operations up to which a wave is done.
struct DoneUpTo {
  uint32_t loads = 0, stores = 0;
  bool operator==(const DoneUpTo &) const = default;
};

/// What a wave has published, or learnt from others. Never changed once it is made.
struct SyncNode {
  uint32_t first = 0;         ///< wave
  uint32_t issued = 0;        ///< operations that `first` had issued
  std::vector<DoneUpTo> done; ///< of it and those behind it
  std::vector<const SyncNode *> parents;
};

/// One wave as memory sees it.
struct MemoryAgent {
  uint32_t number = 0;                       ///< 0: it is not looked at
  uint32_t groupFirst = 0, groupWaves = 0;   ///< its workgroup's
  uint32_t dispatch = 0;                     ///< number of its dispatch
  const std::vector<DoneUpTo> *visible = {}; ///< by wave of the workgroup: what is ordered before by the last barrier
  const std::vector<uint32_t> *met = {};     ///< what had been issued there
  const SyncNode *seen = nullptr;            ///< what it has learnt
  const SyncNode *valid = nullptr;           ///< the part of it that its loads see: caches were invalidated
  const SyncNode *narrow = nullptr;          ///< learnt by loads that may not see other compute units' stores
  uint64_t lastLearnt = 0;                   ///< the write whose value it has read last
  uint32_t mergeFrom = 0;                    ///< its first operation since it last met or told anybody
};

class GlobalRaces {
public:
  explicit GlobalRaces(const CheckedCode &code);
  ~GlobalRaces();

  /// A dispatch begins: number of its first wave, or 0 when there are too many to be looked at.
  struct Begun {
    uint32_t firstWave = 0, dispatch = 0;
  };
  Begun begin(const Dispatch &dispatch, uint64_t waves, uint32_t wavesPerGroup);
  void end(uint32_t dispatch);

  /// The lanes of `mask` access memory; of a scalar access there is one address.
  void access(const Wave &w, const MemoryAgent &agent, const CheckedInst &inst, uint32_t number,
              const uint64_t *addresses, uint64_t mask, Races &races);

  /// The agent's stores publish this from its operation `number` on.
  void publish(const MemoryAgent &agent, uint32_t number, const SyncNode *node);
  /// It has executed an atomic operation: whoever reads the result of a later one learns it too.
  void chain(const SyncNode *node, const uint64_t *addresses, uint64_t mask);
  /// It has read these with an atomic operation or a load that sees the stores of others. `narrow`: it may not see
  /// those of other compute units.
  void learn(MemoryAgent &agent, const uint64_t *addresses, uint64_t mask, bool narrow);

  const SyncNode *make(SyncNode node);
  /// Both together; null if neither is.
  const SyncNode *join(const SyncNode *a, const SyncNode *b);

  static constexpr uint32_t kMostInsts = (1u << 13) - 1;
  static constexpr uint32_t kMostNumber = (1u << 18) - 1; ///< operations of a wave that are told apart

private:
  struct Cell {
    uint64_t writer = 0, readers[2] = {};
  };
  struct Line;
  struct Page;
  struct Place;
  struct Running {
    uint32_t firstWave = 0, wavesPerGroup = 1;
    uint64_t waves = 0, began = 0, ended = 0; ///< in the order of such events; 0: not yet
    uint64_t kernelObject = 0;
    std::array<uint32_t, 3> groups{};
  };
  struct Told {
    uint32_t number;
    const SyncNode *node;
  };
  static constexpr size_t kShards = 64;
  struct PageShard {
    std::mutex mutex;
    std::unordered_map<uint64_t, std::unique_ptr<Page>> pages;
  };
  struct ToldShard {
    std::mutex mutex;
    std::unordered_map<uint32_t, std::vector<Told>> told; ///< by wave
  };
  struct ChainShard {
    std::mutex mutex;
    std::unordered_map<uint64_t, const SyncNode *> heads; ///< by address
  };

  Page &pageOf(uint64_t address);
  void touchLine(Place &place, Line &line, uint32_t dwords);
  static void expand(Line &line);
  void touchCells(Place &place, Line &line, uint64_t begin, uint64_t end);
  void judge(const Place &place, uint64_t past, bool pastWrites, uint64_t address);
  bool isOrdered(const Place &place, uint64_t past, bool pastWrites, MissingOrder &missing) const;
  Running runningOf(uint32_t wave) const;
  const SyncNode *toldBy(uint64_t access);

  const CheckedCode &code_;
  const uint64_t id_ = nextId_.fetch_add(1) + 1;
  static inline std::atomic<uint64_t> nextId_{0};
  std::atomic<uint32_t> generation_{1}; ///< all that was accessed in an earlier one is ordered before
  PageShard pages_[kShards];
  ToldShard told_[kShards];
  ChainShard chains_[kShards];
  std::atomic<uint64_t> chained_{0}; ///< addresses in `chains_`

  mutable std::mutex mutex_;
  std::deque<SyncNode> nodes_;
  std::vector<Running> dispatches_; ///< of this generation
  uint32_t nextWave_ = 1, active_ = 0;
  uint64_t events_ = 0;
};

} // namespace luthier::vgpu
