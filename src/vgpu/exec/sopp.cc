// SOPP.

#include "vgpu/exec/scalar.h"
#include "vgpu/exec/tables.h"

namespace luthier::vgpu {

std::span<const Row> soppRows() { return {}; }

} // namespace luthier::vgpu
