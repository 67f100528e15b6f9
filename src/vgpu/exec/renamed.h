// Instructions that later targets have under another name. A row carries the name that gfx9 gives it; what only the
// spelling tells apart shares the row. Instructions that also do something else, such as 16-bit ones, which keep the
// other half of their result from gfx10 on, are rows of their own.
//
// LLVM's assembler knows most of these pairs too; tests/vgpu/wave/decoder_encodings_test.cc asks it.
#pragma once

#include <string_view>

namespace luthier::vgpu {

struct Renamed {
  std::string_view name;
  std::string_view row;
};

#define LUTHIER_LOADS(SPACE)                                                                                           \
  {SPACE "_load_b32", SPACE "_load_dword"}, {SPACE "_load_b64", SPACE "_load_dwordx2"},                                \
      {SPACE "_load_b96", SPACE "_load_dwordx3"}, {SPACE "_load_b128", SPACE "_load_dwordx4"},                         \
      {SPACE "_load_u8", SPACE "_load_ubyte"}, {SPACE "_load_i8", SPACE "_load_sbyte"},                                \
      {SPACE "_load_u16", SPACE "_load_ushort"}, {SPACE "_load_i16", SPACE "_load_sshort"},                            \
      {SPACE "_store_b8", SPACE "_store_byte"}, {SPACE "_store_b16", SPACE "_store_short"},                            \
      {SPACE "_store_b32", SPACE "_store_dword"}, {SPACE "_store_b64", SPACE "_store_dwordx2"},                        \
      {SPACE "_store_b96", SPACE "_store_dwordx3"}, {SPACE "_store_b128", SPACE "_store_dwordx4"},                     \
      {SPACE "_load_d16_u8", SPACE "_load_ubyte_d16"}, {SPACE "_load_d16_hi_u8", SPACE "_load_ubyte_d16_hi"},          \
      {SPACE "_load_d16_i8", SPACE "_load_sbyte_d16"}, {SPACE "_load_d16_hi_i8", SPACE "_load_sbyte_d16_hi"},          \
      {SPACE "_load_d16_b16", SPACE "_load_short_d16"}, {SPACE "_load_d16_hi_b16", SPACE "_load_short_d16_hi"},        \
      {SPACE "_store_d16_hi_b8", SPACE "_store_byte_d16_hi"}, {SPACE "_store_d16_hi_b16", SPACE "_store_short_d16_hi"}
#define LUTHIER_ATOMIC(NAME, TYPE, OLD) {NAME "_" TYPE "32", OLD}, {NAME "_" TYPE "64", OLD "_x2"}
#define LUTHIER_ATOMICS(SPACE)                                                                                         \
  LUTHIER_ATOMIC(SPACE "_atomic_swap", "b", SPACE "_atomic_swap"),                                                     \
      LUTHIER_ATOMIC(SPACE "_atomic_cmpswap", "b", SPACE "_atomic_cmpswap"),                                           \
      LUTHIER_ATOMIC(SPACE "_atomic_add", "u", SPACE "_atomic_add"),                                                   \
      LUTHIER_ATOMIC(SPACE "_atomic_sub", "u", SPACE "_atomic_sub"),                                                   \
      LUTHIER_ATOMIC(SPACE "_atomic_min", "i", SPACE "_atomic_smin"),                                                  \
      LUTHIER_ATOMIC(SPACE "_atomic_min", "u", SPACE "_atomic_umin"),                                                  \
      LUTHIER_ATOMIC(SPACE "_atomic_max", "i", SPACE "_atomic_smax"),                                                  \
      LUTHIER_ATOMIC(SPACE "_atomic_max", "u", SPACE "_atomic_umax"),                                                  \
      LUTHIER_ATOMIC(SPACE "_atomic_and", "b", SPACE "_atomic_and"),                                                   \
      LUTHIER_ATOMIC(SPACE "_atomic_or", "b", SPACE "_atomic_or"),                                                     \
      LUTHIER_ATOMIC(SPACE "_atomic_xor", "b", SPACE "_atomic_xor"),                                                   \
      LUTHIER_ATOMIC(SPACE "_atomic_inc", "u", SPACE "_atomic_inc"),                                                   \
      LUTHIER_ATOMIC(SPACE "_atomic_dec", "u", SPACE "_atomic_dec"), {SPACE "_atomic_min_f32", SPACE "_atomic_fmin"},  \
      {SPACE "_atomic_max_f32", SPACE "_atomic_fmax"}, {SPACE "_atomic_cmpswap_f32", SPACE "_atomic_fcmpswap"}
#define LUTHIER_FORMATS(PREFIX)                                                                                        \
  {PREFIX "_d16_format_x", PREFIX "_format_d16_x"}, {PREFIX "_d16_format_xy", PREFIX "_format_d16_xy"},                \
      {PREFIX "_d16_format_xyz", PREFIX "_format_d16_xyz"}, {PREFIX "_d16_format_xyzw", PREFIX "_format_d16_xyzw"}
#define LUTHIER_SCALAR_LOADS(NAME)                                                                                     \
  {NAME "_b32", NAME "_dword"}, {NAME "_b64", NAME "_dwordx2"}, {NAME "_b128", NAME "_dwordx4"},                       \
      {NAME "_b256", NAME "_dwordx8"}, {NAME "_b512", NAME "_dwordx16"}

#define LUTHIER_BOTH(NAME, OLD) {NAME "_b32", OLD "_b32"}, {NAME "_b64", OLD "_b64"}

inline constexpr Renamed kRenamed[] = {
    // gfx940. Its bf16 instructions are those that had _1k in their names.
    {"v_mfma_f32_32x32x1_2b_f32", "v_mfma_f32_32x32x1f32"},
    {"v_mfma_f32_16x16x1_4b_f32", "v_mfma_f32_16x16x1f32"},
    {"v_mfma_f32_4x4x1_16b_f32", "v_mfma_f32_4x4x1f32"},
    {"v_mfma_f32_32x32x2_f32", "v_mfma_f32_32x32x2f32"},
    {"v_mfma_f32_16x16x4_f32", "v_mfma_f32_16x16x4f32"},
    {"v_mfma_f32_32x32x4_2b_f16", "v_mfma_f32_32x32x4f16"},
    {"v_mfma_f32_16x16x4_4b_f16", "v_mfma_f32_16x16x4f16"},
    {"v_mfma_f32_4x4x4_16b_f16", "v_mfma_f32_4x4x4f16"},
    {"v_mfma_f32_32x32x8_f16", "v_mfma_f32_32x32x8f16"},
    {"v_mfma_f32_16x16x16_f16", "v_mfma_f32_16x16x16f16"},
    {"v_mfma_f32_32x32x4_2b_bf16", "v_mfma_f32_32x32x4bf16_1k"},
    {"v_mfma_f32_16x16x4_4b_bf16", "v_mfma_f32_16x16x4bf16_1k"},
    {"v_mfma_f32_4x4x4_16b_bf16", "v_mfma_f32_4x4x4bf16_1k"},
    {"v_mfma_f32_32x32x8_bf16", "v_mfma_f32_32x32x8bf16_1k"},
    {"v_mfma_f32_16x16x16_bf16", "v_mfma_f32_16x16x16bf16_1k"},
    {"v_mfma_i32_32x32x4_2b_i8", "v_mfma_i32_32x32x4i8"},
    {"v_mfma_i32_16x16x4_4b_i8", "v_mfma_i32_16x16x4i8"},
    {"v_mfma_i32_4x4x4_16b_i8", "v_mfma_i32_4x4x4i8"},
    {"v_mfma_f64_16x16x4_f64", "v_mfma_f64_16x16x4f64"},
    {"v_mfma_f64_4x4x4_4b_f64", "v_mfma_f64_4x4x4f64"},
    // gfx10
    {"v_add_nc_u32", "v_add_u32"},
    {"v_sub_nc_u32", "v_sub_u32"},
    {"v_subrev_nc_u32", "v_subrev_u32"},
    {"v_add_co_ci_u32", "v_addc_co_u32"},
    {"v_sub_co_ci_u32", "v_subb_co_u32"},
    {"v_subrev_co_ci_u32", "v_subbrev_co_u32"},
    {"v_add_nc_u16", "v_add_u16"},
    {"v_sub_nc_u16", "v_sub_u16"},
    {"v_add_nc_i16", "v_add_i16"},
    {"v_sub_nc_i16", "v_sub_i16"},
    {"v_add_nc_i32", "v_add_i32"},
    {"v_sub_nc_i32", "v_sub_i32"},
    {"v_mul_lo_i32", "v_mul_lo_u32"},
    // gfx11
    LUTHIER_SCALAR_LOADS("s_load"),
    LUTHIER_SCALAR_LOADS("s_buffer_load"),
    LUTHIER_LOADS("global"),
    LUTHIER_LOADS("flat"),
    LUTHIER_LOADS("scratch"),
    LUTHIER_LOADS("buffer"),
    LUTHIER_ATOMICS("global"),
    LUTHIER_ATOMICS("flat"),
    LUTHIER_ATOMICS("buffer"),
    LUTHIER_FORMATS("buffer_load"),
    LUTHIER_FORMATS("buffer_store"),
    LUTHIER_FORMATS("tbuffer_load"),
    LUTHIER_FORMATS("tbuffer_store"),
    {"buffer_load_d16_hi_format_x", "buffer_load_format_d16_hi_x"},
    {"buffer_store_d16_hi_format_x", "buffer_store_format_d16_hi_x"},
    {"buffer_load_lds_b32", "buffer_load_dword"},
    {"buffer_load_lds_u8", "buffer_load_ubyte"},
    {"buffer_load_lds_i8", "buffer_load_sbyte"},
    {"buffer_load_lds_u16", "buffer_load_ushort"},
    {"buffer_load_lds_i16", "buffer_load_sshort"},
    {"buffer_load_lds_format_x", "buffer_load_format_x"},
    {"buffer_atomic_csub_u32", "buffer_atomic_csub"},
    {"global_atomic_csub_u32", "global_atomic_csub"},
    {"global_load_addtid_b32", "global_load_dword_addtid"},
    {"global_store_addtid_b32", "global_store_dword_addtid"},
    {"ds_load_b32", "ds_read_b32"},
    {"ds_load_b64", "ds_read_b64"},
    {"ds_load_b96", "ds_read_b96"},
    {"ds_load_b128", "ds_read_b128"},
    {"ds_load_u8", "ds_read_u8"},
    {"ds_load_i8", "ds_read_i8"},
    {"ds_load_u16", "ds_read_u16"},
    {"ds_load_i16", "ds_read_i16"},
    {"ds_load_2addr_b32", "ds_read2_b32"},
    {"ds_load_2addr_b64", "ds_read2_b64"},
    {"ds_load_2addr_stride64_b32", "ds_read2st64_b32"},
    {"ds_load_2addr_stride64_b64", "ds_read2st64_b64"},
    {"ds_store_b8", "ds_write_b8"},
    {"ds_store_b16", "ds_write_b16"},
    {"ds_store_b32", "ds_write_b32"},
    {"ds_store_b64", "ds_write_b64"},
    {"ds_store_b96", "ds_write_b96"},
    {"ds_store_b128", "ds_write_b128"},
    {"ds_store_2addr_b32", "ds_write2_b32"},
    {"ds_store_2addr_b64", "ds_write2_b64"},
    {"ds_store_2addr_stride64_b32", "ds_write2st64_b32"},
    {"ds_store_2addr_stride64_b64", "ds_write2st64_b64"},
    {"ds_load_u8_d16", "ds_read_u8_d16"},
    {"ds_load_u8_d16_hi", "ds_read_u8_d16_hi"},
    {"ds_load_i8_d16", "ds_read_i8_d16"},
    {"ds_load_i8_d16_hi", "ds_read_i8_d16_hi"},
    {"ds_load_u16_d16", "ds_read_u16_d16"},
    {"ds_load_u16_d16_hi", "ds_read_u16_d16_hi"},
    {"ds_store_b8_d16_hi", "ds_write_b8_d16_hi"},
    {"ds_store_b16_d16_hi", "ds_write_b16_d16_hi"},
    {"ds_load_addtid_b32", "ds_read_addtid_b32"},
    {"ds_store_addtid_b32", "ds_write_addtid_b32"},
    {"ds_storexchg_rtn_b32", "ds_wrxchg_rtn_b32"},
    {"ds_storexchg_rtn_b64", "ds_wrxchg_rtn_b64"},
    {"ds_storexchg_2addr_rtn_b32", "ds_wrxchg2_rtn_b32"},
    {"ds_storexchg_2addr_rtn_b64", "ds_wrxchg2_rtn_b64"},
    {"ds_storexchg_2addr_stride64_rtn_b32", "ds_wrxchg2st64_rtn_b32"},
    {"ds_storexchg_2addr_stride64_rtn_b64", "ds_wrxchg2st64_rtn_b64"},
    {"s_and_not1_b32", "s_andn2_b32"},
    {"s_and_not1_b64", "s_andn2_b64"},
    {"s_or_not1_b32", "s_orn2_b32"},
    {"s_or_not1_b64", "s_orn2_b64"},
    LUTHIER_BOTH("s_and_not0_saveexec", "s_andn1_saveexec"),
    LUTHIER_BOTH("s_and_not1_saveexec", "s_andn2_saveexec"),
    LUTHIER_BOTH("s_or_not0_saveexec", "s_orn1_saveexec"),
    LUTHIER_BOTH("s_or_not1_saveexec", "s_orn2_saveexec"),
    LUTHIER_BOTH("s_and_not0_wrexec", "s_andn1_wrexec"),
    LUTHIER_BOTH("s_and_not1_wrexec", "s_andn2_wrexec"),
    LUTHIER_BOTH("s_ctz_i32", "s_ff1_i32"),
    {"s_clz_i32_u32", "s_flbit_i32_b32"},
    {"s_clz_i32_u64", "s_flbit_i32_b64"},
    {"s_cls_i32", "s_flbit_i32"},
    {"s_cls_i32_i64", "s_flbit_i32_i64"},
    {"s_set_inst_prefetch_distance", "s_inst_prefetch"},
    {"v_clz_i32_u32", "v_ffbh_u32"},
    {"v_ctz_i32_b32", "v_ffbl_b32"},
    {"v_cls_i32", "v_ffbh_i32"},
    {"v_cvt_floor_i32_f32", "v_cvt_flr_i32_f32"},
    {"v_cvt_nearest_i32_f32", "v_cvt_rpi_i32_f32"},
    {"v_cvt_pk_norm_i16_f32", "v_cvt_pknorm_i16_f32"},
    {"v_cvt_pk_norm_u16_f32", "v_cvt_pknorm_u16_f32"},
    {"v_cvt_pk_norm_i16_f16", "v_cvt_pknorm_i16_f16"},
    {"v_cvt_pk_norm_u16_f16", "v_cvt_pknorm_u16_f16"},
    {"v_cvt_pk_rtz_f16_f32", "v_cvt_pkrtz_f16_f32"},
    {"v_cmp_t_f16", "v_cmp_tru_f16"},
    {"v_cmp_t_f32", "v_cmp_tru_f32"},
    {"v_cmp_t_f64", "v_cmp_tru_f64"},
    {"v_cmpx_t_f16", "v_cmpx_tru_f16"},
    {"v_cmpx_t_f32", "v_cmpx_tru_f32"},
    {"v_cmpx_t_f64", "v_cmpx_tru_f64"},
    {"v_mul_dx9_zero_f32", "v_mul_legacy_f32"},
    {"v_fma_dx9_zero_f32", "v_fma_legacy_f32"},
    {"v_fmac_dx9_zero_f32", "v_fmac_legacy_f32"},
    // gfx12
    {"buffer_atomic_sub_clamp_u32", "buffer_atomic_csub"},
    {"global_atomic_sub_clamp_u32", "global_atomic_csub"},
    {"ds_direct_load", "lds_direct_load"},
    {"s_add_co_u32", "s_add_u32"},
    {"s_sub_co_u32", "s_sub_u32"},
    {"s_add_co_i32", "s_add_i32"},
    {"s_sub_co_i32", "s_sub_i32"},
    {"s_add_co_ci_u32", "s_addc_u32"},
    {"s_sub_co_ci_u32", "s_subb_u32"},
    {"s_addk_co_i32", "s_addk_i32"},
    {"s_wait_alu", "s_waitcnt_depctr"},
    {"v_mad_co_u64_u32", "v_mad_u64_u32"},
    {"v_mad_co_i64_i32", "v_mad_i64_i32"},
};

#undef LUTHIER_LOADS
#undef LUTHIER_ATOMICS
#undef LUTHIER_FORMATS
#undef LUTHIER_ATOMIC
#undef LUTHIER_SCALAR_LOADS
#undef LUTHIER_BOTH

} // namespace luthier::vgpu
