// What the decoder says of an instruction: a line of assembly per kind of instruction, with what it reads and writes.
#include "decoded_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <sstream>

namespace luthier::isa {
namespace {

using testing::HasSubstr;

constexpr std::pair<Property, const char *> kProperties[] = {
    {Property::Scalar, "Scalar"},
    {Property::Vector, "Vector"},
    {Property::Matrix, "Matrix"},
    {Property::Load, "Load"},
    {Property::Store, "Store"},
    {Property::Atomic, "Atomic"},
    {Property::Branch, "Branch"},
    {Property::Conditional, "Conditional"},
    {Property::IndirectBranch, "IndirectBranch"},
    {Property::Call, "Call"},
    {Property::EndProgram, "EndProgram"},
    {Property::Terminator, "Terminator"},
    {Property::Barrier, "Barrier"},
    {Property::Wait, "Wait"},
    {Property::WritesExec, "WritesExec"},
    {Property::CrossLane, "CrossLane"},
    {Property::IgnoresExec, "IgnoresExec"},
    {Property::PartialWrite, "PartialWrite"},
    {Property::Message, "Message"},
    {Property::Export, "Export"},
    {Property::Indexed, "Indexed"},
    {Property::IndexMode, "IndexMode"},
    {Property::SkipMode, "SkipMode"},
    {Property::Dual, "Dual"},
};

std::string propertiesOf(const Instr &instr) {
  std::string text;
  for (const auto &[property, name] : kProperties)
    if (instr.is(property))
      text += (text.empty() ? "" : " ") + std::string(name);
  return text;
}

std::set<std::string> words(const std::string &text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

std::set<std::string> names(std::span<const RegRange> ranges) {
  std::set<std::string> result;
  for (const RegRange &range : ranges)
    result.insert(toString(range));
  return result;
}

struct Row {
  const char *text, *reads, *writes, *properties;
};

void check(const char *target, const Row &row) {
  SCOPED_TRACE(fmt::format("{}: {}", target, row.text));
  const Code code(target, row.text);
  ASSERT_EQ(code.sequence.instrs().size(), 1u);
  EXPECT_EQ(names(code[0].reads()), words(row.reads));
  EXPECT_EQ(names(code[0].writes()), words(row.writes));
  EXPECT_EQ(propertiesOf(code[0]), row.properties);
  EXPECT_EQ(code[0].size(), code.bytes.size());
  EXPECT_EQ(code[0].address(), 0x1000u);
}

constexpr Row kGfx90a[] = {
    // SALU
    {"s_add_u32 s0, s1, s2", "s1 s2", "scc s0", "Scalar"},
    {"s_addc_u32 s0, s1, s2", "scc s1 s2", "scc s0", "Scalar"},
    {"s_cmp_eq_u32 s0, s1", "s0 s1", "scc", "Scalar"},
    {"s_cselect_b64 s[0:1], s[2:3], s[4:5]", "scc s[2:3] s[4:5]", "s[0:1]", "Scalar"},
    {"s_bitcmp1_b64 s[0:1], s2", "s[0:1] s2", "scc", "Scalar"},
    {"s_addk_i32 s3, 5", "s3", "scc s3", "Scalar"},
    {"s_cmpk_eq_i32 s3, 5", "s3", "scc", "Scalar"},
    {"s_movk_i32 s0, 5", "", "s0", "Scalar"},
    {"s_cmov_b32 s0, s1", "scc s0 s1", "s0", "Scalar"},
    {"s_cmovk_i32 s0, 5", "scc s0", "s0", "Scalar"},
    {"s_bitset1_b64 s[0:1], s2", "s[0:1] s2", "s[0:1]", "Scalar"},
    {"s_quadmask_b64 s[0:1], s[2:3]", "s[2:3]", "scc s[0:1]", "Scalar"},
    {"s_wqm_b32 s0, s1", "s1", "scc s0", "Scalar"},
    {"s_mov_b32 m0, s3", "s3", "m0", "Scalar"},
    {"s_mov_b64 vcc, s[2:3]", "s[2:3]", "vcc", "Scalar"},
    {"s_mov_b32 flat_scratch_lo, s1", "s1", "flat_scratch_lo", "Scalar"},
    {"s_mov_b32 s0, src_vccz", "vcc", "s0", "Scalar"},
    {"s_mov_b32 s0, src_execz", "exec", "s0", "Scalar"},
    {"s_mov_b64 s[0:1], src_shared_base", "", "s[0:1]", "Scalar"},
    // EXEC
    {"s_mov_b64 exec, s[2:3]", "s[2:3]", "exec", "Scalar WritesExec"},
    {"s_mov_b32 exec_hi, s2", "s2", "exec_hi", "Scalar WritesExec"},
    {"s_and_saveexec_b64 s[0:1], s[2:3]", "exec s[2:3]", "exec scc s[0:1]", "Scalar WritesExec"},
    {"s_andn1_wrexec_b64 s[0:1], s[2:3]", "exec s[2:3]", "exec scc s[0:1]", "Scalar WritesExec"},
    {"s_andn2_b64 exec, exec, s[2:3]", "exec s[2:3]", "scc exec", "Scalar WritesExec"},
    // Control flow
    {"s_branch 5", "", "", "Scalar Branch Terminator"},
    {"s_cbranch_scc0 5", "scc", "", "Scalar Branch Conditional Terminator"},
    {"s_cbranch_vccz 5", "vcc", "", "Scalar Branch Conditional Terminator"},
    {"s_cbranch_execnz 5", "exec", "", "Scalar Branch Conditional Terminator"},
    {"s_cbranch_cdbgsys 5", "", "", "Scalar Branch Conditional Terminator"},
    {"s_cbranch_i_fork s[4:5], 8", "exec s[4:5] s[0:101]", "exec s[0:101]",
     "Scalar Branch Conditional Terminator WritesExec Indexed"},
    {"s_cbranch_g_fork s[4:5], s[6:7]", "exec s[4:5] s[6:7] s[0:101]", "exec s[0:101]",
     "Scalar Conditional IndirectBranch Terminator WritesExec Indexed"},
    {"s_cbranch_join s4", "exec s4 s[0:101]", "exec s[0:101]",
     "Scalar Conditional IndirectBranch Terminator WritesExec Indexed"},
    {"s_getpc_b64 s[0:1]", "", "s[0:1]", "Scalar"},
    {"s_setpc_b64 s[30:31]", "s[30:31]", "", "Scalar IndirectBranch Terminator"},
    {"s_swappc_b64 s[30:31], s[4:5]", "s[4:5]", "s[30:31]", "Scalar Call"},
    {"s_call_b64 s[4:5], 8", "", "s[4:5]", "Scalar Call"},
    {"s_rfe_b64 s[0:1]", "s[0:1]", "", "Scalar IndirectBranch Terminator"},
    {"s_endpgm", "", "", "Scalar EndProgram Terminator"},
    {"s_endpgm_saved", "", "", "Scalar EndProgram Terminator"},
    {"s_barrier", "", "", "Scalar Barrier"},
    {"s_waitcnt vmcnt(0)", "", "", "Scalar Wait"},
    {"s_sendmsg sendmsg(MSG_INTERRUPT)", "exec m0", "", "Scalar Message"},
    {"s_sendmsghalt 1", "exec m0", "", "Scalar Message"},
    {"s_nop 0", "", "", "Scalar"},
    {"s_sleep 1", "", "", "Scalar"},
    {"s_trap 2", "", "", "Scalar"},
    // Hardware registers
    {"s_setreg_b32 hwreg(HW_REG_MODE), s3", "s3", "mode", "Scalar"},
    {"s_setreg_b32 hwreg(HW_REG_MODE, 0, 4), s3", "mode s3", "mode", "Scalar"},
    {"s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 5", "mode", "mode", "Scalar"},
    {"s_setreg_b32 hwreg(HW_REG_TRAPSTS), s3", "s3", "", "Scalar"},
    {"s_getreg_b32 s3, hwreg(HW_REG_MODE)", "mode", "s3", "Scalar"},
    {"s_getreg_b32 s3, hwreg(HW_REG_HW_ID)", "", "s3", "Scalar"},
    {"s_getreg_b32 s3, hwreg(HW_REG_STATUS)", "scc vcc exec", "s3", "Scalar"},
    // Indexed
    {"s_movrels_b32 s0, s4", "m0 s[4:105]", "s0", "Scalar Indexed"},
    {"s_movreld_b64 s[4:5], s[8:9]", "m0 s[4:105] s[8:9]", "s[4:105]", "Scalar Indexed"},
    {"s_set_gpr_idx_on s0, 1", "m0 mode s0", "m0 mode", "Scalar IndexMode"},
    {"s_set_gpr_idx_idx s0", "m0 mode s0", "m0 mode", "Scalar IndexMode"},
    {"s_set_gpr_idx_mode 3", "m0 mode", "m0 mode", "Scalar IndexMode"},
    {"s_set_gpr_idx_off", "mode", "mode", "Scalar IndexMode"},
    {"s_setvskip s0, s1", "mode s0 s1", "mode", "Scalar SkipMode"},
    // SMEM
    {"s_load_dwordx2 s[0:1], s[40:41], 0x4", "s[40:41]", "s[0:1]", "Scalar Load"},
    {"s_load_dwordx16 s[0:15], s[40:41], s50", "s[40:41] s50", "s[0:15]", "Scalar Load"},
    {"s_buffer_load_dwordx4 s[0:3], s[44:47], 0x8", "s[44:47]", "s[0:3]", "Scalar Load"},
    {"s_store_dwordx2 s[0:1], s[40:41], 0x4", "s[0:1] s[40:41]", "", "Scalar Store"},
    {"s_atomic_add s5, s[2:3], 0x10", "s5 s[2:3]", "", "Scalar Store Atomic"},
    {"s_atomic_add s5, s[2:3], 0x10 glc", "s5 s[2:3]", "s5", "Scalar Load Store Atomic"},
    {"s_atomic_cmpswap s[4:5], s[2:3], 0x10 glc", "s[4:5] s[2:3]", "s[4:5]", "Scalar Load Store Atomic"},
    {"s_memtime s[0:1]", "", "s[0:1]", "Scalar"},
    {"s_dcache_inv", "", "", "Scalar"},
    // VOP1, VOP2, VOPC
    {"v_mov_b32 v0, v1", "exec v1", "v0", "Vector"},
    {"v_nop", "exec", "", "Vector"},
    {"v_add_f32 v0, s3, v1", "mode exec s3 v1", "v0", "Vector"},
    {"v_add_u32 v0, v1, v2", "exec v1 v2", "v0", "Vector"},
    {"v_rcp_f64 v[0:1], v[2:3]", "mode exec v[2:3]", "v[0:1]", "Vector"},
    {"v_add_co_u32 v0, vcc, v1, v2", "exec v1 v2", "vcc v0", "Vector"},
    {"v_addc_co_u32 v0, vcc, v1, v2, vcc", "vcc exec v1 v2", "vcc v0", "Vector"},
    {"v_cndmask_b32 v0, v1, v2, vcc", "vcc exec v1 v2", "v0", "Vector"},
    {"v_cmp_lt_f32 vcc, v1, v2", "mode exec v1 v2", "vcc", "Vector"},
    {"v_cmpx_lt_u32 vcc, v1, v2", "exec v1 v2", "vcc exec", "Vector WritesExec"},
    {"v_cmpx_lt_u32 s[4:5], v1, v2", "exec v1 v2", "exec s[4:5]", "Vector WritesExec"},
    {"v_cmp_lt_f64 s[4:5], v[2:3], v[4:5]", "mode exec v[2:3] v[4:5]", "s[4:5]", "Vector"},
    {"v_fmac_f32 v0, v1, v2", "mode exec v0 v1 v2", "v0", "Vector"},
    {"v_mac_f16 v0, v1, v2", "mode exec v0 v1 v2", "v0", "Vector PartialWrite"},
    {"v_pk_fmac_f16 v0, v1, v2", "mode exec v0 v1 v2", "v0", "Vector"},
    {"v_cvt_pkaccum_u8_f32 v0, v1, v2", "mode exec v0 v1 v2", "v0", "Vector"},
    {"v_swap_b32 v0, v1", "exec v0 v1", "v0 v1", "Vector"},
    {"v_readfirstlane_b32 s3, v1", "exec v1", "s3", "Vector CrossLane"},
    {"v_madak_f32 v0, v1, v2, 0x12345678", "mode exec v1 v2", "v0", "Vector"},
    {"v_mov_b32 v0, src_scc", "exec scc", "v0", "Vector"},
    {"v_add_f16 v0, v1, v2", "mode exec v1 v2", "v0", "Vector"},
    // SDWA, DPP
    {"v_add_f32_sdwa v0, v1, v2 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_0 src1_sel:DWORD",
     "mode exec v0 v1 v2", "v0", "Vector PartialWrite"},
    {"v_add_f32_sdwa v0, v1, v2 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:BYTE_0 src1_sel:DWORD", "mode exec v1 v2",
     "v0", "Vector"},
    {"v_cmp_eq_u32_sdwa s[4:5], v1, v2 src0_sel:BYTE_0 src1_sel:DWORD", "exec v1 v2", "s[4:5]", "Vector"},
    {"v_mov_b32_dpp v0, v1 row_shr:1 row_mask:0xf bank_mask:0xf", "exec v0 v1", "v0", "Vector CrossLane"},
    {"v_mov_b32_dpp v0, v1 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:0", "exec v1", "v0", "Vector CrossLane"},
    {"v_mov_b32_dpp v0, v1 row_shr:1 row_mask:0x5 bank_mask:0xf bound_ctrl:0", "exec v0 v1", "v0", "Vector CrossLane"},
    {"v_mov_b32_dpp v0, v1 row_shr:1 row_mask:0xf bank_mask:0x3 bound_ctrl:0", "exec v0 v1", "v0", "Vector CrossLane"},
    {"v_fmac_f32_dpp v0, v1, v2 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:0", "mode exec v0 v1 v2", "v0",
     "Vector CrossLane"},
    // VOP3, VOP3P
    {"v_readlane_b32 s3, v1, s4", "v1 s4", "s3", "Vector CrossLane IgnoresExec"},
    {"v_writelane_b32 v1, s3, 5", "v1 s3", "v1", "Vector IgnoresExec PartialWrite"},
    {"v_mad_u64_u32 v[0:1], s[2:3], v2, v3, v[4:5]", "exec v2 v3 v[4:5]", "v[0:1] s[2:3]", "Vector"},
    {"v_div_scale_f64 v[0:1], vcc, v[2:3], v[2:3], v[6:7]", "mode exec v[2:3] v[6:7]", "v[0:1] vcc", "Vector"},
    {"v_div_fmas_f32 v0, v1, v2, v3", "mode vcc exec v1 v2 v3", "v0", "Vector"},
    {"v_cndmask_b32 v0, v1, v2, s[4:5]", "exec v1 v2 s[4:5]", "v0", "Vector"},
    {"v_mqsad_u32_u8 v[0:3], v[4:5], v6, v[16:19]", "exec v[4:5] v6 v[16:19]", "v[0:3]", "Vector"},
    {"v_fma_f16 v0, v1, v2, v3", "mode exec v0 v1 v2 v3", "v0", "Vector PartialWrite"},
    {"v_mad_u16 v0, v1, v2, v3 op_sel:[0,0,0,1]", "exec v0 v1 v2 v3", "v0", "Vector PartialWrite"},
    {"v_mad_u32_u16 v0, v1, v2, v3", "exec v1 v2 v3", "v0", "Vector"},
    {"v_fma_mixlo_f16 v0, v1, v2, v3", "mode exec v0 v1 v2 v3", "v0", "Vector PartialWrite"},
    {"v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7]", "mode exec v[2:3] v[4:5] v[6:7]", "v[0:1]", "Vector"},
    {"v_dot2_f32_f16 v0, v1, v2, v3", "mode exec v1 v2 v3", "v0", "Vector"},
    // MFMA and AccVGPRs
    {"v_mfma_f32_32x32x1f32 a[0:31], v0, v1, a[32:63]", "mode exec v0 v1 a[32:63]", "a[0:31]",
     "Vector Matrix CrossLane IgnoresExec"},
    {"v_mfma_f32_32x32x1f32 a[0:31], v0, v1, 0", "mode exec v0 v1", "a[0:31]", "Vector Matrix CrossLane IgnoresExec"},
    {"v_mfma_f64_16x16x4f64 v[0:7], v[20:21], v[22:23], v[24:31]", "mode exec v[20:21] v[22:23] v[24:31]", "v[0:7]",
     "Vector Matrix CrossLane IgnoresExec"},
    {"v_mfma_i32_16x16x16i8 a[0:3], a0, v1, a[4:7]", "mode exec a0 v1 a[4:7]", "a[0:3]",
     "Vector Matrix CrossLane IgnoresExec"},
    {"v_accvgpr_write_b32 a1, v2", "exec v2", "a1", "Vector Matrix"},
    {"v_accvgpr_read_b32 v1, a2", "exec a2", "v1", "Vector Matrix"},
    {"v_accvgpr_mov_b32 a1, a2", "exec a2", "a1", "Vector Matrix"},
    // DS
    {"ds_read_b96 v[0:2], v12", "exec v12", "v[0:2]", "Load"},
    {"ds_read2st64_b64 v[0:3], v12 offset1:1", "exec v12", "v[0:3]", "Load"},
    {"ds_read_u16_d16_hi v0, v12", "exec v0 v12", "v0", "Load PartialWrite"},
    {"ds_write2_b64 v12, v[0:1], v[2:3] offset1:1", "exec v12 v[0:1] v[2:3]", "", "Store"},
    {"ds_add_rtn_u32 v0, v12, v1", "exec v12 v1", "v0", "Load Store Atomic"},
    {"ds_add_u64 v12, v[0:1]", "exec v12 v[0:1]", "", "Store Atomic"},
    {"ds_cmpst_rtn_b64 v[0:1], v12, v[2:3], v[4:5]", "exec v12 v[2:3] v[4:5]", "v[0:1]", "Load Store Atomic"},
    {"ds_bpermute_b32 v0, v12, v1", "exec v12 v1", "v0", "CrossLane"},
    {"ds_swizzle_b32 v0, v1 offset:1", "exec v1", "v0", "CrossLane"},
    {"ds_append v0", "m0 exec", "v0", "Load Store Atomic"},
    {"ds_read_addtid_b32 v0", "m0 exec", "v0", "Load"},
    {"ds_gws_barrier v0 gds", "m0 exec v0", "", ""},
    {"ds_nop", "exec", "", ""},
    {"ds_read_b64 a[0:1], v12", "exec v12", "a[0:1]", "Load"},
    // FLAT, GLOBAL, SCRATCH
    {"global_load_dwordx4 v[0:3], v15, s[40:41]", "exec v15 s[40:41]", "v[0:3]", "Load"},
    {"global_load_short_d16_hi v0, v[10:11], off", "exec v0 v[10:11]", "v0", "Load PartialWrite"},
    {"global_store_dwordx4 v[10:11], v[0:3], off", "exec v[10:11] v[0:3]", "", "Store"},
    {"global_atomic_add v0, v[10:11], v1, off glc", "exec v[10:11] v1", "v0", "Load Store Atomic"},
    {"global_atomic_add v[10:11], v1, off", "exec v[10:11] v1", "", "Store Atomic"},
    {"global_atomic_cmpswap_x2 v[0:1], v[10:11], v[2:5], off glc", "exec v[10:11] v[2:5]", "v[0:1]",
     "Load Store Atomic"},
    {"global_load_dword v[2:3], off lds", "m0 exec v[2:3]", "", "Load"},
    {"flat_load_dwordx2 v[0:1], v[10:11]", "exec flat_scratch v[10:11]", "v[0:1]", "Load"},
    {"flat_store_dword v[10:11], v0", "exec flat_scratch v[10:11] v0", "", "Store"},
    {"flat_atomic_swap v0, v[10:11], v1 glc", "exec flat_scratch v[10:11] v1", "v0", "Load Store Atomic"},
    {"scratch_load_dwordx2 v[0:1], v15, off", "exec flat_scratch v15", "v[0:1]", "Load"},
    {"scratch_store_dword off, v0, s3", "exec flat_scratch v0 s3", "", "Store"},
    // MUBUF, MTBUF, MIMG
    {"buffer_load_dwordx4 v[0:3], v14, s[44:47], 0 offen", "exec v14 s[44:47]", "v[0:3]", "Load"},
    {"buffer_load_dword v0, v[2:3], s[44:47], s5 idxen offen", "exec v[2:3] s[44:47] s5", "v0", "Load"},
    {"buffer_load_short_d16 v0, off, s[44:47], 0", "exec v0 s[44:47]", "v0", "Load PartialWrite"},
    {"buffer_load_dword off, s[44:47], 0 lds", "exec m0 s[44:47]", "", "Load"},
    {"buffer_store_dwordx2 v[0:1], v14, s[44:47], 0 offen", "exec v[0:1] v14 s[44:47]", "", "Store"},
    {"buffer_atomic_cmpswap v[0:1], off, s[44:47], 0 glc", "exec v[0:1] s[44:47]", "v[0:1]", "Load Store Atomic"},
    {"buffer_atomic_add v0, off, s[44:47], 0", "exec v0 s[44:47]", "", "Store Atomic"},
    {"buffer_wbl2", "exec", "", ""},
    {"buffer_invl2", "exec", "", ""},
    {"tbuffer_load_format_xyzw v[0:3], off, s[44:47], dfmt:14, nfmt:7, 0", "exec s[44:47]", "v[0:3]", "Load"},
    {"tbuffer_store_format_x v0, off, s[44:47], dfmt:14, nfmt:7, 0", "exec v0 s[44:47]", "", "Store"},
    {"image_sample v[0:3], v4, s[8:15], s[16:19] dmask:0xf", "exec v[4:19] s[8:15] s[16:19]", "v[0:3]", "Load"},
    {"image_store v[0:3], v4, s[8:15] dmask:0xf", "exec v[0:3] v[4:19] s[8:15]", "", "Store"},
    {"image_atomic_add v0, v4, s[8:15] dmask:0x1 glc", "exec v0 v[4:19] s[8:15]", "v0", "Load Store Atomic"},
};

constexpr Row kGfx1030[] = {
    {"v_cmp_lt_f32 vcc_lo, v1, v2", "mode exec_lo v1 v2", "vcc_lo", "Vector"},
    {"v_cmp_lt_f32_e64 s4, v1, v2", "mode exec_lo v1 v2", "s4", "Vector"},
    {"v_cmpx_lt_f32 v1, v2", "mode exec_lo v1 v2", "exec_lo", "Vector WritesExec"},
    {"v_cndmask_b32 v0, v1, v2, vcc_lo", "vcc_lo exec_lo v1 v2", "v0", "Vector"},
    {"v_add_co_ci_u32 v0, vcc_lo, v1, v2, vcc_lo", "vcc_lo exec_lo v1 v2", "vcc_lo v0", "Vector"},
    {"v_add_co_u32 v0, s4, v1, v2", "exec_lo v1 v2", "v0 s4", "Vector"},
    {"v_mad_u64_u32 v[0:1], null, v2, v3, v[4:5]", "exec_lo v2 v3 v[4:5]", "v[0:1]", "Vector"},
    {"s_and_saveexec_b32 s0, s1", "exec_lo s1", "exec_lo scc s0", "Scalar WritesExec"},
    {"s_and_saveexec_b64 s[0:1], s[2:3]", "exec s[2:3]", "exec scc s[0:1]", "Scalar WritesExec"},
    {"s_mov_b32 exec_lo, s1", "s1", "exec_lo", "Scalar WritesExec"},
    {"s_cbranch_vccz 5", "vcc_lo", "", "Scalar Branch Conditional Terminator"},
    {"s_cbranch_execnz 5", "exec_lo", "", "Scalar Branch Conditional Terminator"},
    {"s_subvector_loop_begin s0, 4", "exec s0", "exec s0", "Scalar Branch Conditional Terminator WritesExec"},
    {"v_mov_b32 v0, src_vccz", "exec_lo vcc_lo", "v0", "Vector"},
    {"v_add_f16 v0, v1, v2", "mode exec_lo v0 v1 v2", "v0", "Vector PartialWrite"},
    {"v_cvt_f16_f32 v0, v1", "mode exec_lo v0 v1", "v0", "Vector PartialWrite"},
    {"v_cvt_f32_f16 v0, v1", "mode exec_lo v1", "v0", "Vector"},
    {"v_pk_add_f16 v0, v1, v2", "mode exec_lo v1 v2", "v0", "Vector"},
    {"v_mov_b32_dpp v0, v1 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:0", "exec_lo v1", "v0", "Vector CrossLane"},
    {"v_mov_b32_dpp v0, v1 dpp8:[7,6,5,4,3,2,1,0]", "exec_lo v0 v1", "v0", "Vector CrossLane"},
    {"v_permlane16_b32 v0, v1, s2, s3", "exec_lo v0 v1 s2 s3", "v0", "Vector CrossLane"},
    {"v_movrels_b32 v0, v1", "m0 exec_lo v[1:255]", "v0", "Vector Indexed"},
    {"v_movreld_b32 v0, v1", "m0 exec_lo v[0:255] v1", "v[0:255]", "Vector Indexed"},
    {"v_movrelsd_b32 v0, v1", "m0 exec_lo v[0:255] v[1:255]", "v[0:255]", "Vector Indexed"},
    {"s_waitcnt_vscnt null, 0x0", "", "", "Scalar Wait"},
    {"s_round_mode 3", "mode", "mode", "Scalar"},
    {"s_setreg_b32 hwreg(HW_REG_FLAT_SCR_LO), s3", "s3", "flat_scratch_lo", "Scalar"},
    {"s_getreg_b32 s3, hwreg(HW_REG_FLAT_SCR_HI)", "flat_scratch_hi", "s3", "Scalar"},
    {"ds_read_b32 v0, v1", "exec_lo v1", "v0", "Load"},
    {"flat_load_dword v0, v[2:3]", "exec_lo flat_scratch v[2:3]", "v0", "Load"},
    {"scratch_load_dword v0, v1, off", "exec_lo flat_scratch v1", "v0", "Load"},
    {"global_load_dword v0, v1, s[2:3] offset:-16", "exec_lo v1 s[2:3]", "v0", "Load"},
    {"image_load v[0:3], v[4:5], s[8:15] dmask:0xf dim:SQ_RSRC_IMG_2D", "exec_lo v[4:5] s[8:15]", "v[0:3]", "Load"},
    {"image_load v[0:4], v[4:5], s[8:15] dmask:0xf dim:SQ_RSRC_IMG_2D tfe", "exec_lo v[0:4] v[4:5] s[8:15]", "v[0:4]",
     "Load"},
    {"image_sample v[0:3], [v4, v9], s[8:15], s[16:19] dmask:0xf dim:SQ_RSRC_IMG_2D", "exec_lo v4 v9 s[8:15] s[16:19]",
     "v[0:3]", "Load"},
    {"exp mrt0 v0, v1, v2, v3 done", "exec_lo v0 v1 v2 v3", "", "Export"},
};

constexpr Row kGfx803[] = {
    {"ds_read_b32 v0, v1", "exec m0 v1", "v0", "Load"},
    {"v_add_u32 v0, vcc, v1, v2", "exec v1 v2", "vcc v0", "Vector"},
    {"v_add_f16 v0, v1, v2", "mode exec v1 v2", "v0", "Vector"},
    {"v_mad_f16 v0, v1, v2, v3", "mode exec v1 v2 v3", "v0", "Vector"},
    {"flat_load_dword v0, v[2:3]", "exec flat_scratch v[2:3]", "v0", "Load"},
    {"s_load_dword s0, s[2:3], 0x10", "s[2:3]", "s0", "Scalar Load"},
    {"s_store_dword s0, s[2:3], 0x10", "s0 s[2:3]", "", "Scalar Store"},
    {"v_mov_b32_sdwa v0, v1 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:DWORD", "exec v0 v1", "v0",
     "Vector PartialWrite"},
    {"v_interp_p1_f32 v0, v1, attr0.x", "mode m0 exec v1", "v0", "Vector"},
    {"exp mrt0 v0, v1, v2, v3 done", "exec v0 v1 v2 v3", "", "Export"},
    {"image_sample v[0:3], v[4:5], s[8:15], s[16:19] dmask:0xf", "exec v[4:19] s[8:15] s[16:19]", "v[0:3]", "Load"},
    {"s_mov_b32 ttmp0, s1", "s1", "ttmp0", "Scalar"},
    {"v_movrels_b32 v0, v1", "m0 exec v[1:255]", "v0", "Vector Indexed"},
};

constexpr Row kGfx1100[] = {
    {"v_dual_mov_b32 v0, v1 :: v_dual_add_f32 v3, v4, v5", "exec_lo mode v1 v4 v5", "v0 v3", "Vector Dual"},
    {"v_dual_fmac_f32 v0, v1, v2 :: v_dual_mov_b32 v3, 0x12345678", "mode exec_lo v0 v1 v2", "v0 v3", "Vector Dual"},
    {"global_load_b32 v0, v1, s[2:3] offset:-16", "exec_lo v1 s[2:3]", "v0", "Load"},
    {"ds_load_2addr_stride64_b64 v[0:3], v4 offset0:1 offset1:2", "exec_lo v4", "v[0:3]", "Load"},
    {"ds_store_b32 v0, v1", "exec_lo v0 v1", "", "Store"},
    {"s_load_b128 s[0:3], s[4:5], 0x10", "s[4:5]", "s[0:3]", "Scalar Load"},
    {"v_add_f16 v0, v1, v2", "mode exec_lo v0 v1 v2", "v0", "Vector PartialWrite"},
    {"v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]", "exec_lo v[8:15] v[16:23] v[0:7]", "v[0:7]",
     "Vector Matrix CrossLane IgnoresExec"},
    {"s_waitcnt vmcnt(0)", "", "", "Scalar Wait"},
    {"buffer_load_d16_b16 v0, v1, s[4:7], 0 offen", "exec_lo v0 v1 s[4:7]", "v0", "Load PartialWrite"},
    {"v_cmpx_lt_f32 v1, v2", "mode exec_lo v1 v2", "exec_lo", "Vector WritesExec"},
    // High halves in short encodings: v_add_f16 v0.h, v1.l, v2.h; v_cvt_f32_f16 v0, v1.h; v_cmp_lt_f16 vcc_lo, v1.h,
    // v2.l
    {".long 0x65010501", "mode exec_lo v0 v1 v2", "v0", "Vector PartialWrite"},
    {".long 0x7e001781", "mode exec_lo v1", "v0", "Vector"},
    {".long 0x7c020581", "mode exec_lo v1 v2", "vcc_lo", "Vector"},
};

TEST(Decode, ReadsAndWritesOfGfx90a) {
  for (const Row &row : kGfx90a)
    check("gfx90a", row);
}

TEST(Decode, ReadsAndWritesOfGfx1030) {
  for (const Row &row : kGfx1030)
    check("gfx1030", row);
}

TEST(Decode, ReadsAndWritesOfGfx803) {
  for (const Row &row : kGfx803)
    check("gfx803", row);
}

TEST(Decode, ReadsAndWritesOfGfx1100) {
  for (const Row &row : kGfx1100)
    check("gfx1100", row);
}

TEST(Decode, WaveSizeDecidesOnMasks) {
  const Code narrow("gfx1030", "v_cmpx_lt_f32 v1, v2", 32), wide("gfx1030", "v_cmpx_lt_f32 v1, v2", 64);
  EXPECT_EQ(names(narrow[0].writes()), words("exec_lo"));
  EXPECT_EQ(names(wide[0].writes()), words("exec"));
  EXPECT_THAT(Decoder::create(*findTarget("gfx90a"), 32).error().message(),
              HasSubstr("gfx90a has no waves of 32 lanes"));
  EXPECT_FALSE(Decoder::create(*findTarget("gfx1030"), 16));
}

// Tuples of every size that there is.
TEST(Decode, Tuples) {
  const std::pair<const char *, const char *> cases[] = {
      {"s_load_dword s0, s[2:3], 0", "s0"},
      {"s_load_dwordx2 s[0:1], s[2:3], 0", "s[0:1]"},
      {"s_load_dwordx4 s[4:7], s[2:3], 0", "s[4:7]"},
      {"s_load_dwordx8 s[4:11], s[2:3], 0", "s[4:11]"},
      {"s_load_dwordx16 s[4:19], s[2:3], 0", "s[4:19]"},
      {"global_load_dwordx3 v[2:4], v[0:1], off", "v[2:4]"},
      {"v_mfma_f64_16x16x4f64 a[0:7], v[0:1], v[2:3], 0", "a[0:7]"},
      {"v_mfma_f32_32x32x2f32 v[0:15], v20, v21, 0", "v[0:15]"},
      {"v_mfma_f32_32x32x1f32 a[224:255], v0, v1, 0", "a[224:255]"},
  };
  for (const auto &[text, writes] : cases) {
    SCOPED_TRACE(text);
    EXPECT_EQ(names(Code("gfx90a", text)[0].writes()), words(writes));
  }
  EXPECT_EQ(names(Code("gfx1030", "image_load v[0:4], v[8:9], s[8:15] dmask:0xf dim:SQ_RSRC_IMG_2D tfe")[0].writes()),
            words("v[0:4]"));
  // Addresses of five to eight and twelve registers.
  EXPECT_THAT(
      names(
          Code("gfx1030", "image_sample_d v[0:3], v[8:13], s[8:15], s[16:19] dmask:0xf dim:SQ_RSRC_IMG_2D")[0].reads()),
      testing::Contains("v[8:13]"));
  EXPECT_THAT(
      names(Code("gfx1030", "image_sample_c_d v[0:3], v[8:14], s[8:15], s[16:19] dmask:0xf dim:SQ_RSRC_IMG_2D")[0]
                .reads()),
      testing::Contains("v[8:14]"));
}

TEST(Decode, OperandsInOrderOfTheText) {
  const auto describeAll = [](const Instr &instr) {
    std::string text;
    for (const Operand &operand : instr.operands()) {
      text += text.empty() ? "" : ", ";
      switch (operand.kind) {
      case OperandKind::Register:
        text += fmt::format("{}{}{}", operand.regs.empty() ? fmt::format("#{}", operand.value) : toString(operand.regs),
                            operand.written ? "!" : "", operand.read && operand.written ? "?" : "");
        break;
      case OperandKind::Immediate:
        text += fmt::format("{}", operand.value);
        break;
      case OperandKind::Literal:
        text += fmt::format("{:#x}", operand.value);
        break;
      case OperandKind::Modifier:
        text += fmt::format("~{}", operand.value);
        break;
      }
    }
    return text;
  };
  const std::pair<const char *, const char *> cases[] = {
      {"s_add_u32 s0, -5, s1", "s0!, -5, s1"},
      {"s_add_u32 s0, s1, 0x12345678", "s0!, s1, 0x12345678"},
      {"s_mov_b64 s[0:1], src_shared_base", "s[0:1]!, #235"},
      {"s_addk_i32 s0, 7", "s0!?, 7"},
      {"s_branch -2", "-2"},
      {"s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 5", "0x5, 6145"},
      {"v_add_f32 v0, 1.0, v1", "v0!, 1065353216, v1"},
      {"v_add_f32 v0, 0x40490fdb, v1", "v0!, 0x40490fdb, v1"},
      {"v_madmk_f32 v0, v1, 0x40490fdb, v2", "v0!, v1, 0x40490fdb, v2"},
      {"v_fmac_f32 v0, v1, v2", "v0!?, v1, v2"},
      {"v_add_f32 v0, |v1|, -v2 clamp mul:2", "v0!, ~2, v1, ~1, v2, ~1, ~1"},
      {"v_swap_b32 v0, v1", "v0!?, v1!?"},
      {"global_load_dword v0, v1, s[2:3] offset:-16 glc", "v0!, v1, s[2:3], -16, ~1"},
      {"global_store_dword v1, v0, s[2:3]", "v1, v0, s[2:3], 0, ~0"},
      {"scratch_store_dword v1, v0, off", "v1, v0, 0, ~0"},
      {"global_atomic_add v0, v1, v2, s[2:3] glc", "v0!, v1, v2, s[2:3], 0, ~1"},
      {"buffer_load_dword v0, v1, s[4:7], s2 offen offset:8", "v0!, v1, s[4:7], s2, 8, ~0, ~0"},
      {"ds_write2_b32 v0, v1, v2 offset0:3 offset1:4", "v0, v1, v2, 3, 4, ~0"},
  };
  for (const auto &[text, expected] : cases)
    EXPECT_EQ(describeAll(Code("gfx90a", text)[0]), expected) << text;
}

// An encoder may put a value into a literal that would fit into an inline constant.
TEST(Decode, TellsLiteralsFromConstantsByTheEncoding) {
  const uint32_t words[] = {0x8001ff00, 1, 0xbf810000}; // s_add_u32 s1, s0, 1 with a literal
  const std::span bytes(reinterpret_cast<const uint8_t *>(words), sizeof words);
  auto decoder = Decoder::create(*findTarget("gfx90a"));
  ASSERT_TRUE(decoder);
  auto sequence = (*decoder)->decode(bytes, 0);
  ASSERT_TRUE(sequence);
  ASSERT_EQ(sequence->instrs().size(), 2u);
  const Instr &add = sequence->instrs()[0];
  EXPECT_EQ(add.size(), 8u);
  EXPECT_EQ(add.operands()[2].kind, OperandKind::Literal);
  EXPECT_EQ(add.operands()[2].value, 1);
}

TEST(Decode, TargetsOfBranches) {
  const Code code("gfx90a", "s_branch 3\ns_cbranch_scc1 -2\ns_call_b64 s[0:1], 0\ns_setpc_b64 s[0:1]\ns_endpgm");
  ASSERT_EQ(code.sequence.instrs().size(), 5u);
  EXPECT_EQ(code[0].target(), 0x1010u);
  EXPECT_EQ(code[1].target(), 0x1000u);
  EXPECT_EQ(code[2].target(), 0x100cu);
  EXPECT_EQ(code[3].target(), std::nullopt);
  EXPECT_EQ(code[4].target(), std::nullopt);
}

TEST(Decode, FindsInstructionsByAddress) {
  const Code code("gfx90a", "s_nop 0\nv_fma_f32 v0, v1, v2, v3\ns_endpgm");
  EXPECT_EQ(code.sequence.at(0x1000), &code[0]);
  EXPECT_EQ(code.sequence.at(0x1004), &code[1]);
  EXPECT_EQ(code.sequence.at(0x1008), nullptr);
  EXPECT_EQ(code.sequence.at(0x100c), &code[2]);
  EXPECT_EQ(code.sequence.at(0x1010), nullptr);
  EXPECT_EQ(code[1].end(), 0x100cu);
  EXPECT_EQ(code.decoder->text(code[1]), "v_fma_f32 v0, v1, v2, v3");
  EXPECT_EQ(code[1].opcode(), Opcode::V_FMA_F32);
  EXPECT_EQ(code[1].mnemonic(), "v_fma_f32");
}

TEST(Decode, EncodingsOfOneInstructionHaveOneOpcode) {
  const Code code("gfx90a", "v_add_f32_e32 v0, v1, v2\nv_add_f32_e64 v0, v1, v2\n"
                            "v_add_f32_sdwa v0, v1, v2 dst_sel:DWORD src0_sel:WORD_1 src1_sel:DWORD\n"
                            "v_add_f32_dpp v0, v1, v2 row_shr:1 row_mask:0xf bank_mask:0xf");
  ASSERT_EQ(code.sequence.instrs().size(), 4u);
  for (const Instr &instr : code.sequence.instrs())
    EXPECT_EQ(instr.opcode(), Opcode::V_ADD_F32);
  EXPECT_EQ(Code("gfx1100", "v_add_f32_e64 v0, v1, v2")[0].opcode(), Opcode::V_ADD_F32);
}

TEST(Decode, Opcodes) {
  EXPECT_EQ(opcodeFromName("s_endpgm"), Opcode::S_ENDPGM);
  EXPECT_EQ(opcodeFromName("S_ENDPGM"), std::nullopt);
  EXPECT_EQ(opcodeFromName("v_add_f32_e32"), std::nullopt);
  EXPECT_EQ(opcodeFromName(""), std::nullopt);
  EXPECT_GT(kOpcodeCount, 2000u);
  for (unsigned n = 0; n < kOpcodeCount; ++n)
    EXPECT_EQ(opcodeFromName(mnemonic(static_cast<Opcode>(n))), static_cast<Opcode>(n));
}

// Between the two, every VGPR from the named one on may be meant.
TEST(Decode, IndexModeWidensVectorOperands) {
  const Code code("gfx90a", "v_mov_b32 v0, v1\ns_set_gpr_idx_on s0, 9\nv_mov_b32 v250, v253\ns_set_gpr_idx_off\n"
                            "v_mov_b32 v0, v1\ns_endpgm");
  EXPECT_EQ(names(code[0].writes()), words("v0"));
  EXPECT_EQ(names(code[2].reads()), words("exec m0 v[250:255] v[253:255]"));
  EXPECT_EQ(names(code[2].writes()), words("v[250:255]"));
  EXPECT_TRUE(code[2].is(Property::Indexed));
  EXPECT_EQ(names(code[4].writes()), words("v0"));
  EXPECT_FALSE(code[4].is(Property::Indexed));
}

TEST(Decode, IndexModeAcrossBlocksWidensAll) {
  const Code code("gfx90a", "v_mov_b32 v0, v1\ns_set_gpr_idx_on s0, 1\ns_branch 0\nv_mov_b32 v2, v3\n"
                            "s_set_gpr_idx_off\ns_endpgm");
  EXPECT_EQ(names(code[0].writes()), words("v[0:255]"));
  EXPECT_EQ(names(code[3].writes()), words("v[2:255]"));
}

TEST(Decode, VectorInstructionsThatMaybeSkippedOverwriteNothingForSure) {
  const Code code("gfx90a", "v_mov_b32 v0, v1\ns_setvskip s0, 1\nv_mov_b32 v2, v3\ns_mov_b32 s0, s1\ns_endpgm");
  EXPECT_EQ(names(code[0].reads()), words("exec v0 v1"));
  EXPECT_EQ(names(code[2].reads()), words("exec v2 v3"));
  EXPECT_EQ(names(code[3].reads()), words("s1"));
}

// Bit 14 of VOP3 selects the half of a 16-bit result, also for instructions that the assembler gives no op_sel.
TEST(Decode, HalfResultsBySelectionBit) {
  const Code low("gfx90a", ".long 0xd11f0014\n.long 0x00000808"), high("gfx90a", ".long 0xd11f4014\n.long 0x00000808");
  ASSERT_EQ(low[0].mnemonic(), "v_add_f16");
  EXPECT_EQ(names(low[0].reads()), words("mode exec s8 s4"));
  EXPECT_EQ(names(high[0].reads()), words("mode exec v20 s8 s4"));
}

TEST(Decode, PaddingIsLeftOut) {
  for (const char *target : {"gfx90a", "gfx1030"}) {
    SCOPED_TRACE(target);
    EXPECT_EQ(Code(target, "s_endpgm\n.long 0xbf9f0000\n.long 0xbf9f0000").sequence.instrs().size(), 1u);
    EXPECT_EQ(Code(target, "s_endpgm\n.long 0\n.long 0\n.long 0xbf9f0000\n.long 0").sequence.instrs().size(), 1u);
    EXPECT_EQ(Code(target, "s_endpgm\n.byte 0\n.byte 0").sequence.instrs().size(), 1u);
    EXPECT_EQ(Code(target, "s_endpgm\ns_nop 0\ns_nop 0").sequence.instrs().size(), 3u);
    EXPECT_EQ(Code(target, ".long 0\n.long 0").sequence.instrs().size(), 0u);
    EXPECT_EQ(Code(target, "").sequence.instrs().size(), 0u);
  }
  // The last zero is a literal, not padding.
  const Code code("gfx90a", ".long 0xbe8000ff\n.long 0");
  ASSERT_EQ(code.sequence.instrs().size(), 1u);
  EXPECT_EQ(code[0].size(), 8u);
}

TEST(Decode, WhatIsNoInstructionIsAnErrorWithItsAddress) {
  auto decoder = Decoder::create(*findTarget("gfx90a"));
  ASSERT_TRUE(decoder);
  const uint32_t words[] = {0xbf800000, 0xffffffff, 0xbf810000};
  const std::span bytes(reinterpret_cast<const uint8_t *>(words), sizeof words);
  const auto failed = (*decoder)->decode(bytes, 0x2000);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message(), "0x2004: ffffffff is no instruction of gfx90a");
  // An instruction cut off, and one that is not of this target (gfx11's v_dual_mov_b32).
  EXPECT_FALSE((*decoder)->decode(Code("gfx90a", "v_fma_f32 v0, v1, v2, v3").bytes, 0)->instrs().empty());
  auto cut = Code("gfx90a", "v_fma_f32 v0, v1, v2, v3").bytes;
  cut.resize(4);
  EXPECT_FALSE((*decoder)->decode(cut, 0));
  // The decoder is fit for use after an error.
  EXPECT_TRUE((*decoder)->decode(bytes.first(4), 0));
}

/// Halves of registers, as newer compilers use them on gfx11: the register is the same, and keeps its other half.
TEST(Decode, HalvesOfRegisters) {
  const auto decoder = Decoder::create(*findTarget("gfx1100"), 32);
  ASSERT_TRUE(decoder);
  const auto touched = [](std::span<const RegRange> ranges) {
    std::string text;
    for (const RegRange range : ranges)
      if (isVector(range.first))
        text += toString(range) + " ";
    return text;
  };
  const auto decoded = [&](std::vector<uint32_t> words) {
    const auto *begin = reinterpret_cast<const uint8_t *>(words.data());
    const auto code = (*decoder)->decode({begin, 4 * words.size()}, 0);
    if (!code)
      return code.error().message();
    const Instr &instr = code->instrs()[0];
    return fmt::format("{}: {}<- {}", instr.mnemonic(), touched(instr.writes()), touched(instr.reads()));
  };
  EXPECT_EQ(decoded({0x73000b05}), "v_max_f16: v0 <- v0 v5 ");                 // v0.h, v5.l, v5.l
  EXPECT_EQ(decoded({0x7f06a383}), "v_cvt_f16_i16: v3 <- v3 ");                // v3.h, v3.h
  EXPECT_EQ(decoded({0xd59c0080, 0x00000105}), "v_mov_b16: v128 <- v128 v5 "); // v128.l, v5.l
}

} // namespace
} // namespace luthier::isa
