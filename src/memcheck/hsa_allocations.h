// What the application asks ROCr for, seen where it asks: in ROCr's table of functions.
//
// KFD hears of whole pages, and of blocks that ROCr cuts up itself. Byte sizes are in the calls of HSA, and HIP passes
// on what its callers asked for. `luthier check` names the driver's library in HSA_TOOLS_LIB, so that ROCr hands over
// its table; the functions that allocate and free are then led through here.
#pragma once

#include <hsa/hsa_api_trace.h>

namespace luthier::memcheck {

class ApplicationMemory;

/// `memory` finds the one of this process, or null.
void watchHsaAllocations(HsaApiTable *table, ApplicationMemory *(*memory)());

} // namespace luthier::memcheck
