// VOP2: vector instructions with two sources.

#include "vgpu/exec/tables.h"
#include "vgpu/exec/valu.h"

namespace luthier::vgpu::LUTHIER_VGPU_LEVEL {

namespace {

constexpr Row kRows[] = {
    op<[](f32 a, f32 b) { return a + b; }>("v_add_f32"),
    op<[](f64 a, f64 b) { return a + b; }>("v_add_f64"),
    op<[](u32 a, u32 b, MaskIn m) { return m.set ? b : a; }>("v_cndmask_b32"),
    op<[](u32 a, u32 b, MaskOut &carry) {
      const u32 d = a + b;
      carry.set = d < a;
      return d;
    }>("v_add_co_u32"),
    op<[](u32 a, u32 b, MaskIn in, MaskOut &carry) {
      const u64 d = u64(a) + b + in.set;
      carry.set = d >> 32;
      return u32(d);
    }>("v_addc_co_u32"),
    op<[](f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }>("v_fmac_f32", kAccumulates),
};

} // namespace

std::span<const Row> vop2Rows() { return kRows; }

} // namespace luthier::vgpu::LUTHIER_VGPU_LEVEL
