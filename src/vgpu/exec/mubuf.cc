// MUBUF.

#include "vgpu/exec/tables.h"
#include "vgpu/exec/valu.h"

namespace luthier::vgpu::LUTHIER_VGPU_LEVEL {

std::span<const Row> mubufRows() { return {}; }

} // namespace luthier::vgpu::LUTHIER_VGPU_LEVEL
