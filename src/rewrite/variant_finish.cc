// The end of a rewriting: entry and code in one piece, and descriptor and metadata that say what it needs.
#include "analysis/seam_hazards.h"
#include "rewrite/testing.h"
#include "rewrite/variant_builder.h"

#include <algorithm>

namespace luthier::rewrite {

Resources VariantBuilder::resources(const object::KernelDescriptor &descriptor, const RegisterPool::Counts &counts,
                                    uint64_t code) const {
  const isa::ResourceUse use{.waveSize = descriptor.waveSize(target_),
                             .vgprs = counts.vgprs,
                             .accVgprs = counts.accVgprs,
                             .sgprs = std::min<unsigned>(descriptor.sgprs(target_), target_.sgprs), // without rounding
                             // What hooks have more depends on the launch (runtime/launcher.cc).
                             .ldsBytes = descriptor_.groupSegmentSize,
                             .workgroupSize = 0};
  return {.sgprs = descriptor.sgprs(target_),
          .vgprs = descriptor.vgprs(target_),
          .accVgprs = counts.accVgprs,
          .scratch = descriptor.privateSegmentSize,
          .lds = descriptor.groupSegmentSize,
          .kernarg = descriptor.kernargSize,
          .codeBytes = code,
          .wavesPerSimd = isa::occupancy(target_, use).wavesPerSimd,
          .registers = use};
}

Result<void> VariantBuilder::finish(Layout &body) {
  Variant &variant = result_.variant;
  const bool spills = spill_.slots != 0 || spill_.scalarsUsed || spill_.frameUsed || pool_->usesMemory();
  object::KernelDescriptor descriptor = descriptor_;
  CodeSequence entry = LUTHIER_TRY(entry_->write(*tools_->glue, descriptor, spills, spill_));
  tools_->glue->nops(entry, start_->missingBefore(entry.instrs()));
  if (entry.size())
    tools_->glue->cure(entry, analysis::seamCures(target_, tools_->glue->waveSize(), entry.instrs(), {}, {}).behind,
                       Reg::V0);
  if (entry_->setsFlatScratch(spills) && target_.scalarFlatScratch)
    pool_->use({Reg::FlatScrLo, 2});
  // A wave that gives its scratch back must not have stores to it on their way. It can do without: it ends anyway.
  CodeSequence nop;
  tools_->glue->nops(nop, 1);
  for (const Layout::Place place : deallocations_)
    if (spills)
      body.replace(place, nop.bytes());
  const uint32_t forbidden = target_.seamHazards & isa::setOf({isa::SeamHazard::Offset3f}) ? 0x3f : 0;
  Layout::Result laid = LUTHIER_TRY(body.finish(target_.branchWord, Layout::kReach, forbidden));

  const uint64_t shift = entry.size();
  variant.code.assign(entry.bytes().begin(), entry.bytes().end());
  variant.code.insert(variant.code.end(), laid.code.begin(), laid.code.end());
  if (shift)
    variant.ranges.push_back({CodeRange::Kind::Entry, 0, shift, kernel_.address, UINT32_MAX});
  for (CodeRange range : laid.ranges) {
    range.offset += shift;
    variant.ranges.push_back(range);
  }
  for (const Entry::BlockLiteral &literal : entry_->blockLiterals())
    variant.relocations.push_back(
        {.offset = literal.offset,
         .high = literal.high,
         .base = CodeRelocation::Base::Variable,
         .variable = variableNumber(blockModules_[literal.block], UsedVariable::kLaunchBlock)});
  for (CodeRelocation relocation : laid.relocations) {
    relocation.offset += shift;
    variant.relocations.push_back(relocation);
  }
  for (size_t n = 0; n < variant.functions.size(); ++n) {
    NewFunction &function = variant.functions[n];
    const uint64_t begin = n ? laid.labels[function.offset] + shift : 0;
    function.offset = begin;
    if (n)
      variant.functions[n - 1].size = begin - variant.functions[n - 1].offset;
  }
  variant.functions.back().size = variant.code.size() - variant.functions.back().offset;

  // Resources: the descriptor and the note say the same.
  const RegisterPool::Counts counts = pool_->counts();
  // VCC, XNACK_MASK and FLAT_SCRATCH are the last of a wave's SGPRs. A kernel that did not use one of them may have its
  // own registers there.
  const uint32_t trailing = target_.countsSgprs() && counts.sgprs > pool_->original().sgprs ? target_.trailingSgprs
                            : plantedFault() == Fault::Sgprs                                ? 0
                                                                                            : counts.trailing;
  const uint32_t sgprs = trailing ? counts.sgprs + trailing : 0;
  LUTHIER_TRY(descriptor.setSgprs(target_, std::max(descriptor_.sgprs(target_), sgprs)));
  uint32_t vgprs = descriptor_.vgprs(target_); // of both kinds where they share a file
  if (!target_.unifiedVgprs)
    vgprs = std::max({vgprs, counts.vgprs, counts.accVgprs});
  else if (counts.vgprs > allocation_.vgprs || counts.accVgprs > allocation_.accVgprs) {
    const uint32_t offset = (counts.vgprs + isa::kAccumOffsetGranule - 1) & ~(isa::kAccumOffsetGranule - 1);
    LUTHIER_TRY(descriptor.setAccumOffset(std::max(offset, descriptor_.accumOffset())));
    vgprs = std::max(vgprs, descriptor.accumOffset() + counts.accVgprs);
  }
  LUTHIER_TRY(descriptor.setVgprs(target_, vgprs));
  if (spills)
    descriptor.privateSegmentSize = spill_.base + spill_.slots * 4;
  if (rewriter_.blocks == LaunchBlocks::Segment)
    variant.launchBlocks = blockModules_;
  variant.groupBlocks = groupModules_;
  descriptor.groupSegmentSize += entry_->moreLds();
  variant.segment = entry_->segment();
  descriptor.setPrefetchedBytes(target_, variant.code.size());
  if (plantedFault() == Fault::Descriptor)
    descriptor = descriptor_;
  variant.descriptor = descriptor;
  variant.metadata = metadata_;
  variant.metadata.privateSegmentFixedSize = descriptor.privateSegmentSize;
  variant.metadata.groupSegmentFixedSize = metadata_.groupSegmentFixedSize + entry_->moreLds();
  if (sgprs)
    variant.metadata.sgprCount = std::max(metadata_.sgprCount, sgprs);
  variant.metadata.vgprCount =
      std::max(metadata_.vgprCount,
               target_.unifiedVgprs && counts.accVgprs ? descriptor.accumOffset() + counts.accVgprs : counts.vgprs);
  if (variant.metadata.agprCount)
    variant.metadata.agprCount = std::max(*metadata_.agprCount, counts.accVgprs);

  uint64_t originalBytes = 0;
  for (const analysis::Function *function : functions_)
    originalBytes += function->symbol().size;
  variant.before = resources(descriptor_, pool_->original(), originalBytes);
  variant.after = resources(descriptor, counts, variant.code.size());
  const unsigned waveSize = descriptor.waveSize(target_);
  const isa::ResourceUse registers{.waveSize = waveSize,
                                   .vgprs = counts.vgprs,
                                   .accVgprs = counts.accVgprs,
                                   .sgprs = 0, // all that there are fit, whatever the workgroup
                                   .ldsBytes = 0,
                                   .workgroupSize = 0};
  variant.largestWorkgroup = isa::occupancy(target_, registers).wavesPerSimd * descriptor.simds(target_) * waveSize;
  return {};
}

} // namespace luthier::rewrite
