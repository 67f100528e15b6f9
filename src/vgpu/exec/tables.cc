// The instruction table of one CPU level.

#include "vgpu/exec/tables.h"

#include "vgpu/exec/valu.h"

namespace luthier::vgpu::LUTHIER_VGPU_LEVEL {

const ExecLevel &level() {
  static const std::span<const Row> tables[] = {
      sop1Rows(), sop2Rows(), sopcRows(),  sopkRows(), soppRows(), smemRows(), gwsRows(),   vop1Rows(),  vop2Rows(),
      vop3Rows(), vopcRows(), vop3pRows(), mfmaRows(), dsRows(),   flatRows(), mubufRows(), mtbufRows(),
  };
  static const ExecLevel kThis{LUTHIER_VGPU_LEVEL_NAME, tables, general};
  return kThis;
}

} // namespace luthier::vgpu::LUTHIER_VGPU_LEVEL
