// SOPC.

#include "vgpu/exec/scalar.h"
#include "vgpu/exec/tables.h"

namespace luthier::vgpu {

std::span<const Row> sopcRows() { return {}; }

} // namespace luthier::vgpu
