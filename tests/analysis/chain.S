// Functions that call each other in a chain far longer than any program has, and a kernel at its head; and a function with many
// jumps to unknown places and many addresses that they might go to.

.altmacro
.macro link n, next
  .p2align 2
  .globl f\n
  .hidden f\n
  .type f\n,@function
f\n:
  s_getpc_b64 s[4:5]
  s_add_u32 s4, s4, f\next@rel32@lo+4
  s_addc_u32 s5, s5, f\next@rel32@hi+12
  s_swappc_b64 s[30:31], s[4:5]
  s_setpc_b64 s[30:31]
  .size f\n, .-f\n
.endm

.text
.globl head
.protected head
.p2align 8
.type head,@function
head:
  s_getpc_b64 s[4:5]
  s_add_u32 s4, s4, f0@rel32@lo+4
  s_addc_u32 s5, s5, f0@rel32@hi+12
  s_swappc_b64 s[30:31], s[4:5]
  s_endpgm
.size head, .-head

.set number, 0
.rept 20000
  link %number, %number+1
  .set number, number+1
.endr
.globl f20000
.hidden f20000
.type f20000,@function
f20000:
  s_setpc_b64 s[30:31]
.size f20000, .-f20000

.globl jumps
.hidden jumps
.type jumps,@function
jumps:
.rept 4000
  s_getpc_b64 s[4:5]
  v_mov_b32 v0, s4
  v_mov_b32 v1, s5
  s_setpc_b64 s[6:7]
.endr
.size jumps, .-jumps

.section .rodata,"a"
.amdhsa_kernel head
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 40
  .amdhsa_accum_offset 8
.end_amdhsa_kernel
