// Kernels that lean on what hardware does and a kind machine does not show (strict_test.cc). All take two pointers: out, in.
#include "kernel_macros.inc"

/// As `descriptor`, with exactly these registers: none for VCC and FLAT_SCRATCH unless said, and none for XNACK_MASK
/// where the target is xnack-.
.macro exact name, vgprs=16, accum=16, sgprs=16, vcc=0, flat=0, mode=0xf0, invalid=0
  .size \name, .-\name
  .section .rodata,"a"
  .p2align 6
  .amdhsa_kernel \name
    .amdhsa_next_free_vgpr \vgprs
    .amdhsa_next_free_sgpr \sgprs
    .amdhsa_accum_offset \accum
    .amdhsa_reserve_vcc \vcc
    .amdhsa_reserve_flat_scratch \flat
    .amdhsa_kernarg_size 16
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_float_round_mode_32 \mode & 3
    .amdhsa_float_round_mode_16_64 (\mode >> 2) & 3
    .amdhsa_float_denorm_mode_32 (\mode >> 4) & 3
    .amdhsa_float_denorm_mode_16_64 (\mode >> 6) & 3
    .amdhsa_exception_fp_ieee_invalid_op \invalid
  .end_amdhsa_kernel
  .text
.endm

/// v1 = 4 * lane + 256 * workgroup.
.macro byGroup
  v_lshl_add_u32 v1, s2, 8, v1
.endm

// All 16 scalar registers are in use over the first s_nop; s[10:15] are what VCC, XNACK_MASK and FLAT_SCRATCH would be.
kernel tight
  begin
  byGroup
  .irp n, 2,3,4,5,6,7,12,13,14,15
  s_mul_i32 s\n, s2, \n + 3
  s_add_u32 s\n, s\n, \n
  .endr
  s_nop 0
  v_mov_b32_e32 v2, s15
  .irp n, 14,13,12,11,10,7,6,5,4,3
  v_lshl_add_u32 v2, v2, 1, s\n
  .endr
  v_sub_u32_e32 v2, v2, v0
  s_nop 0
  global_store_dword v1, v2, s[8:9]
  s_endpgm
exact tight

// All vector registers are in use, so that a hook must spill to scratch and needs FLAT_SCRATCH; of the scalar ones, s[8:15].
kernel tightSpill
  begin
  byGroup
  .set n, 2
  .rept 254
    v_add_u32_e32 v[n], n, v0
    .set n, n + 1
  .endr
  .set n, 0
  .rept 256
    v_accvgpr_write_b32 a[n], v[n]
    .set n, n + 1
  .endr
  .irp n, 12,13,14,15
  s_mul_i32 s\n, s2, \n + 3
  .endr
  s_nop 0
  .set n, 2
  .rept 254
    v_lshl_add_u32 v0, v0, 1, v[n]
    .set n, n + 1
  .endr
  .set n, 0
  .rept 256
    v_accvgpr_read_b32 v3, a[n]
    v_lshl_add_u32 v0, v0, 1, v3
    .set n, n + 1
  .endr
  .irp n, 12,13,14,15
  v_lshl_add_u32 v0, v0, 1, s\n
  .endr
  global_store_dword v1, v0, s[8:9]
  s_endpgm
exact tightSpill, vgprs=512, accum=256

// A branch on VCCZ behind the first s_nop; the second half of the lanes' numbers decide.
kernel branchesOnVccz
  begin
  v_cmp_gt_u32_e32 vcc, 20, v0
  v_mov_b32_e32 v2, 1
  s_nop 0
  s_cbranch_vccz 1f
  v_mov_b32_e32 v2, 2
1:
  v_cndmask_b32_e32 v3, 10, v2, vcc
  global_store_dword v1, v2, s[8:9]
  global_store_dword v1, v3, s[8:9] offset:256
  s_endpgm
descriptor branchesOnVccz

// Blocks so short that what is at the end of one is a neighbour of what is at the start of the next.
kernel shortBlocks
  begin
  v_add_u32_e32 v5, 3, v0
  s_cmp_eq_u32 s2, 77
  s_cbranch_scc1 2f
