// Functions and calls of every kind, for the tests of the call graph: linked to a code object for several targets.

.macro address pair_lo, pair_hi, symbol
  s_getpc_b64 s[\pair_lo:\pair_hi]
  s_add_u32 s\pair_lo, s\pair_lo, \symbol@rel32@lo+4
  s_addc_u32 s\pair_hi, s\pair_hi, \symbol@rel32@hi+12
.endm

.macro got pair_lo, pair_hi, symbol
  s_getpc_b64 s[\pair_lo:\pair_hi]
  s_add_u32 s\pair_lo, s\pair_lo, \symbol@gotpcrel32@lo+4
  s_addc_u32 s\pair_hi, s\pair_hi, \symbol@gotpcrel32@hi+12
  s_load_dwordx2 s[\pair_lo:\pair_hi], s[\pair_lo:\pair_hi], 0x0
  s_waitcnt lgkmcnt(0)
.endm

.macro begin name
  .p2align 8
  .type \name,@function
  \name:
.endm

.macro kernel name
  .globl \name
  .protected \name
  begin \name
.endm

.macro function name
  .globl \name
  .hidden \name
  begin \name
.endm

.macro finish name
  .size \name, .-\name
.endm

.text

// --- device functions ---------------------------------------------------------------------------------------------

// Reads v0, writes v1, leaves the rest.
function leaf
  s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
  v_add_f32 v1, v0, v0
  s_setpc_b64 s[30:31]
finish leaf

function by_got
  s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
  v_mov_b32 v2, v0
  s_setpc_b64 s[30:31]
finish by_got

// Only its address is used, by a table in memory.
function in_table
  s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
  v_mov_b32 v3, v0
  s_setpc_b64 s[30:31]
finish in_table

// Only its address is used, by code that stores it.
function stored
  s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
  s_setpc_b64 s[30:31]
finish stored

// Goes on in `leaf`, which returns for it.
function tail_caller
  s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
  v_mov_b32 v0, 1.0
  address 4 5 leaf
  s_setpc_b64 s[4:5]
finish tail_caller

function even
  v_writelane_b32 v40, s30, 0
  v_writelane_b32 v40, s31, 1
  address 4 5 odd
  s_swappc_b64 s[30:31], s[4:5]
  v_readlane_b32 s30, v40, 0
  v_readlane_b32 s31, v40, 1
  s_setpc_b64 s[30:31]
finish even

function odd
  v_mov_b32 v6, v7
  s_cbranch_scc0 .Lodd_end
  v_writelane_b32 v41, s30, 0
  v_writelane_b32 v41, s31, 1
  address 4 5 even
  s_swappc_b64 s[30:31], s[4:5]
  v_readlane_b32 s30, v41, 0
  v_readlane_b32 s31, v41, 1
.Lodd_end:
  s_setpc_b64 s[30:31]
finish odd

function itself
  s_cbranch_scc0 .Litself_end
  s_mov_b64 s[34:35], s[30:31]
  address 4 5 itself
  s_swappc_b64 s[30:31], s[4:5]
  s_mov_b64 s[30:31], s[34:35]
.Litself_end:
  s_setpc_b64 s[30:31]
finish itself

// `inner` begins within `outer` and ends behind it.
function outer
  v_mov_b32 v0, 0
  .hidden inner
  .type inner,@function
inner:
  v_mov_b32 v1, 1
  s_setpc_b64 s[30:31]
finish outer
  s_nop 0
  s_endpgm
finish inner

// Without a size, up to the next symbol; and it falls into that.
  .p2align 8
  .hidden unsized
  .type unsized,@function
unsized:
  v_mov_b32 v1, 1
  .hidden follower
  .type follower,@function
follower:
  v_mov_b32 v2, 2
  s_setpc_b64 s[30:31]
finish follower

// --- kernels ------------------------------------------------------------------------------------------------------

kernel direct
  v_mov_b32 v0, 1.0
  v_mov_b32 v5, 1.0
  address 4 5 leaf
  s_swappc_b64 s[30:31], s[4:5]
  v_add_f32 v4, v1, v5
  s_endpgm
finish direct

kernel through_got
  v_mov_b32 v0, 1.0
  got 4 5 by_got
  s_swappc_b64 s[30:31], s[4:5]
  s_endpgm
finish through_got

kernel indirect
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  s_swappc_b64 s[30:31], s[4:5]
  s_endpgm
finish indirect

kernel stores_pointer
  address 4 5 stored
  v_mov_b32 v0, s4
  v_mov_b32 v1, s5
  flat_store_dwordx2 v[2:3], v[0:1]
  s_endpgm
finish stores_pointer

kernel tails
  address 4 5 tail_caller
  s_swappc_b64 s[30:31], s[4:5]
  s_endpgm
finish tails

kernel recursive
  address 4 5 even
  s_swappc_b64 s[30:31], s[4:5]
  address 4 5 itself
  s_swappc_b64 s[30:31], s[4:5]
  s_endpgm
finish recursive

kernel loop_head
  s_sub_u32 s0, s0, 1
  s_cbranch_scc0 loop_head
  s_endpgm
finish loop_head

.data
  .p2align 3
  .globl pointers
  .protected pointers
  .type pointers,@object
  .size pointers, 8
pointers:
  .quad in_table

.macro descriptor name
  .amdhsa_kernel \name
    .amdhsa_next_free_vgpr 48
    .amdhsa_next_free_sgpr 40
#ifdef ACCUM_OFFSET
    .amdhsa_accum_offset ACCUM_OFFSET
#endif
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .end_amdhsa_kernel
.endm

.section .rodata,"a"
descriptor direct
descriptor through_got
descriptor indirect
descriptor stores_pointer
descriptor tails
descriptor recursive
descriptor loop_head
