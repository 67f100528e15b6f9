// Kernel metadata of a code object, and the hidden arguments that it asks for.
#pragma once

#include "luthier/vgpu.h"
#include "object/metadata.h"
#include "support/result.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace luthier::vgpu {

/// The kernels that the metadata describes: names and arguments.
std::vector<Kernel> kernelsOf(const object::Metadata &metadata);

/// What hidden arguments are made from.
struct HiddenValues {
  Size3 grid, workgroup;
  uint32_t dynamicLds = 0;
  uint64_t sharedAperture = 0, privateAperture = 0;
  uint64_t queue = 0;
  uint64_t hostcallBuffer = 0;
};

/// Writes the kernel's hidden arguments into its argument block (AMDGPUUsage, "Code Object V5 Kernel Argument Metadata
/// Map"). Kinds that are not known, and those that need a host's services, stay as they are.
void fillHidden(const Kernel &kernel, const HiddenValues &values, std::span<std::byte> kernarg);

} // namespace luthier::vgpu
