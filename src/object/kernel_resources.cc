#include "object/kernel_resources.h"

#include <algorithm>

namespace luthier::object {

Result<KernelResources> resourcesOf(const CodeObject &object, const Symbol &kernel, const KernelMetadata *metadata) {
  const KernelDescriptor descriptor = LUTHIER_TRY(object.descriptor(kernel));
  KernelResources r;
  r.lds = descriptor.groupSegmentSize;
  r.scratch = descriptor.privateSegmentSize;
  r.kernarg = descriptor.kernargSize;
  r.dynamicStack = descriptor.dynamicStack();
  const bool unified = object.hasTarget() && object.target().unifiedVgprs;
  if (object.hasTarget()) {
    r.allocatedVgprs = r.vgprs = descriptor.vgprs(object.target());
    r.allocatedSgprs = r.sgprs = descriptor.sgprs(object.target());
    r.waveSize = descriptor.waveSize(object.target());
    if (unified && descriptor.accumOffset() < r.vgprs) {
      r.agprs = r.vgprs - descriptor.accumOffset();
      r.vgprs = descriptor.accumOffset();
    }
  }
  if (metadata) {
    r.agprs = metadata->agprCount.value_or(0);
    r.vgprs = metadata->vgprCount;
    // A unified count has the AccVGPRs in it.
    if (unified)
      r.vgprs -= std::min(r.vgprs, r.agprs);
    r.sgprs = metadata->sgprCount;
    r.waveSize = metadata->wavefrontSize;
    r.maxWorkgroupSize = metadata->maxFlatWorkgroupSize;
    // Before version 4 the descriptor did not have it.
    r.kernarg = std::max(r.kernarg, metadata->kernargSegmentSize);
    r.dynamicStack |= metadata->usesDynamicStack.value_or(false);
  }
  return r;
}

} // namespace luthier::object
