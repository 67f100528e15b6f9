// VOP3P.

#include "vgpu/exec/tables.h"
#include "vgpu/exec/valu.h"

namespace luthier::vgpu::LUTHIER_VGPU_LEVEL {

std::span<const Row> vop3pRows() { return {}; }

} // namespace luthier::vgpu::LUTHIER_VGPU_LEVEL
