// What a dispatch accessed in memory, added up per instruction: little to write, whatever the program's size, and yet
// enough to tell whether another observer has seen the same accesses (support/access_sum.h).
#pragma once

#include "support/access_sum.h"
#include "vgpu/wave/operands.h"

#include <array>
#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace luthier::vgpu {

struct Observation;

/// Of one dispatch; waves add theirs when they go.
class AccessSums {
public:
  struct Row {
    const Operands *operands = nullptr; ///< the dispatch's
    AccessSum sum;
  };
  /// Address of the instruction; whether it is the second of its accesses.
  using Key = std::pair<uint64_t, bool>;

  void merge(const Key &key, const Row &row);
  /// A line each (format: docs/virtual-gpu.md, "Sums of accesses"), into the trace. What is written is gone from here.
  void write(const Observation &observation);

private:
  std::mutex mutex_;
  std::map<Key, Row> rows_;
};

/// Adds up the accesses of one wave. Programs with tens of millions of them are watched, so most instructions must take
/// no more than a look into a small table.
class WaveAccessSums {
public:
  explicit WaveAccessSums(Observation &observation) : observation_(observation) {}
  ~WaveAccessSums();
  void before(const Wave &w, const Inst *inst);
  void after();

private:
  struct Known {
    uint64_t pc = 0;
    const Operands *operands = nullptr;
    AccessSum first, second;
  };
  Known &know(const Wave &w, const Inst *inst);

  Observation &observation_;
  Known *current_ = nullptr; ///< the instruction being executed
  Addresses addresses_;
  uint64_t mask_ = 0;
  std::unordered_map<const Inst *, Known> known_;
  struct Recent {
    const Inst *inst = nullptr;
    Known *known = nullptr;
  };
  std::array<Recent, 512> recent_; ///< by address of the instruction
};

} // namespace luthier::vgpu
