// Kernels with and without mistakes, for the tests of `luthier lint`.

.text

.macro kernel name
  .globl \name
  .protected \name
  .p2align 8
  .type \name,@function
  \name:
.endm

.macro finish name
  s_endpgm
  .size \name, .-\name
.endm

#ifdef gfx90a
kernel waits
  global_load_dword v1, v[2:3], off
  s_waitcnt vmcnt(0)
  v_add_f32 v0, v0, v1
finish waits

kernel does_not_wait
  global_load_dwordx2 v[4:5], v[2:3], off
  global_load_dword v1, v[2:3], off
  s_waitcnt vmcnt(1)
  v_add_f32 v0, v4, v5
  v_add_f32 v0, v0, v1
  v_add_f32 v0, v0, v1
finish does_not_wait

kernel uses_it_often
  global_load_dwordx4 v[4:7], v[2:3], off
  v_mov_b32 v8, v4
  v_mov_b32 v9, v5
  v_mov_b32 v10, v6
finish uses_it_often

#endif

kernel too_close
  v_readfirstlane_b32 s0, v0
  buffer_load_dword v1, off, s[0:3], 0
finish too_close

kernel jumps
  s_setpc_b64 s[4:5]
finish jumps

.macro descriptor name
  .amdhsa_kernel \name
    .amdhsa_next_free_vgpr 16
    .amdhsa_next_free_sgpr 16
#ifdef gfx90a
    .amdhsa_accum_offset 16
#endif
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .end_amdhsa_kernel
.endm

.section .rodata,"a"
#ifdef gfx90a
descriptor waits
descriptor does_not_wait
descriptor uses_it_often
#endif
descriptor too_close
descriptor jumps
