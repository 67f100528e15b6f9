// Kernels for the tests of the rewriter, one for each thing that hooks can see or be in the way of. All take two pointers: out, in.
// What a kernel computes does not matter, as long as everything that could go wrong shows in `out`.

#include "kernel_macros.inc"

// Every way to address memory.
kernel addresses
  s_add_u32 flat_scratch_lo, s2, s5
  s_addc_u32 flat_scratch_hi, s3, 0
  begin
  v_mov_b32_e32 v2, s10
  v_mov_b32_e32 v3, s11
  v_add_co_u32_e32 v2, vcc, v2, v1
  v_addc_co_u32_e32 v3, vcc, 0, v3, vcc
  s_movk_i32 s20, 0x80
  // Flat and global.
  flat_load_dword v4, v[2:3] offset:16
  global_load_dwordx2 v[6:7], v[2:3], off offset:1024
  v_add_u32_e32 v34, 0x100, v1
  global_load_dword v5, v34, s[10:11] offset:-4 glc
  global_load_dwordx4 v[8:11], v1, s[10:11] offset:2048
  s_waitcnt vmcnt(0) lgkmcnt(0)
  // Scratch: by vector, by scalar.
  v_mov_b32_e32 v12, 8
  scratch_store_dword v12, v4, off offset:4
  scratch_store_dwordx2 off, v[6:7], s20 offset:8
  scratch_store_dword v1, v5, off offset:64
  s_waitcnt vmcnt(0)
  scratch_load_dword v13, v12, off offset:4
  scratch_load_dword v14, off, s20 offset:12
  // LDS.
  v_lshlrev_b32_e32 v15, 3, v0
  ds_write_b64 v15, v[6:7] offset:32
  ds_write2_b32 v1, v4, v5 offset0:200 offset1:201
  s_waitcnt vmcnt(0) lgkmcnt(0)
  ds_read2_b32 v[16:17], v15 offset0:8 offset1:9
  ds_read2st64_b32 v[18:19], v1 offset0:1 offset1:3
  ds_read_b128 v[20:23], v15 offset:16
  ds_add_rtn_u32 v24, v1, v0 offset:1200
  s_waitcnt lgkmcnt(0)
  // Buffers: in + ..., 16 bytes per record.
  s_mov_b32 s12, s10
  s_and_b32 s13, s11, 0xffff
  s_or_b32 s13, s13, 0x100000
  s_movk_i32 s14, 0x1000
  s_mov_b32 s15, 0x27000
  v_and_b32_e32 v32, 15, v0
  v_mov_b32_e32 v33, 4
  buffer_load_dword v27, off, s[12:15], 0 offset:20
  buffer_load_dword v28, v1, s[12:15], s20 offen offset:4
  buffer_load_dwordx2 v[30:31], v32, s[12:15], 0 idxen offset:8
  s_waitcnt vmcnt(0)
  v_add_u32_e32 v4, v4, v27
  v_add_u32_e32 v5, v5, v28
  v_xor_b32_e32 v6, v6, v30
  v_xor_b32_e32 v7, v7, v31
  buffer_load_dword v27, v[32:33], s[12:15], s20 idxen offen offset:8
  buffer_load_ubyte v28, v1, s[12:15], 16 offen offset:1
  s_waitcnt vmcnt(0)
  // Scalar memory.
  s_load_dword s16, s[10:11], 0x24
  s_load_dwordx2 s[18:19], s[10:11], s20
  s_buffer_load_dword s17, s[12:15], 0x10
  s_waitcnt lgkmcnt(0)
  // Everything that was loaded into one sum.
  v_mov_b32_e32 v29, 0
  s_xor_b32 s16, s16, s17
  s_add_u32 s16, s16, s18
  s_xor_b32 s16, s16, s19
  .irp r, 4,5,6,7,8,9,10,11,13,14,16,17,18,19,20,21,22,23,24,27,28
  v_mul_lo_u32 v29, v29, 31
  v_add_u32_e32 v29, v29, v\r
  .endr
  v_add_u32_e32 v29, s16, v29
  global_store_dword v1, v29, s[8:9]
  v_mov_b32_e32 v31, 1
  global_atomic_add v31, v1, v31, s[8:9] offset:1024 glc
  s_waitcnt vmcnt(0)
  global_store_dword v1, v31, s[8:9] offset:2048
  s_endpgm
descriptor addresses, scratch=512, flat=1, lds=4096

