// What a kernel needs to run, put together from its descriptor and its metadata.
//
// The metadata has the numbers that the compiler counted, the descriptor what is allocated, in blocks. Where there is
// no metadata, the descriptor's numbers have to do.
#pragma once

#include "isa/occupancy.h"
#include "object/code_object.h"

namespace luthier::object {

struct KernelResources {
  uint32_t vgprs = 0; ///< architectural, per lane
  uint32_t agprs = 0; ///< AccVGPRs
  uint32_t sgprs = 0; ///< with VCC and other special ones
  /// As the descriptor asks for them; 0 when the target has no row in isa/. AccVGPRs are in it where they share a file.
  uint32_t allocatedVgprs = 0, allocatedSgprs = 0;
  uint32_t lds = 0;     ///< bytes per workgroup, without what a dispatch adds
  uint32_t scratch = 0; ///< bytes per work-item
  uint32_t kernarg = 0; ///< bytes
  uint32_t waveSize = 0;
  uint32_t maxWorkgroupSize = 0; ///< work-items; 0 when not said
  bool dynamicStack = false;     ///< `scratch` is only the part that the compiler knows of

  /// For isa/occupancy.h: registers as counted, and the largest workgroup that the kernel allows.
  isa::ResourceUse use() const {
    return {.waveSize = waveSize,
            .vgprs = vgprs,
            .accVgprs = agprs,
            .sgprs = sgprs,
            .ldsBytes = lds,
            .workgroupSize = maxWorkgroupSize};
  }
};

/// `metadata` may be null.
Result<KernelResources> resourcesOf(const CodeObject &object, const Symbol &kernel, const KernelMetadata *metadata);

} // namespace luthier::object
