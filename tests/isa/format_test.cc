// Formats are checked against LLVM's encodings: every example is assembled, and its format must be the manual's.

#include "isa/format.h"

#include "assembler.h"

#include <gtest/gtest.h>

#include <cstring>

namespace luthier::isa {
namespace {

struct Example {
  const char *text;
  Format format;
};

class FormatOf : public testing::TestWithParam<Example> {};

TEST_P(FormatOf, Gfx90a) {
  auto code = vgpu::test::assemble(*findTarget("gfx90a"), GetParam().text);
  ASSERT_TRUE(code) << code.error().message();
  uint32_t word;
  ASSERT_GE(code->size(), sizeof word);
  memcpy(&word, code->data(), sizeof word);
  EXPECT_EQ(formatOf(EncodingFamily::Gfx9, word), GetParam().format) << GetParam().text;
}

constexpr Example kExamples[] = {
    {"s_mov_b32 s0, s1", Format::Sop1},
    {"s_getpc_b64 s[0:1]", Format::Sop1},
    {"s_set_gpr_idx_idx s0", Format::Sop1},
    {"s_add_u32 s0, s1, s2", Format::Sop2},
    {"s_mul_hi_u32 s101, vcc_hi, 0x12345", Format::Sop2},
    {"s_rfe_restore_b64 s[2:3], s4", Format::Sop2},
    {"s_movk_i32 s0, 0x7fff", Format::Sopk},
    {"s_setreg_b32 hwreg(HW_REG_MODE), s0", Format::Sopk},
    {"s_call_b64 s[0:1], 0x100", Format::Sopk},
    {"s_cmp_eq_u64 s[0:1], s[2:3]", Format::Sopc},
    {"s_set_gpr_idx_on s0, 0xf", Format::Sopc},
    {"s_nop 0", Format::Sopp},
    {"s_endpgm", Format::Sopp},
    {"s_set_gpr_idx_off", Format::Sopp},
    {"s_load_dwordx16 s[0:15], s[16:17], 0x0", Format::Smem},
    {"s_memtime s[0:1]", Format::Smem},
    {"s_dcache_inv", Format::Smem},
    {"v_mov_b32 v0, v1", Format::Vop1},
    {"v_mov_b32_sdwa v0, v1 dst_sel:BYTE_0 src0_sel:DWORD", Format::Vop1},
    {"v_readfirstlane_b32 s0, v1", Format::Vop1},
    {"v_add_f32 v0, v1, v2", Format::Vop2},
    {"v_add_f32_dpp v0, v1, v2 row_shr:1 row_mask:0xf bank_mask:0xf", Format::Vop2},
    {"v_cndmask_b32 v255, v1, v255, vcc", Format::Vop2},
    {"v_cmp_eq_f32 vcc, v0, v1", Format::Vopc},
    {"v_cmp_class_f64 vcc, v[0:1], v2", Format::Vopc},
    {"v_cmpx_t_u64 vcc, v[0:1], v[2:3]", Format::Vopc},
    {"v_add_f32_e64 v0, |v1|, -v2 clamp", Format::Vop3},
    {"v_fma_f64 v[0:1], v[2:3], v[4:5], v[6:7]", Format::Vop3},
    {"v_cmp_eq_f32_e64 s[0:1], v0, v1", Format::Vop3},
    {"v_readlane_b32 s0, v1, s2", Format::Vop3},
    {"v_mad_u64_u32 v[0:1], s[2:3], v4, v5, v[6:7]", Format::Vop3},
    {"v_pk_fma_f16 v0, v1, v2, v3", Format::Vop3p},
    {"v_pk_mul_f32 v[0:1], v[2:3], v[4:5]", Format::Vop3p},
    {"v_mfma_f32_32x32x1f32 a[0:31], v0, v1, a[0:31]", Format::Vop3p},
    {"v_accvgpr_read_b32 v0, a0", Format::Vop3p},
    {"v_accvgpr_mov_b32 a0, a1", Format::Vop1},
    {"ds_read_b32 v0, v1 offset:4", Format::Ds},
    {"ds_gws_barrier v0 gds", Format::Ds},
    {"flat_load_dword v0, v[2:3]", Format::Flat},
    {"global_atomic_add_f64 v[0:1], v[2:3], off", Format::Flat},
    {"scratch_store_dword off, v0, s0", Format::Flat},
    {"buffer_load_dword v0, off, s[0:3], 0", Format::Mubuf},
    {"buffer_wbinvl1_vol", Format::Mubuf},
    {"tbuffer_load_format_x v0, off, s[0:3], 0 format:[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_FLOAT]", Format::Mtbuf},
};

INSTANTIATE_TEST_SUITE_P(Examples, FormatOf, testing::ValuesIn(kExamples),
                         [](const auto &info) { return "n" + std::to_string(info.index); });

TEST(Field, TakesBits) {
  EXPECT_EQ(field(0xf0f0f0f012345678, 0, 8), 0x78u);
  EXPECT_EQ(field(0xf0f0f0f012345678, 32, 32), 0xf0f0f0f0u);
  EXPECT_EQ(field(0xf0f0f0f012345678, 28, 8), 0x01u);
  EXPECT_EQ(signedField(0x1000, 0, 13), -4096);
  EXPECT_EQ(signedField(0x0fff, 0, 13), 4095);
  EXPECT_EQ(signedField(0xffff, 0, 16), -1);
  EXPECT_EQ(signedField(0xffffffff, 0, 32), -1);
}

} // namespace
} // namespace luthier::isa