1:
  v_mov_b32_dpp v6, v7 row_shr:1 row_mask:0xf bank_mask:0xf
  v_mov_b32_e32 v7, v5
  s_nop 3
  s_cbranch_scc1 1b
  s_branch 2f
2:
  s_branch 3f
3:
  v_mov_b32_e32 v8, v5
  global_store_dword v1, v8, s[8:9]
  s_endpgm
descriptor shortBlocks

// Its first instruction moves work-items' numbers between lanes.
kernel movesIdsFirst
  v_mov_b32_dpp v2, v0 row_shr:1 row_mask:0xf bank_mask:0xf
  begin
  global_store_dword v1, v2, s[8:9]
  s_endpgm
descriptor movesIdsFirst

// Loads whose neighbours must not overwrite their addresses where an access may be repeated.
kernel loadsInARow
  begin
  v_mov_b32_e32 v2, 1
  v_mov_b32_e32 v3, 2
  v_mov_b32_e32 v4, s10
  v_add_co_u32_e32 v4, vcc, v4, v1
  v_mov_b32_e32 v5, s11
  v_addc_co_u32_e32 v5, vcc, 0, v5, vcc
  s_nop 0
  global_load_dword v6, v[4:5], off
  global_load_dword v7, v[4:5], off offset:256
  s_nop 0
  s_waitcnt vmcnt(0)
  .irp r, 0,2,3,4,5,7
  v_add_u32_e32 v6, v6, v\r
  .endr
  global_store_dword v1, v6, s[8:9]
  s_endpgm
descriptor loadsInARow, vgprs=8, accum=8

// Rounds towards zero and flushes denormals between the two s_nop; what it computes there is stored.
kernel rounds
  begin
  v_cvt_f32_u32_e32 v2, v0
  v_add_f32_e32 v2, 1.0, v2
  v_rcp_f32_e32 v3, v2
  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 8), 0xcf
  v_mul_f32_e32 v4, v3, v2
  s_nop 0
  v_add_f32_e32 v5, v3, v2
  s_nop 0
  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 8), 0xf0
  v_add_f32_e32 v6, v3, v2
  s_nop 0
  global_store_dword v1, v4, s[8:9]
  global_store_dword v1, v5, s[8:9] offset:256
  global_store_dword v1, v6, s[8:9] offset:512
  s_endpgm
descriptor rounds

// The same by its descriptor, and by a register.
kernel roundsFromStart
  begin
  v_cvt_f32_u32_e32 v2, v0
  s_nop 0
  v_rcp_f32_e32 v3, v2
  v_add_f32_e32 v5, v3, v2
  global_store_dword v1, v5, s[8:9]
  s_endpgm
exact roundsFromStart, mode=0xcf, vcc=1
kernel roundsByRegister
  begin
  v_cvt_f32_u32_e32 v2, v0
  s_mov_b32 s3, 0xcf
  s_setreg_b32 hwreg(HW_REG_MODE, 0, 8), s3
  s_nop 0
  v_rcp_f32_e32 v3, v2
  v_add_f32_e32 v5, v3, v2
  s_mov_b32 s3, 0xf0
  s_nop 0
  s_setreg_b32 hwreg(HW_REG_MODE, 0, 8), s3
  global_store_dword v1, v5, s[8:9]
  s_endpgm
descriptor roundsByRegister

// Looks at the sticky exception flags behind the s_nop.
kernel looksAtFlags
  begin
  s_nop 0
  s_getreg_b32 s3, hwreg(HW_REG_TRAPSTS, 0, 9)
  v_mov_b32_e32 v2, s3
  global_store_dword v1, v2, s[8:9]
  s_endpgm
exact looksAtFlags, vcc=1
kernel trapsOnInvalid
  begin
  s_nop 0
  global_store_dword v1, v0, s[8:9]
  s_endpgm
exact trapsOnInvalid, vcc=1, invalid=1
