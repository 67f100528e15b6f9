// FLAT.

#include "vgpu/exec/tables.h"
#include "vgpu/exec/valu.h"

namespace luthier::vgpu::LUTHIER_VGPU_LEVEL {

std::span<const Row> flatRows() { return {}; }

} // namespace luthier::vgpu::LUTHIER_VGPU_LEVEL
