// SMEM.

#include "vgpu/exec/scalar.h"
#include "vgpu/exec/tables.h"

namespace luthier::vgpu {

std::span<const Row> smemRows() { return {}; }

} // namespace luthier::vgpu
