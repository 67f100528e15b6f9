// What must happen once, when a wave starts: values that exist only then are kept, per-wave variables are cleared, the
// addresses of per-launch variables are fetched, scratch is set up.
//
// Asking the hardware for more values at the start moves those that the kernel already got; the code here moves them
// back, so that the kernel finds its registers as it expects them.
//
// What only whoever launches the kernel can know comes in a segment that stands in for the kernel's arguments: first
// the address of those, then the addresses of per-launch variables, then values of the launch. The code here fetches
// all of it and gives the kernel the address of its own arguments. Nobody reads or copies these on the host: they may
// be written after the packet was, by another kernel too, and may be where the host cannot look.
#pragma once

#include "hook/fragment.h"
#include "object/code_object.h"
#include "rewrite/glue.h"
#include "rewrite/placement.h"
#include "rewrite/register_pool.h"
#include "rewrite/variant.h"

#include <map>
#include <set>

namespace luthier::rewrite {

struct EntryNeeds {
  std::set<hook::LaunchValue> values;
  unsigned waveRegisters = 0; ///< SGPRs for per-wave variables
  unsigned launchBlocks = 0;  ///< addresses, two SGPRs each
};

class Entry {
public:
  /// Reserves registers for what is needed. An error names what there is no room for.
  static Result<Entry> plan(const isa::Target &target, const object::KernelDescriptor &descriptor,
                            const EntryNeeds &needs, bool blocksInSegment, RegisterPool &pool);

  Home valueOf(hook::LaunchValue value) const { return values_.at(value); }
  Home waveRegisters() const { return wave_; }
  Home launchBlock(unsigned n) const { return blocks_.from(2 * n, 2); }
  LaunchSegment segment() const;

  /// Whether the code writes FLAT_SCRATCH.
  bool setsFlatScratch(bool spill) const;
  /// The code, and what changes in the descriptor for it. `spill`: scratch is used by what was inserted.
  Result<CodeSequence> write(const Glue &glue, object::KernelDescriptor &descriptor, bool spill,
                             const SpillArea &area) const;
  /// Literals of the code that are halves of launch blocks' addresses: offset of the literal, number of the block,
  /// upper half or not.
  struct BlockLiteral {
    size_t offset;
    unsigned block;
    bool high;
  };
  const std::vector<BlockLiteral> &blockLiterals() const { return literals_; }

private:
  Result<object::KernelDescriptor> extended(const object::KernelDescriptor &descriptor, bool spill) const;

  const isa::Target *target_ = nullptr;
  EntryNeeds needs_;
  bool blocksInSegment_ = true;
  std::map<hook::LaunchValue, Home> values_;
  Home wave_, blocks_;
  Reg spare_ = Reg::S0; ///< of two behind those that the wave is given: free in this code
  mutable std::vector<BlockLiteral> literals_;
};

/// Whether scratch can be used on this target by a kernel that had none, and if not, why.
Result<void> canSpill(const isa::Target &target, const object::KernelDescriptor &descriptor);

} // namespace luthier::rewrite
