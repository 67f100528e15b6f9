// What must happen once, when a wave starts: values that exist only then are kept, per-wave variables are cleared, the
// addresses of per-launch variables are fetched, scratch is set up.
//
// Asking the hardware for more values at the start moves those that the kernel already got; the code here moves them
// back, so that the kernel finds its registers as it expects them.
#pragma once

#include "hook/fragment.h"
#include "object/code_object.h"
#include "rewrite/glue.h"
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
                            uint32_t kernargBytes, const EntryNeeds &needs, bool blocksInArguments, RegisterPool &pool);

  Home valueOf(hook::LaunchValue value) const { return values_.at(value); }
  Home waveRegisters() const { return wave_; }
  Home launchBlock(unsigned n) const { return blocks_.from(2 * n, 2); }
  uint32_t launchBlockOffset() const { return blockOffset_; }
  std::vector<LaunchArgument> launchArguments() const; ///< behind the blocks

  /// The code, and what changes in the descriptor for it. `spill`: scratch is used by what was inserted.
  Result<CodeSequence> write(const Glue &glue, object::KernelDescriptor &descriptor, bool spill) const;
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
  bool blocksInArguments_ = true;
  std::map<hook::LaunchValue, Home> values_;
  Home wave_, blocks_;
  uint32_t blockOffset_ = 0;
  mutable std::vector<BlockLiteral> literals_;
};

/// Whether scratch can be used on this target by a kernel that had none, and if not, why.
Result<void> canSpill(const isa::Target &target, const object::KernelDescriptor &descriptor);

} // namespace luthier::rewrite
