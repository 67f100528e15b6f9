// One run of Rewriter::rewrite(), step by step: looks at what is asked for, plans the entry, writes the functions with
// the hooks in them, and says what the new kernel needs (variant_finish.cc).
#pragma once

#include "rewrite/entry.h"
#include "rewrite/function_writer.h"
#include "rewrite/rewriter_impl.h"

namespace luthier::rewrite {

class VariantBuilder {
public:
  /// `refused`: reasons why insertions are not to be tried, by number; empty for the others. `scalarMemory`: scalar
  /// values may be kept in scratch, which costs something everywhere.
  VariantBuilder(Rewriter::Impl &rewriter, const object::Symbol &kernel, std::span<const Insertion> insertions,
                 const std::vector<std::string> &refused, bool scalarMemory)
      : rewriter_(rewriter), object_(rewriter.object), target_(object_.target()), kernel_(kernel),
        insertions_(insertions), refused_(refused), scalarMemory_(scalarMemory) {}

  Result<Rewrite> build();
  /// When built: something was missing that memory would have been good for.
  bool wantsScalarMemory() const;

private:
  Result<void> prepareAssembly(uint32_t insertion);
  Result<void> prepareInsertions();
  bool canKeepScalars() const;
  void placeFrames();
  Result<ResolvedArgument> resolveOne(const Insertion &insertion, size_t argument, const Instr &instr) const;
  EntryNeeds entryNeeds();
  Result<void> planEntry();
  Result<void> bind(uint32_t insertion, const Instr &at, Site &site);
  /// `at`: the place; null for the one copy of a hook that many places call.
  void relocate(uint32_t insertion, const Instr *at, int64_t behind);
  bool asksFor(uint32_t insertion, hook::Port::Kind kind) const;
  Result<void> checkSampling(const Insertion &insertion) const;
  Result<void> checkPredicate(const Insertion &insertion, const hook::Hook &hook) const;
  using CounterKey = std::tuple<const hook::HookModule *, uint32_t /* every */, bool /* shared */, uint32_t>;
  CounterKey counterKey(uint32_t insertion) const;
  /// Gives the place its own copy of a PerSite variable: where that is in the array.
  uint64_t addCopy(uint32_t variable, uint32_t insertion, const Instr &at);
  /// Whether a hook needs what only whoever launches the kernel can know.
  bool needsRuntime(uint32_t insertion) const;
  Result<void> writeFunctions(Layout &layout, Placer &placer);
  /// Chooses the hooks that are called, which the context then has (variant_shared.cc).
  void shareHooks(VariantContext &context, const std::vector<const analysis::Liveness *> &liveness);
  void writeSharedHooks(VariantContext &context);
  Result<void> finish(Layout &layout);
  uint32_t variableNumber(const std::shared_ptr<const hook::HookModule> &module, uint32_t variable);
  RegSet touched() const;
  RegSet guestReads(uint32_t insertion) const;
  Resources resources(const object::KernelDescriptor &descriptor, const RegisterPool::Counts &counts,
                      uint64_t code) const;

  Rewriter::Impl &rewriter_;
  const object::CodeObject &object_;
  const isa::Target &target_;
  const object::Symbol &kernel_;
  std::span<const Insertion> insertions_;
  const std::vector<std::string> &refused_;
  const bool scalarMemory_;

  /// What an insertion needs to be turned into code.
  struct Prepared {
    const PreparedFragment *fragment = nullptr;
    const AssemblyCode *assembly = nullptr; ///< that the fragment is; null: a hook's
    std::vector<ResolvedArgument> arguments;
  };

  Rewrite result_;
  std::vector<const analysis::Function *> functions_;
  std::vector<FunctionPoints> points_;
  std::vector<Prepared> prepared_;
  analysis::Allocation allocation_;
  object::KernelDescriptor descriptor_;
  object::KernelMetadata metadata_;
  Rewriter::Impl::PerWaveSize *tools_ = nullptr;
  std::optional<RegisterPool> pool_;
  std::optional<Entry> entry_;
  SpillArea spill_;
  bool calls_ = false, open_ = false;
  bool lack_ = false; ///< the entry found no registers for something
  std::deque<SharedPlace> shared_;
  using Modules = std::vector<std::shared_ptr<const hook::HookModule>>;
  Modules blockModules_, ldsModules_, groupModules_; ///< with variables per launch, in LDS, per workgroup
  std::map<std::pair<const hook::HookModule *, uint32_t>, uint32_t> waveOffsets_; ///< of per-wave variables, in dwords
  std::map<std::pair<const hook::HookModule *, uint32_t>, uint32_t> laneNumbers_; ///< of per-lane ones, in the entry
  std::map<CounterKey, uint32_t> counters_;                                       ///< of visits, in the entry
  Layout *layout_ = nullptr;
  std::vector<Layout::Place> deallocations_; ///< of vector registers, and of scratch
  std::optional<Neighbours> start_;          ///< of the kernel's own code, which comes behind the entry
};

} // namespace luthier::rewrite
