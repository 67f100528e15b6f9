// VOPC: vector compares.

#include "vgpu/exec/tables.h"
#include "vgpu/exec/valu.h"

namespace luthier::vgpu::LUTHIER_VGPU_LEVEL {

namespace {

constexpr Row kRows[] = {
    op<[](i32 a, i32 b) { return a > b; }>("v_cmp_gt_i32"),
    op<[](f64 a, f64 b) { return a > b; }>("v_cmpx_gt_f64", kWritesExec),
};

} // namespace

std::span<const Row> vopcRows() { return kRows; }

} // namespace luthier::vgpu::LUTHIER_VGPU_LEVEL
