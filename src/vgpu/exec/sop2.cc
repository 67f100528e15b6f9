// SOP2: scalar instructions with two sources.

#include "vgpu/exec/scalar.h"
#include "vgpu/exec/tables.h"

namespace luthier::vgpu {

namespace {

constexpr Row kRows[] = {
    salu<[](u32 a, u32 b, Scc &scc) {
      const u32 d = a + b;
      scc.set = d < a;
      return d;
    }>("s_add_u32"),
    salu<[](u32 a, u32 b, Scc &scc) {
      scc.set = a < b;
      return a - b;
    }>("s_sub_u32"),
    salu<[](u32 a, u32 b, Scc &scc) {
      const u64 d = u64(a) + b + scc.set;
      scc.set = d >> 32;
      return u32(d);
    }>("s_addc_u32"),
    salu<[](u64 a, u64 b, Scc &scc) {
      const u64 d = a & b;
      scc.set = d != 0;
      return d;
    }>("s_and_b64"),
};

} // namespace

std::span<const Row> sop2Rows() { return kRows; }

} // namespace luthier::vgpu
