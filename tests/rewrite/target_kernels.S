// Kernels that leave no room, for every generation: GEN is 9 to 12, WAVE the lanes of a wave, ACCUM whether vector registers are split into two kinds.
// All take two pointers, out and in; s[0:1] are the arguments' address, s2 is the workgroup's number.

.macro kernel name
  .text
  .p2align 8
  .globl \name
  .protected \name
  .type \name,@function
\name:
  .if GEN >= 12
  s_mov_b32 s2, ttmp9
  .endif
.endm

.macro descriptor name, vgprs, sgprs
  .size \name, .-\name
  .section .rodata,"a"
  .p2align 6
  .amdhsa_kernel \name
    .amdhsa_next_free_vgpr \vgprs
    .amdhsa_next_free_sgpr \sgprs
    .amdhsa_kernarg_size 16
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
#if ACCUM
    .amdhsa_accum_offset \vgprs
#endif
#if GEN >= 10
    .amdhsa_wavefront_size32 WAVE / 32 % 2
#endif
  .end_amdhsa_kernel
  .text
.endm

// What is spelt otherwise.
.macro add d, a, b
  .if GEN >= 10
  v_add_nc_u32_e32 \d, \a, \b
  .else
  v_add_u32_e32 \d, \a, \b
  .endif
.endm
.macro wait
  .if GEN >= 12
  s_wait_loadcnt 0
  s_wait_dscnt 0
  s_wait_kmcnt 0
  .else
  s_waitcnt vmcnt(0) lgkmcnt(0)
  .endif
.endm
.macro finish
  .if GEN >= 11
  s_nop 0
  s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)
  .endif
  s_endpgm
.endm

// Masks: VCC, EXEC, and SGPRs from n on.
.macro compare op, a, b
  .if WAVE == 32
  v_cmp_\op\()_u32_e32 vcc_lo, \a, \b
  .else
  v_cmp_\op\()_u32_e32 vcc, \a, \b
  .endif
.endm
.macro select d, a, b
  .if WAVE == 32
  v_cndmask_b32_e32 \d, \a, \b, vcc_lo
  .else
  v_cndmask_b32_e32 \d, \a, \b, vcc
  .endif
.endm
.macro addCarry d, a, b
  .if GEN == 9
  v_addc_co_u32_e32 \d, vcc, \a, \b, vcc
  .elseif WAVE == 32
  v_add_co_ci_u32_e32 \d, vcc_lo, \a, \b, vcc_lo
  .else
  v_add_co_ci_u32_e32 \d, vcc, \a, \b, vcc
  .endif
.endm
.macro saveExec n
  .if WAVE == 32
  s_mov_b32 s[\n], exec_lo
  .else
  s_mov_b64 s[\n:\n+1], exec
  .endif
.endm
.macro restoreExec n
  .if WAVE == 32
  s_mov_b32 exec_lo, s[\n]
  .else
  s_mov_b64 exec, s[\n:\n+1]
  .endif
.endm
.macro andExecVcc
  .if WAVE == 32
  s_and_b32 exec_lo, exec_lo, vcc_lo
  .else
  s_and_b64 exec, exec, vcc
  .endif
.endm
.macro andSaveExec n
  .if WAVE == 32
  s_and_saveexec_b32 s[\n], vcc_lo
  .else
  s_and_saveexec_b64 s[\n:\n+1], vcc
  .endif
.endm
.macro otherLanes n
  .if WAVE == 32
  s_xor_b32 exec_lo, exec_lo, s[\n]
  .else
  s_xor_b64 exec, exec, s[\n:\n+1]
  .endif
.endm
.macro orExec n
  .if WAVE == 32
  s_or_b32 exec_lo, exec_lo, s[\n]
  .else
  s_or_b64 exec, exec, s[\n:\n+1]
  .endif
.endm

/// v1 = 4 * work-item, s[8:9] = out, s[10:11] = in.
.macro begin
  s_load_dwordx4 s[8:11], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 2, v0
  wait
.endm

