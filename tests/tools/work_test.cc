#include "luthier/work.h"

#include "isa/assembler.h"
#include "isa/decode.h"

#include <gtest/gtest.h>

namespace luthier {
namespace {

struct Case {
  const char *text;
  const char *kind;
  const char *flopType;
  uint64_t flopsPerLane, flopsPerWave;
  const char *byteType;
  uint64_t bytesPerLane, bytesPerWave;
  const char *target = "gfx90a";
};
void PrintTo(const Case &c, std::ostream *out) { *out << c.text; }

class ToolWork : public testing::TestWithParam<Case> {};

TEST_P(ToolWork, IsAsTheManualSays) {
  const isa::Target &target = *isa::findTarget(GetParam().target);
  const auto bytes = isa::assemble(target, GetParam().text);
  ASSERT_TRUE(bytes) << bytes.error().message();
  const auto decoder = isa::Decoder::create(target);
  const auto code = (*decoder)->decode(*bytes, 0);
  ASSERT_TRUE(code);
  ASSERT_EQ(code->instrs().size(), 1u);
  const Work work = workOf(code->instrs()[0], GetParam().text);
  EXPECT_EQ(work.kind, GetParam().kind);
  EXPECT_EQ(work.flopType, GetParam().flopType);
  EXPECT_EQ(work.flopsPerLane, GetParam().flopsPerLane);
  EXPECT_EQ(work.flopsPerWave, GetParam().flopsPerWave);
  EXPECT_EQ(work.byteType, GetParam().byteType);
  EXPECT_EQ(work.bytesPerLane, GetParam().bytesPerLane);
  EXPECT_EQ(work.bytesPerWave, GetParam().bytesPerWave);
}

constexpr Case kCases[] = {
    {"v_add_f32 v0, v1, v2", "vector", "f32", 1, 0, "", 0, 0},
    {"v_fma_f64 v[0:1], v[2:3], v[4:5], v[6:7]", "vector", "f64", 2, 0, "", 0, 0},
    {"v_fmac_f32 v0, v1, v2", "vector", "f32", 2, 0, "", 0, 0},
    {"v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7]", "vector", "f32", 4, 0, "", 0, 0},
    {"v_pk_add_f16 v0, v1, v2", "vector", "f16", 2, 0, "", 0, 0},
    {"v_dot2_f32_f16 v0, v1, v2, v3", "vector", "f16", 4, 0, "", 0, 0},
    {"v_rcp_f32 v0, v1", "vector", "f32", 1, 0, "", 0, 0},
    {"v_max_f32 v0, v1, v2", "vector", "", 0, 0, "", 0, 0},
    {"v_cvt_f32_f16 v0, v1", "vector", "", 0, 0, "", 0, 0},
    {"v_add_u32 v0, v1, v2", "vector", "", 0, 0, "", 0, 0},
    {"v_mfma_f32_32x32x1f32 a[0:31], v0, v1, a[0:31]", "matrix", "f32", 0, 2 * 32 * 32 * 1 * 2, "", 0, 0},
    {"v_mfma_f32_4x4x1f32 a[0:3], v0, v1, a[0:3]", "matrix", "f32", 0, 2 * 4 * 4 * 1 * 16, "", 0, 0},
    {"v_mfma_f32_16x16x16f16 a[0:3], v[0:1], v[2:3], a[0:3]", "matrix", "f16", 0, 2 * 16 * 16 * 16, "", 0, 0},
    {"v_mfma_f32_32x32x4bf16 a[0:15], v0, v1, a[0:15]", "matrix", "bf16", 0, 2 * 32 * 32 * 4, "", 0, 0},
    {"v_mfma_f32_32x32x4bf16_1k a[0:31], v[0:1], v[2:3], a[0:31]", "matrix", "bf16", 0, 2 * 32 * 32 * 4 * 2, "", 0, 0},
    {"v_mfma_f64_4x4x4f64 a[0:1], v[0:1], v[2:3], a[0:1]", "matrix", "f64", 0, 2 * 4 * 4 * 4 * 4, "", 0, 0},
    {"v_mfma_i32_32x32x8i8 a[0:15], v0, v1, a[0:15]", "matrix", "", 0, 0, "", 0, 0},
    {"global_load_dwordx4 v[0:3], v[4:5], off", "global", "", 0, 0, "global load", 16, 0},
    {"global_store_byte v[4:5], v0, off", "global", "", 0, 0, "global store", 1, 0},
    {"global_atomic_add_f32 v[4:5], v0, off", "global", "f32", 1, 0, "global atomic", 4, 0},
    {"global_atomic_pk_add_f16 v[4:5], v0, off", "global", "f16", 2, 0, "global atomic", 4, 0},
    {"global_atomic_max_f64 v[4:5], v[0:1], off", "global", "", 0, 0, "global atomic", 8, 0},
    {"flat_load_ushort v0, v[2:3]", "flat", "", 0, 0, "flat load", 2, 0},
    {"ds_read2_b32 v[0:1], v2 offset1:1", "lds", "", 0, 0, "lds load", 8, 0},
    {"ds_add_rtn_f32 v0, v1, v2", "lds", "f32", 1, 0, "lds atomic", 4, 0},
    {"ds_bpermute_b32 v0, v1, v2", "lds", "", 0, 0, "", 0, 0},
    {"buffer_load_dword v0, v1, s[0:3], 0 offen", "buffer", "", 0, 0, "buffer load", 4, 0},
    {"s_load_dwordx8 s[0:7], s[8:9], 0x0", "scalar memory", "", 0, 0, "scalar memory load", 0, 32},
    {"s_add_u32 s0, s1, s2", "scalar", "", 0, 0, "", 0, 0},
    {"s_waitcnt vmcnt(0)", "wait", "", 0, 0, "", 0, 0},
    {"s_barrier", "barrier", "", 0, 0, "", 0, 0},
    {"s_setpc_b64 s[0:1]", "branch", "", 0, 0, "", 0, 0},
    {"s_endpgm", "branch", "", 0, 0, "", 0, 0},
    {"v_mfma_f32_32x32x4_2b_f16 a[0:31], v[0:1], v[2:3], a[0:31]", "matrix", "f16", 0, 2 * 32 * 32 * 4 * 2, "", 0, 0,
     "gfx942"},
    {"v_mfma_f32_16x16x32_fp8_bf8 a[0:3], v[0:1], v[2:3], a[0:3]", "matrix", "fp8", 0, 2 * 16 * 16 * 32, "", 0, 0,
     "gfx942"},
    {"v_smfmac_f32_16x16x32_f16 v[0:3], v[4:5], v[8:11], v1", "matrix", "f16", 0, 2 * 16 * 16 * 16, "", 0, 0, "gfx942"},
    {"v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]", "matrix", "f16", 0, 2 * 16 * 16 * 16, "", 0, 0,
     "gfx1100"},
    {"v_wmma_i32_16x16x16_iu8 v[0:7], v[8:11], v[16:19], v[0:7]", "matrix", "", 0, 0, "", 0, 0, "gfx1100"},
    {"v_dual_fmac_f32 v0, v1, v2 :: v_dual_mul_f32 v3, v4, v5", "vector", "f32", 3, 0, "", 0, 0, "gfx1100"},
    {"v_dual_mov_b32 v0, v1 :: v_dual_add_f32 v3, v4, v5", "vector", "f32", 1, 0, "", 0, 0, "gfx1100"},
};
INSTANTIATE_TEST_SUITE_P(All, ToolWork, testing::ValuesIn(kCases));

} // namespace
} // namespace luthier
