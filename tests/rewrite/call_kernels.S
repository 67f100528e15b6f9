// Functions and those who call them: directly in a loop, through pointers, through a table of addresses, recursively.
#include "kernel_macros.inc"

// v2 = f(v2), with two returns. Counts in s33.
function helper
  s_add_u32 s33, s33, 1
  s_bitcmp1_b32 s33, 0
  s_cbranch_scc1 1f
  v_add_u32_e32 v2, 3, v2
  s_setpc_b64 s[30:31]
1:
  v_xor_b32_e32 v2, 5, v2
  s_setpc_b64 s[30:31]
.size helper, .-helper

.macro call name
  s_getpc_b64 s[24:25]
  s_add_u32 s24, s24, \name@rel32@lo+4
  s_addc_u32 s25, s25, \name@rel32@hi+12
  s_swappc_b64 s[30:31], s[24:25]
.endm

.macro caller name, times
kernel \name
  begin
  s_movk_i32 s33, 0
  s_movk_i32 s20, \times
  v_mov_b32_e32 v2, v0
1:
  call helper
  s_sub_u32 s20, s20, 1
  s_cmp_lg_u32 s20, 0
  s_cbranch_scc1 1b
  global_store_dword v1, v2, s[8:9]
  s_endpgm
descriptor \name
.endm
caller calls, 4
caller callsToo, 7

// Addresses in memory: functions that are only called through them.
function first
  v_add_u32_e32 v2, 100, v2
  s_setpc_b64 s[30:31]
.size first, .-first
function second
  v_mul_lo_u32 v2, v2, 7
  s_cmp_lg_u32 s20, 77
  s_cbranch_scc1 1f
  v_mov_b32_e32 v2, 0
1:
  s_setpc_b64 s[30:31]
.size second, .-second

.section .data.rel.ro,"aw"
.p2align 3
table:
  .quad first
  .quad second
.text

kernel pointers
  begin
  v_mov_b32_e32 v2, v0
  s_movk_i32 s20, 0
  s_getpc_b64 s[26:27]
  s_add_u32 s26, s26, table@rel32@lo+4
  s_addc_u32 s27, s27, table@rel32@hi+12
1:
  s_and_b32 s21, s20, 1
  s_lshl_b32 s21, s21, 3
  s_load_dwordx2 s[24:25], s[26:27], s21
  s_waitcnt lgkmcnt(0)
  s_swappc_b64 s[30:31], s[24:25]
  s_add_u32 s20, s20, 1
  s_cmp_lt_u32 s20, 5
  s_cbranch_scc1 1b
  global_store_dword v1, v2, s[8:9]
  s_endpgm
descriptor pointers

// A table of branches, entered at a place that is computed: workgroup n adds (n + 1) * 10.
kernel jumps
  begin
  v_mov_b32_e32 v2, v0
  s_and_b32 s20, s2, 3
  s_getpc_b64 s[24:25]
base:
  s_lshl_b32 s21, s20, 3
  s_add_u32 s24, s24, s21
  s_addc_u32 s25, s25, 0
  s_add_u32 s24, s24, cases-base
  s_addc_u32 s25, s25, 0
  s_setpc_b64 s[24:25]
cases:
  v_add_u32_e32 v2, 10, v2
  s_branch done
  v_add_u32_e32 v2, 20, v2
  s_branch done
  v_add_u32_e32 v2, 30, v2
  s_branch done
  v_add_u32_e32 v2, 40, v2
  s_branch done
done:
  v_lshl_add_u32 v1, s2, 8, v1
  global_store_dword v1, v2, s[8:9]
  s_endpgm
descriptor jumps

// down(s20): v2 = v2 * 3 + s20, then down(s20 - 1) until it is 0. Return addresses are kept in lanes of v40.
function down
  s_cmp_eq_u32 s20, 0
  s_cbranch_scc1 1f
  v_mul_lo_u32 v2, v2, 3
  v_add_u32_e32 v2, s20, v2
  s_lshl_b32 s21, s20, 1
  s_mov_b32 m0, s21
  s_nop 0
  v_writelane_b32 v30, s30, m0
  s_add_u32 m0, m0, 1
  s_nop 0
  v_writelane_b32 v30, s31, m0
  s_sub_u32 s20, s20, 1
  call down
  s_add_u32 s20, s20, 1
  s_lshl_b32 s21, s20, 1
  s_nop 4
  v_readlane_b32 s30, v30, s21
  s_add_u32 s21, s21, 1
  s_nop 4
  v_readlane_b32 s31, v30, s21
  v_add_u32_e32 v2, 1, v2
1:
  s_setpc_b64 s[30:31]
.size down, .-down

kernel recursion
  begin
  v_mov_b32_e32 v2, v0
  s_movk_i32 s20, 5
  call down
  global_store_dword v1, v2, s[8:9]
  s_endpgm
descriptor recursion

// Code that ends inside of a function.
function leave
  s_cmp_eq_u32 s2, 1
  s_cbranch_scc1 1f
  v_add_u32_e32 v2, 1, v2
  s_setpc_b64 s[30:31]
1:
  global_store_dword v1, v2, s[8:9] offset:1024
  s_endpgm
.size leave, .-leave
kernel leaves
  begin
  v_mov_b32_e32 v2, v0
  call leave
  v_lshl_add_u32 v1, s2, 8, v1
  global_store_dword v1, v2, s[8:9]
  s_endpgm
descriptor leaves

// A check as compilers write assertions: what fails calls a function that never returns, with nothing behind the call,
// and the return address is lost only on that way. Workgroup 2 fails where the input is as `fail` says.
function die
  v_mov_b32_e32 v2, 77
  global_store_dword v1, v2, s[8:9] offset:2048
  s_trap 2
.size die, .-die
function fatal
  v_mov_b32_e32 v3, 0
  call die
.size fatal, .-fatal
function check
  s_cmp_lg_u32 s2, s20
  s_cbranch_scc1 1f
  call fatal
1:
  v_add_u32_e32 v2, 5, v2
  s_setpc_b64 s[30:31]
.size check, .-check

.macro checked name, fail
kernel \name
  begin
  s_movk_i32 s20, \fail
  v_mov_b32_e32 v2, v0
  call check
  s_cmp_eq_u32 s2, s20
  s_cbranch_scc1 1f
  v_lshl_add_u32 v1, s2, 8, v1
  global_store_dword v1, v2, s[8:9]
  s_endpgm
1:
  call fatal
descriptor \name
.endm
checked checkHolds, 1000
checked checkFails, 2

// Nothing is behind the call, which returns all the same: `helper` is what would come next in a copy.
kernel endsInCall
  begin
  s_movk_i32 s33, 0
  v_mov_b32_e32 v2, v0
  global_store_dword v1, v2, s[8:9]
  call helper
descriptor endsInCall