// From the first s_nop on to the second, all of these are in use: vector registers up to `vgprs`, scalar ones up to `sgprs`, VCC, SCC and, if `index`, M0.
.macro crowd name, vgprs, sgprs, index
kernel \name
  begin
  global_load_dword v2, v1, s[10:11]
  wait
  .set n, 3
  .rept \vgprs - 3
    add v[n], n, v2
    .set n, n + 1
  .endr
  .set n, 4
  .rept 4
    s_mul_i32 s[n], s2, n + 3
    .set n, n + 1
  .endr
  .set n, 12
  .rept \sgprs - 12
    s_mul_i32 s[n], s2, n + 3
    s_add_u32 s[n], s[n], n
    .set n, n + 1
  .endr
  .if \index
  s_mov_b32 m0, 17
  .endif
  compare gt, v10, v20
  s_cmp_lg_u32 s2, 100
  s_nop 0
  s_cselect_b32 s3, 5, 6
  addCarry v2, v2, v2
  s_nop 0
  .set n, 3
  .rept \vgprs - 3
    v_lshl_add_u32 v2, v2, 1, v[n]
    .set n, n + 1
  .endr
  .set n, 4
  .rept 4
    s_lshl1_add_u32 s3, s3, s[n]
    .set n, n + 1
  .endr
  .set n, 12
  .rept \sgprs - 12
    s_lshl1_add_u32 s3, s3, s[n]
    .set n, n + 1
  .endr
  .if \index
  s_add_u32 s3, s3, m0
  .endif
  add v2, s3, v2
  v_lshl_add_u32 v1, s2, 8, v1
  global_store_dword v1, v2, s[8:9]
  finish
.endm
#if GEN >= 10
#define SGPRS 106
#else
#define SGPRS 102
#endif
crowd crowded, 256, SGPRS, 0
descriptor crowded, 256, SGPRS
crowd twoLeft, 256, SGPRS - 2, 1
descriptor twoLeft, 256, SGPRS
crowd sgprsOnly, 24, SGPRS, 1
descriptor sgprsOnly, 24, SGPRS
crowd vgprsOnly, 256, 40, 1
descriptor vgprsOnly, 256, 48

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
  add v2, 3, v2
  v_mul_u32_u24_e32 v2, 5, v2
  .endr
3:
  s_sub_u32 s20, s20, 1
  s_cmp_lg_u32 s20, 0
  s_cbranch_scc1 1b
  global_store_dword v1, v2, s[8:9]
  finish
descriptor far, 24, 48

// Conditions that are alive for long, a loop whose lanes leave one by one, a stretch in which none is left.
kernel conditions
  begin
  global_load_dword v2, v1, s[10:11]
  s_movk_i32 s20, 0
  s_mov_b32 m0, 0x1234
  v_mov_b32_e32 v3, 0
  .if WAVE == 32
  s_mov_b32 vcc_hi, 0x77 // a register like any other
  .endif
  wait
  v_and_b32_e32 v2, 7, v2
  saveExec 22
1:
  add v3, v3, v2
  s_add_u32 s20, s20, 1
  s_cmp_lt_u32 s20, 6
  compare ge, s20, v2
  select v4, v3, v1
  s_cselect_b32 s21, s20, 0
  v_xor_b32_e32 v3, s21, v3
  add v3, v3, v4
  compare lt, s20, v2
  andExecVcc
  s_cbranch_execnz 1b
  // No lane is active here.
  v_mov_b32_e32 v3, 0
  s_addk_i32 s20, 5
  s_cmp_eq_u32 s20, 12
  s_cselect_b32 s24, m0, 99
  v_mov_b32_e32 v4, 0
  restoreExec 22
  v_mov_b32_e32 v5, s24
  compare gt, v3, v5
  addCarry v6, v5, v4
  // A region that half of the lanes are in, and the other half after it.
  compare gt, 20, v0
  andSaveExec 30
  add v6, 1, v6
  v_mov_b32_e32 v7, v6
  otherLanes 30
  v_mov_b32_e32 v7, v1
  v_cvt_f32_u32_e32 v7, v7
  orExec 30
  v_xor_b32_e32 v6, v6, v7
  .if WAVE == 32
  v_xor_b32_e32 v6, vcc_hi, v6
  .endif
  global_store_dword v1, v6, s[8:9]
  v_mov_b32_e32 v10, m0
  v_mov_b32_e32 v11, s20
  global_store_dword v1, v10, s[8:9] offset:1024
  global_store_dword v1, v11, s[8:9] offset:2032
  finish
descriptor conditions, 24, 48

// Loads, and stores, that belong together.
kernel clauses
  begin
  .if GEN >= 10
  s_clause 3
  .endif
  global_load_dword v2, v1, s[10:11]
  global_load_dword v3, v1, s[10:11] offset:256
  global_load_dword v4, v1, s[10:11] offset:512
  global_load_dword v5, v1, s[10:11] offset:768
  wait
  add v2, v2, v3
  .if GEN >= 11
  s_delay_alu instid0(VALU_DEP_1) | instskip(SKIP_1) | instid1(VALU_DEP_2)
  .endif
  v_xor_b32_e32 v2, v2, v4
  add v3, v3, v5
  v_xor_b32_e32 v2, v2, v3
  .if GEN >= 10
  s_clause 1
  .endif
  global_store_dword v1, v2, s[8:9]
  global_store_dword v1, v3, s[8:9] offset:1024
  finish
descriptor clauses, 24, 48
