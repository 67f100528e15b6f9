// VOPD: two vector instructions in one, for waves of 32 lanes. The decoder makes records of both, in an order in which
// neither sees the other's result (Decoder::fillDual); here they are executed.

#include "vgpu/exec/scalar.h"
#include "vgpu/exec/tables.h"

namespace luthier::vgpu {

namespace {

const Inst *dual(Wave &w, const Inst *i) {
  const Inst *part = i->src[0].parts;
  while (part->words != 0) {
    part = part->fn(w, part);
    if (!part) [[unlikely]] {
      w.ip = i;
      return nullptr;
    }
  }
  return i->next();
}

constexpr Row kRows[] = {
    straight<dual>("v_dual_fmac_f32"),
    straight<dual>("v_dual_fmaak_f32"),
    straight<dual>("v_dual_fmamk_f32"),
    straight<dual>("v_dual_mul_f32"),
    straight<dual>("v_dual_add_f32"),
    straight<dual>("v_dual_sub_f32"),
    straight<dual>("v_dual_subrev_f32"),
    straight<dual>("v_dual_mul_dx9_zero_f32"),
    straight<dual>("v_dual_mov_b32"),
    straight<dual>("v_dual_cndmask_b32"),
    straight<dual>("v_dual_max_f32"),
    straight<dual>("v_dual_min_f32"),
    straight<dual>("v_dual_max_num_f32"),
    straight<dual>("v_dual_min_num_f32"),
    straight<dual>("v_dual_dot2acc_f32_f16").chosen(why::kDot),
};

} // namespace

std::span<const Row> vopdRows() { return kRows; }

} // namespace luthier::vgpu
