// PM4, the command processor's own packet language, as far as ROCr sends it inside AQL packets.
#pragma once

#include "vgpu/wave/dispatch.h"

#include <cstddef>
#include <cstdint>

namespace luthier::vgpu {

class Device;

/// Runs type-3 packets; follows INDIRECT_BUFFER. ACQUIRE_MEM with an instruction-cache action drops decoded code.
/// Commands that we do not know are named once in the log and skipped: they set up hardware that does not exist here.
/// False, with `fault` filled, when an indirect buffer is not accessible.
bool runPm4(Device &device, const uint32_t *words, size_t count, Fault &fault, unsigned depth = 0);

} // namespace luthier::vgpu
