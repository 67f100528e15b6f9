// Instructions that read their sources late (gfx906): exports, and GDS.
#include "kernel_macros.inc"
kernel exports
  s_load_dwordx4 s[8:11], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 2, v0
  s_waitcnt lgkmcnt(0)
  .set n, 2
  .rept 254
    v_add_u32_e32 v[n], n, v0
    .set n, n + 1
  .endr
  ds_write_b32 v2, v3 gds
  s_nop 0
  s_waitcnt expcnt(0)
  .set n, 2
  .rept 254
    v_add_u32_e32 v0, v0, v[n]
    .set n, n + 1
  .endr
  global_store_dword v1, v0, s[8:9]
  s_endpgm
  .size exports, .-exports
  .section .rodata,"a"
  .p2align 6
  .amdhsa_kernel exports
    .amdhsa_next_free_vgpr 256
    .amdhsa_next_free_sgpr 16
    .amdhsa_kernarg_size 16
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .end_amdhsa_kernel
