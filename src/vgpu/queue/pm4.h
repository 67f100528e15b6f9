// PM4, the command processor's own packet language, as far as ROCr sends it inside AQL packets.
#pragma once

#include "vgpu/wave/dispatch.h"

#include <cstdint>
#include <functional>
#include <span>

namespace luthier::vgpu {

class Device;

/// Runs type-3 packets; follows INDIRECT_BUFFER. ACQUIRE_MEM with an instruction-cache action drops decoded code.
/// False, with `fault` filled, when an indirect buffer is not accessible (Kind::Memory) or when a packet asks for
/// anything that is not implemented (Kind::BadLaunch): nothing is skipped. Ends early, with true, when `stop` says so.
bool runPm4(Device &device, std::span<const uint32_t> words, Fault &fault, const std::function<bool()> &stop);

} // namespace luthier::vgpu