// Conditions that are alive for long, a loop whose lanes leave one by one, a stretch in which none is left.
kernel conditions
  begin
  global_load_dword v2, v1, s[10:11]
  s_movk_i32 s20, 0
  s_mov_b32 m0, 0x1234
  v_mov_b32_e32 v3, 0
  v_mov_b32_e32 v7, 0
  s_waitcnt vmcnt(0)
  v_and_b32_e32 v2, 7, v2
  s_mov_b64 s[22:23], exec
1:
  v_add_u32_e32 v3, v3, v2
  s_add_u32 s20, s20, 1
  s_cmp_lt_u32 s20, 6
  v_cmp_ge_u32_e32 vcc, s20, v2
  v_cndmask_b32_e32 v4, v3, v1, vcc
  s_cselect_b32 s21, s20, 0
  v_xor_b32_e32 v3, s21, v3
  v_add_u32_e32 v3, v3, v4
  v_cmp_lt_u32_e32 vcc, s20, v2
  s_and_b64 exec, exec, vcc
  s_cbranch_execnz 1b
  // No lane is active here.
  v_mov_b32_e32 v3, 0
  s_addk_i32 s20, 5
  s_cmp_eq_u32 s20, 12
  s_cselect_b32 s24, m0, 99
  v_mov_b32_e32 v4, 0
  s_mov_b64 exec, s[22:23]
  v_mov_b32_e32 v5, s24
  v_add_co_u32_e32 v6, vcc, v3, v5
  v_addc_co_u32_e32 v6, vcc, v6, v4, vcc
  v_mad_u64_u32 v[8:9], s[26:27], v3, v4, v[6:7]
  s_cmp_eq_u64 s[26:27], 0
  s_cselect_b32 s28, 3, 4
  v_add_u32_e32 v6, s28, v6
  // A region that half of the lanes are in, and the other half after it.
  v_cmp_gt_u32_e32 vcc, 20, v0
  s_and_saveexec_b64 s[30:31], vcc
  v_add_u32_e32 v6, 1, v6
  v_mov_b32_e32 v7, v6
  s_xor_b64 exec, exec, s[30:31]
  v_mov_b32_e32 v7, v1
  v_cvt_f32_u32_e32 v7, v7
  s_or_b64 exec, exec, s[30:31]
  v_xor_b32_e32 v6, v6, v7
  v_add_u32_e32 v6, v6, v8
  global_store_dword v1, v6, s[8:9]
  v_mov_b32_e32 v10, m0
  v_mov_b32_e32 v11, s20
  global_store_dword v1, v10, s[8:9] offset:1024
  global_store_dword v1, v11, s[8:9] offset:2048
  s_endpgm
descriptor conditions

// Accumulation registers, and values that nobody needs any more.
kernel accumulators
  begin
  global_load_dword v2, v1, s[10:11]
  s_movk_i32 s20, 77
  v_mov_b32_e32 v9, 0x42
  s_waitcnt vmcnt(0)
  v_accvgpr_write_b32 a0, v2
  v_accvgpr_write_b32 a1, v1
  v_accvgpr_write_b32 a31, v0
  v_add_u32_e32 v3, v2, v1
  v_accvgpr_read_b32 v4, a0
  v_accvgpr_read_b32 v5, a1
  v_accvgpr_read_b32 v6, a31
  v_xor_b32_e32 v3, v3, v4
  v_add_u32_e32 v3, v3, v5
  v_lshl_add_u32 v3, v6, 3, v3
  global_store_dword v1, v3, s[8:9]
  s_nop 0
  s_nop 0
  s_endpgm
descriptor accumulators

// A loop at the very first instruction (5 times in workgroup 0, 4 times in 1, ...), two ends, a branch to the next instruction.
kernel loops
  s_load_dwordx4 s[8:11], s[0:1], 0x0
  s_add_u32 s2, s2, 1
  s_waitcnt lgkmcnt(0)
  s_cmp_lt_u32 s2, 5
  s_cbranch_scc1 loops
  v_lshlrev_b32_e32 v1, 2, v0
  s_movk_i32 s20, 3
1:
  v_add_u32_e32 v1, 0, v1
  s_sub_u32 s20, s20, 1
  s_cmp_lg_u32 s20, 0
  s_cbranch_scc1 1b
  s_branch 2f
