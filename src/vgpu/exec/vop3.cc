// VOP3.

#include "vgpu/exec/tables.h"
#include "vgpu/exec/valu.h"

namespace luthier::vgpu::LUTHIER_VGPU_LEVEL {

std::span<const Row> vop3Rows() { return {}; }

} // namespace luthier::vgpu::LUTHIER_VGPU_LEVEL
