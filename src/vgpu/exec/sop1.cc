// SOP1.

#include "vgpu/exec/scalar.h"
#include "vgpu/exec/tables.h"

namespace luthier::vgpu {

std::span<const Row> sop1Rows() { return {}; }

} // namespace luthier::vgpu
