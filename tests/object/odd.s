// What compilers do not write but assemblers may: functions without a size, functions that overlap, aliases, a kernel
// without a function symbol, an undefined and a weak symbol.
  .amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
  .text

  .globl unsized_first
  .type unsized_first,@function
unsized_first:
  s_nop 0
  s_nop 1
  s_setpc_b64 s[30:31]

  .globl unsized_second
  .type unsized_second,@function
unsized_second:
  s_nop 2
  s_setpc_b64 s[30:31]

  .globl outer
  .type outer,@function
outer:
  s_nop 3
  .globl inner
  .type inner,@function
inner:
  s_nop 4
  s_setpc_b64 s[30:31]
.Linner_end:
  .size inner, .Linner_end-inner
  s_nop 5
  s_setpc_b64 s[30:31]
.Louter_end:
  .size outer, .Louter_end-outer

  .globl alias
  .type alias,@function
  .set alias, inner
  .size alias, .Linner_end-inner

  .p2align 8
bare_code:
  s_endpgm
  s_nop 6

  .section .rodata,"a",@progbits
  .p2align 6
  .amdhsa_kernel bare
    .amdhsa_next_free_vgpr 12
    .amdhsa_next_free_sgpr 20
    .amdhsa_accum_offset 12
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_user_sgpr_dispatch_ptr 1
    .amdhsa_system_sgpr_workgroup_id_y 1
    .amdhsa_system_vgpr_workitem_id 2
    .amdhsa_group_segment_fixed_size 1000
    .amdhsa_float_denorm_mode_32 3
    .amdhsa_ieee_mode 0
  .end_amdhsa_kernel

  .set bare, bare_code

  .data
  .globl pointers
  .type pointers,@object
pointers:
  .quad elsewhere
  .quad perhaps
  .quad outer
  .size pointers, 24
  .weak perhaps
