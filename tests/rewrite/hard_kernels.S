// Kernels that leave no room.
#include "kernel_macros.inc"

// All 256 vector registers, or 512, and all scalar ones are in use from the first s_nop on to the second; M0 if `index`.
.macro crowd name, accumulators, index
kernel \name
  begin
  global_load_dword v2, v1, s[10:11]
  s_waitcnt vmcnt(0)
  .set n, 3
  .rept 253
    v_add_u32_e32 v[n], n, v2
    .set n, n + 1
  .endr
  .if \accumulators
  .set n, 0
  .rept 256
    v_accvgpr_write_b32 a[n], v[n]
    .set n, n + 1
  .endr
  .endif
  .set n, 4
  .rept 4
    s_mul_i32 s[n], s2, n + 3
    .set n, n + 1
  .endr
  .set n, 12
  .rept 90
    s_mul_i32 s[n], s2, n + 3
    s_add_u32 s[n], s[n], n
    .set n, n + 1
  .endr
  .if \index
  s_mov_b32 m0, 17
  .endif
  v_cmp_gt_u32_e32 vcc, v200, v100
  s_cmp_lg_u32 s2, 100
  s_nop 0
  s_cselect_b32 s3, 5, 6
  v_addc_co_u32_e32 v2, vcc, v2, v2, vcc
  s_nop 0
  .set n, 3
  .rept 253
    v_lshl_add_u32 v2, v2, 1, v[n]
    .set n, n + 1
  .endr
  .if \accumulators
  .set n, 0
  .rept 256
    v_accvgpr_read_b32 v3, a[n]
    v_lshl_add_u32 v2, v2, 1, v3
    .set n, n + 1
  .endr
  .endif
  .set n, 4
  .rept 4
    s_lshl1_add_u32 s3, s3, s[n]
    .set n, n + 1
  .endr
  .set n, 12
  .rept 90
    s_lshl1_add_u32 s3, s3, s[n]
    .set n, n + 1
  .endr
  .if \index
  s_add_u32 s3, s3, m0
  .endif
  v_add_u32_e32 v2, s3, v2
  v_lshl_add_u32 v1, s2, 8, v1
  global_store_dword v1, v2, s[8:9]
  s_endpgm
.endm
crowd crowded, 0, 1
descriptor crowded, vgprs=256, accum=256, sgprs=102
crowd crowdedAccumulators, 1, 0
descriptor crowdedAccumulators, vgprs=512, accum=256, sgprs=102
crowd full, 1, 1
descriptor full, vgprs=512, accum=256, sgprs=102

// All scalar registers, but few vector ones.
kernel sgprsOnly
  begin
  .set n, 4
  .rept 4
    s_mul_i32 s[n], s2, n + 3
    .set n, n + 1
  .endr
  .set n, 12
  .rept 90
    s_mul_i32 s[n], s2, n + 3
    .set n, n + 1
  .endr
  s_nop 0
  s_mov_b32 s3, 0
  s_nop 0
  .set n, 4
  .rept 4
    s_lshl1_add_u32 s3, s3, s[n]
    .set n, n + 1
  .endr
  .set n, 12
  .rept 90
    s_lshl1_add_u32 s3, s3, s[n]
    .set n, n + 1
  .endr
  v_mov_b32_e32 v2, s3
  v_lshl_add_u32 v1, s2, 8, v1
  global_store_dword v1, v2, s[8:9]
  s_endpgm
descriptor sgprsOnly, vgprs=8, accum=8, sgprs=102

// A loop with a body that hooks make longer than a branch can reach.
kernel far
  begin
  v_mov_b32_e32 v2, v0
  s_movk_i32 s20, 3
1:
  s_cmp_eq_u32 s20, 2
  s_cbranch_scc1 2f
  .rept 1500
  v_lshl_add_u32 v2, v2, 1, v1
  v_xor_b32_e32 v2, s20, v2
  .endr
  s_cmp_eq_u32 s20, 3
  s_cbranch_scc1 3f
2:
  .rept 1500
  v_add_u32_e32 v2, 3, v2
  v_mul_u32_u24_e32 v2, 5, v2
  .endr
3:
  s_sub_u32 s20, s20, 1
  s_cmp_lg_u32 s20, 0
  s_cbranch_scc1 1b
  global_store_dword v1, v2, s[8:9]
  s_endpgm
descriptor far
