// The instruction table of one CPU level and size of waves.

#include "vgpu/exec/tables.h"

#include "vgpu/exec/valu.h"

namespace luthier::vgpu::LUTHIER_VGPU_LEVEL {

const ExecLevel &level() {
  static const std::span<const Row> tables[] = {
      sop1Rows(),   sop2Rows(),  sopcRows(),  sopkRows(),     soppRows(),  smemRows(), gwsRows(),
      vop1Rows(),   vop2Rows(),  vop3Rows(),  vopcRows(),     vop3pRows(), dsRows(),   dsSrc2Rows(),
      flatRows(),   mubufRows(), mtbufRows(), sopFloatRows(), wmmaRows(),
#if LUTHIER_VGPU_LANES == 32
      sopp32Rows(), // behind soppRows(): the last row of a name is the one
      vopdRows(),
#endif
#if LUTHIER_VGPU_LANES == 64
      mfmaRows(), // only targets without waves of 32 lanes have these
#endif
  };
  static const ExecLevel kThis{LUTHIER_VGPU_LEVEL_NAME, N, tables, general};
  return kThis;
}

} // namespace luthier::vgpu::LUTHIER_VGPU_LEVEL
