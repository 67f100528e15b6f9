// Code that cannot be rewritten: a function inside of another one.
#include "kernel_macros.inc"

function outer
  v_mov_b32_e32 v2, 1
.globl inner
.hidden inner
.type inner,@function
inner:
  v_mov_b32_e32 v3, 1
  s_setpc_b64 s[30:31]
.size inner, .-inner
  s_nop 0
  s_setpc_b64 s[30:31]
.size outer, .-outer

kernel overlapping
  begin
  s_getpc_b64 s[24:25]
  s_add_u32 s24, s24, inner@rel32@lo+4
  s_addc_u32 s25, s25, inner@rel32@hi+12
  s_swappc_b64 s[30:31], s[24:25]
  global_store_dword v1, v3, s[8:9]
  s_endpgm
descriptor overlapping
