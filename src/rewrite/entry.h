// What must happen once, when a wave starts: values that exist only then are kept, variables in registers are cleared,
// the addresses of per-launch variables are fetched, scratch is set up.
//
// Asking the hardware for more values at the start moves those that the kernel already got; the code here moves them
// back, so that the kernel finds its registers as it expects them.
//
// What only whoever launches the kernel can know comes in a segment that stands in for the kernel's arguments: first
// the address of those, then the addresses of per-launch variables, then values of the launch. The code here fetches
// all of it and gives the kernel the address of its own arguments. Nobody reads or copies these on the host: they may
// be written after the packet was, by another kernel too, and may be where the host cannot look.
//
// Arguments that the hardware preloads into SGPRs (gfx90a, gfx940) stay preloaded where that gives the same: then the
// code starts with kPreloadSkip bytes that load them, for firmware that cannot preload and starts there. Where hooks
// need a segment in the arguments' place, or the SGPRs that they are in, the code here loads them instead.
#pragma once

#include "hook/fragment.h"
#include "object/code_object.h"
#include "rewrite/glue.h"
#include "rewrite/placement.h"
#include "rewrite/register_pool.h"
#include "rewrite/variant.h"

#include <functional>
#include <map>
#include <set>

namespace luthier::rewrite {

/// LDS of hooks. It is at the end of what a workgroup has, behind the kernel's own and what the launch adds to that; so
/// that the wave finds it by the size of its group segment, which the packet says.
struct LdsNeeds {
  std::vector<uint32_t> offsets = {};             ///< of each module's block, from where all of it begins
  uint32_t end = 0;                               ///< of the last one
  uint32_t bytes = 0;                             ///< all of it, as it is cleared
  uint32_t alignment = 1;                         ///< of where it begins
  static constexpr uint32_t kClearedAtOnce = 256; ///< by a store of 64 lanes

  /// A block of the next module.
  void add(uint32_t size, uint32_t aligned);
  /// What a group segment must have more.
  uint32_t more() const { return bytes ? bytes + alignment : 0; }
};

struct EntryNeeds {
  std::set<hook::LaunchValue> values;
  unsigned waveRegisters = 0;               ///< SGPRs for per-wave variables
  unsigned counters = 0;                    ///< of visits, each an SGPR
  unsigned launchBlocks = 0;                ///< addresses, two SGPRs each
  std::vector<unsigned> laneVariables = {}; ///< registers per lane, of each variable
  LdsNeeds lds = {};
  unsigned groupBlocks = 0; ///< addresses of the workgroup's own, two SGPRs each
  bool startLanes = false;  ///< EXEC as it is at the start
  bool scratch = false;     ///< hooks have local variables in memory
  /// That is the last so many bytes of the private segment, whose size is the launch's: behind a stack that grows.
  uint32_t frameAtEnd = 0;
};

class Entry {
public:
  /// Reserves registers for what is needed. An error names what there is no room for.
  static Result<Entry> plan(const isa::Target &target, const object::KernelDescriptor &descriptor,
                            const EntryNeeds &needs, bool blocksInSegment, RegisterPool &pool);

  ReservedSlot valueOf(hook::LaunchValue value) const { return values_.at(value); }
  ReservedSlot waveRegisters() const { return wave_; }
  ReservedSlot counter(unsigned n) const { return counters_[n]; }
  ReservedSlot launchBlock(unsigned n) const { return blocks_.from(2 * n, 2); }
  std::span<const Reg> laneVariable(unsigned n) const { return lanes_[n]; } ///< VGPRs and AccVGPRs
  ReservedSlot startLanes() const { return startLanes_; }
  ReservedSlot ldsBlock(unsigned n) const { return lds_.from(n, 1); }
  ReservedSlot groupBlock(unsigned n) const { return groups_.from(2 * n, 2); }
  ReservedSlot frame() const { return frame_; } ///< where it begins (EntryNeeds::frameAtEnd)
  uint32_t moreLds() const { return needs_.lds.more(); }
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
  void clearLanes(const Glue &glue, CodeSequence &code) const;
  using Keep = std::function<void(const ReservedSlot &, unsigned dword, Reg from)>;
  void writeLds(const Glue &glue, CodeSequence &code, const object::InitialSgprs &is, const Keep &keep) const;
  void writeFrame(const Glue &glue, CodeSequence &code, const object::InitialSgprs &is, const Keep &keep) const;
  void writeGroupBlocks(const Glue &glue, CodeSequence &code, const object::InitialSgprs &is, const Keep &keep) const;
  void writePreloading(const Glue &glue, CodeSequence &code, const object::InitialSgprs &is, uint32_t offset) const;

  const isa::Target *target_ = nullptr;
  EntryNeeds needs_;
  bool blocksInSegment_ = true;
  std::map<hook::LaunchValue, ReservedSlot> values_;
  ReservedSlot wave_, blocks_, startLanes_, lds_, groups_, frame_;
  std::vector<ReservedSlot> counters_;
  Reg ldsAddress_ = Reg::V0, ldsZero_ = Reg::V0; ///< free in this code
  std::vector<std::vector<Reg>> lanes_;
  Reg spare_ = Reg::S0; ///< of two behind those that the wave is given, free in this code; four for arguments that were
                        ///< preloaded and what belongs to workgroups
  mutable std::vector<BlockLiteral> literals_;
};

/// Whether scratch can be used behind the kernel's own, at a place that is known, and if not, why.
Result<void> canSpill(const isa::Target &target, const object::KernelDescriptor &descriptor);

} // namespace luthier::rewrite
