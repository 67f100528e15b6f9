// Where the rows of each file of exec/ are found.
#pragma once

#include "vgpu/exec/level.h"

namespace luthier::vgpu {

// Scalar: one copy for all CPU levels.
std::span<const Row> sop1Rows();
std::span<const Row> sop2Rows();
std::span<const Row> sopcRows();
std::span<const Row> sopkRows();
std::span<const Row> soppRows();
std::span<const Row> sopp32Rows(); ///< those that differ for waves of 32 lanes
std::span<const Row> sopFloatRows();
std::span<const Row> vopdRows();
std::span<const Row> smemRows();
std::span<const Row> gwsRows();

namespace LUTHIER_VGPU_LEVEL {
std::span<const Row> vop1Rows();
std::span<const Row> vop2Rows();
std::span<const Row> vop3Rows();
std::span<const Row> vop3pRows();
std::span<const Row> vopcRows();
std::span<const Row> mfmaRows();
std::span<const Row> wmmaRows();
std::span<const Row> dsRows();
std::span<const Row> dsSrc2Rows();
std::span<const Row> flatRows();
std::span<const Row> mubufRows();
std::span<const Row> mtbufRows();
} // namespace LUTHIER_VGPU_LEVEL

} // namespace luthier::vgpu
