// What a dispatch accessed in memory, added up per instruction: little to write, whatever the program's size, and yet
// enough to tell whether another observer has seen the same accesses (support/access_sum.h).
#pragma once

#include "support/access_sum.h"
#include "vgpu/wave/operands.h"

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
  /// A line each (format: docs/virtual-gpu.md, "Sums of accesses"), into the trace.
  void write(const Observation &observation) const;

private:
  std::mutex mutex_;
  std::map<Key, Row> rows_;
};

/// Adds up the accesses of one wave.
class WaveAccessSums {
public:
  explicit WaveAccessSums(AccessSums &sums) : sums_(sums) {}
  ~WaveAccessSums();
  void before(const Wave &w, const Operands &operands);
  void after(const Wave &w, const Inst *inst, const Operands &operands);

private:
  struct Rows {
    uint64_t pc = 0;
    AccessSums::Row first, second;
  };
  AccessSums &sums_;
  Addresses addresses_; ///< of the instruction being executed
  uint64_t mask_ = 0;
  std::unordered_map<const Inst *, Rows> rows_;
};

} // namespace luthier::vgpu
