// Functions that never return and code that runs out: what compilers leave behind calls of noreturn functions and traps.

.macro call symbol
  s_getpc_b64 s[4:5]
  s_add_u32 s4, s4, \symbol@rel32@lo+4
  s_addc_u32 s5, s5, \symbol@rel32@hi+12
  s_swappc_b64 s[30:31], s[4:5]
.endm

.macro function name, align=8
  .p2align \align
  .globl \name
  .hidden \name
  .type \name,@function
  \name:
.endm

.macro kernel name
  .p2align 8
  .globl \name
  .protected \name
  .type \name,@function
  \name:
.endm

.macro finish name
  .size \name, .-\name
.endm

.text

function traps
  v_mov_b32 v1, v0
  s_trap 2
finish traps

// Right behind a trap that never comes back: not where it goes on.
function behind_trap, 2
  v_mov_b32 v9, v8
  s_setpc_b64 s[30:31]
finish behind_trap

function debug_traps
  v_mov_b32 v1, v0
  s_trap 3
finish debug_traps

// Right behind a trap that does come back.
function behind_debug_trap, 2
  v_mov_b32 v9, v8
  s_setpc_b64 s[30:31]
finish behind_debug_trap

function loops
  v_mov_b32 v2, v3
  s_branch loops
finish loops

function ends_in_call
  call traps
finish ends_in_call

// `behind_call` is not reached either.
function ends_in_call_before_function
  call loops
finish ends_in_call_before_function

function behind_call, 2
  v_mov_b32 v9, v8
  s_setpc_b64 s[30:31]
finish behind_call

// As compilers write a failed assertion: the return address is lost on the way to it, and only there.
function checks
  v_cmp_gt_u32 vcc, v0, v7
  s_cbranch_vccz .Lchecks_fine
  v_mov_b32 v0, v6
  call ends_in_call
.Lchecks_fine:
  v_mov_b32 v5, v4
  s_setpc_b64 s[30:31]
finish checks

// A tail call of what never returns; one way round through a function that may.
function tails_into_loops
  s_branch loops
finish tails_into_loops

function maybe_tails
  s_cbranch_scc0 behind_call
  s_branch loops
finish maybe_tails

function itself
  v_mov_b32 v2, v3
  s_call_b64 s[30:31], itself
finish itself

kernel calls_checks
  v_mov_b32 v10, 1.0
  call checks
  v_add_f32 v11, v10, v5
  s_endpgm
finish calls_checks

kernel ends_in_trap
  s_cbranch_scc0 .Lends_in_trap
  s_endpgm
.Lends_in_trap:
  v_mov_b32 v1, v0
  s_trap 2
finish ends_in_trap

// s_nop up to `behind_nops`.
kernel ends_in_nops
  v_mov_b32 v1, v0
finish ends_in_nops

kernel behind_nops
  v_mov_b32 v2, v3
  s_endpgm
finish behind_nops

kernel unnamed_code_follows
  v_mov_b32 v1, v0
finish unnamed_code_follows
  v_mov_b32 v2, v3
  s_endpgm

kernel too_many_nops_follow
  v_mov_b32 v1, v0
finish too_many_nops_follow
  .fill 2000, 4, 0xbf800000

kernel ends_in_conditional
  v_mov_b32 v1, v0
  s_cbranch_scc0 ends_in_conditional
finish ends_in_conditional
  .long 0

// The section ends behind it.
kernel ends_in_nothing
  v_mov_b32 v1, v0
finish ends_in_nothing

.macro descriptor name
  .amdhsa_kernel \name
    .amdhsa_next_free_vgpr 48
    .amdhsa_next_free_sgpr 40
    .amdhsa_accum_offset 48
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .end_amdhsa_kernel
.endm

.section .rodata,"a"
descriptor calls_checks
descriptor ends_in_trap
descriptor ends_in_nops
descriptor behind_nops
descriptor unnamed_code_follows
descriptor too_many_nops_follow
descriptor ends_in_conditional
descriptor ends_in_nothing