2:
  s_cmp_eq_u32 s2, 6
  s_cbranch_scc1 3f
  v_mov_b32_e32 v2, s2
  v_lshl_add_u32 v1, s2, 8, v1
  global_store_dword v1, v2, s[8:9]
  s_endpgm
3:
  v_mov_b32_e32 v2, s20
  global_store_dword v1, v2, s[8:9]
  s_endpgm
descriptor loops

// Twenty places where SCC is free, and twenty where it is in use.
kernel straight
  begin
  .rept 20
    s_nop 0
  .endr
  s_cmp_lg_u32 s2, 3
  .rept 20
    s_nop 0
  .endr
  s_cselect_b32 s3, 5, 6
  v_mov_b32_e32 v2, s3
  global_store_dword v1, v2, s[8:9]
  s_endpgm
descriptor straight

// Registers chosen by an index, in a region that goes over several blocks.
kernel indexed
  begin
  global_load_dword v2, v1, s[10:11]
  v_mov_b32_e32 v8, 10
  v_mov_b32_e32 v9, 20
  v_mov_b32_e32 v10, 30
  v_mov_b32_e32 v11, 40
  s_movk_i32 s20, 2
  s_waitcnt vmcnt(0)
  s_set_gpr_idx_on s20, gpr_idx(SRC0)
  v_mov_b32_e32 v3, v8
  v_mov_b32_e32 v4, v7
  s_set_gpr_idx_off
  s_set_gpr_idx_on s20, gpr_idx(DST)
  v_mov_b32_e32 v8, v2
  s_cmp_eq_u32 s20, 2
  s_cbranch_scc0 1f
  v_mov_b32_e32 v9, v1
1:
  v_mov_b32_e32 v7, v0
  s_set_gpr_idx_off
  v_add_u32_e32 v3, v3, v4
  .irp r, 8,9,10,11
  v_mul_lo_u32 v3, v3, 31
  v_add_u32_e32 v3, v3, v\r
  .endr
  global_store_dword v1, v3, s[8:9]
  s_endpgm
descriptor indexed

// Pairs that need wait states between them, kept apart by instructions that a tool may remove.
kernel spaced
  begin
  v_cmp_gt_u32_e32 vcc, 20, v0
  v_readfirstlane_b32 s20, v0
  v_mov_b32_e32 v2, 1
  v_mov_b32_e32 v3, 2
  v_mov_b32_e32 v4, 3
  v_mov_b32_e32 v5, 4
  v_readlane_b32 s21, v1, s20
  v_mov_b32_e32 v6, s21
  global_store_dword v1, v6, s[8:9]
  s_endpgm
descriptor spaced

// Every kind of state, set up before the first s_nop and stored after it, a row of 64 dwords each.
kernel changes
  begin
  global_load_dword v2, v1, s[10:11]
  s_movk_i32 s20, 100
  s_mov_b32 m0, 5
  v_mov_b32_e32 v4, 10
  v_mov_b32_e32 v5, 20
  v_mov_b32_e32 v7, 66
  v_mov_b32_e32 v8, 77
  s_cmp_eq_u32 s20, 100
  v_cmp_gt_u32_e32 vcc, 48, v0
  s_waitcnt vmcnt(0)
  v_accvgpr_write_b32 a0, v2
  s_nop 0
  s_cselect_b32 s21, 1, 2
  v_cndmask_b32_e32 v3, v4, v5, vcc
  v_mov_b32_e32 v6, m0
  v_mov_b32_e32 v7, s20
  v_mov_b32_e32 v8, s21
  v_accvgpr_read_b32 v9, a0
  global_store_dword v1, v2, s[8:9]
  global_store_dword v1, v3, s[8:9] offset:256
  global_store_dword v1, v6, s[8:9] offset:512
  global_store_dword v1, v7, s[8:9] offset:768
  global_store_dword v1, v8, s[8:9] offset:1024
  global_store_dword v1, v9, s[8:9] offset:1280
  s_endpgm
descriptor changes

// Without arguments, and without a pointer to them: s0 is the workgroup's number.
kernel withoutArguments
  s_nop 0
  s_endpgm
  .size withoutArguments, .-withoutArguments
  .section .rodata,"a"
  .p2align 6
  .amdhsa_kernel withoutArguments
    .amdhsa_next_free_vgpr 4
    .amdhsa_next_free_sgpr 8
    .amdhsa_accum_offset 4
  .end_amdhsa_kernel
  .text
