// What the tool learns of the process's memory: from ROCr, which loads it as one of its own tools (HSA_TOOLS_LIB), and
// from the host's kernel.
#pragma once

#include "memcheck/application_memory.h"

#include <cstdint>
#include <optional>

namespace luthier::memcheck {

/// Null when nothing is checked: ROCr has not loaded the tool, or the run is none of `luthier check`.
ApplicationMemory *applicationMemory();

/// Whether any allocation has come or gone since the last call. `noteChange`: one is to be looked at again.
bool takeChange();
void noteChange();

struct AddressRange {
  uint64_t begin = 0, end = 0;
};

/// What ROCr has allocated there, for whomever.
std::optional<AddressRange> runtimeAllocationAt(uint64_t address);

/// Whether kernels may access all of the host's memory as it is (XNACK).
bool allIsAccessible();
/// The mapping that the host has there, unless a device or a file without a name is behind it: these are for drivers.
std::optional<AddressRange> hostMappingAt(uint64_t address);

} // namespace luthier::memcheck
