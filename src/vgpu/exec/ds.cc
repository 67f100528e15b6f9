// DS.

#include "vgpu/exec/tables.h"
#include "vgpu/exec/valu.h"

namespace luthier::vgpu::LUTHIER_VGPU_LEVEL {

std::span<const Row> dsRows() { return {}; }

} // namespace luthier::vgpu::LUTHIER_VGPU_LEVEL
