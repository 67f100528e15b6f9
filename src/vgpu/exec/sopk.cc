// SOPK.

#include "vgpu/exec/scalar.h"
#include "vgpu/exec/tables.h"

namespace luthier::vgpu {

std::span<const Row> sopkRows() { return {}; }

} // namespace luthier::vgpu
