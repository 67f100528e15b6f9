// MTBUF.

#include "vgpu/exec/tables.h"
#include "vgpu/exec/vmem.h"

namespace luthier::vgpu::LUTHIER_VGPU_LEVEL {

std::span<const Row> mtbufRows() { return {}; }

} // namespace luthier::vgpu::LUTHIER_VGPU_LEVEL
