// SOP1: scalar instructions with one source (manual, section 12.3).

#include "vgpu/exec/modes.h"
#include "vgpu/exec/scalar.h"
#include "vgpu/exec/tables.h"

#include <bit>

namespace luthier::vgpu {

namespace {

/// An operation whose SCC says whether the result is nonzero.
template <class T, auto F> constexpr Row unary(std::string_view mnemonic) {
  return salu<[](T a, Scc &scc) {
    const auto d = F(a);
    scc.set = d != 0;
    return d;
  }>(mnemonic);
}

template <class T> constexpr T reverse(T x) {
  if constexpr (sizeof(T) == 8)
    return __builtin_bitreverse64(x);
  else
    return __builtin_bitreverse32(x);
}

/// Bit i of the result: is any bit of quad i set?
template <class T> constexpr T quadMask(T x) {
  T d = 0;
  for (unsigned quad = 0; quad < sizeof(T) * 2; ++quad)
    d |= static_cast<T>((x >> (quad * 4) & 0xf) != 0) << quad;
  return d;
}

/// All four bits of every quad that has a bit set.
template <class T> constexpr T wholeQuads(T x) {
  T any = x | x >> 1;
  any = (any | any >> 2) & static_cast<T>(0x1111111111111111);
  return any * 0xf;
}

template <class T> constexpr i32 firstOne(T x) { return x == 0 ? -1 : std::countr_zero(x); }
template <class T> constexpr i32 leadingZeros(T x) { return x == 0 ? -1 : std::countl_zero(x); }
/// How many bits from the top equal the sign; -1 when all do.
template <class T> constexpr i32 signRun(T x) {
  constexpr unsigned kSign = sizeof(T) * 8 - 1;
  return leadingZeros<T>(x >> kSign ? ~x : x);
}

constexpr u64 replicateBits(u32 x) {
  u64 d = 0;
  for (unsigned n = 0; n < 32; ++n)
    d |= static_cast<u64>(x >> n & 1) * 3 << (n * 2);
  return d;
}

// EXEC or EXEC_LO, whatever the size of the wave.
template <class T> T execAs(const Wave &w) {
  if constexpr (sizeof(T) == 8)
    return w.scalar64(kExec);
  else
    return w.s[kExec];
}
template <class T> void setScalar(Wave &w, unsigned reg, T value) { memcpy(&w.s[reg], &value, sizeof value); }

/// D = EXEC, then EXEC = F(S0, EXEC).
template <class T, auto F> const Inst *saveExec(Wave &w, const Inst *i) {
  const T exec = execAs<T>(w);
  const T result = F(scalarOperand<T>(w, *i, 0), exec);
  setScalar<T>(w, i->dst, exec);
  setScalar<T>(w, kExec, result);
  w.scc = result != 0;
  return i->next();
}

/// EXEC = D = F(S0, EXEC).
template <class T, auto F> const Inst *writeExec(Wave &w, const Inst *i) {
  const T result = F(scalarOperand<T>(w, *i, 0), execAs<T>(w));
  setScalar<T>(w, kExec, result);
  setScalar<T>(w, i->dst, result);
  w.scc = result != 0;
  return i->next();
}

template <class T> const Inst *s_cmov(Wave &w, const Inst *i) {
  const T value = scalarOperand<T>(w, *i, 0);
  if (w.scc)
    memcpy(&w.s[i->dst], &value, sizeof value);
  return i->next();
}

template <class T, bool Set> const Inst *s_bitset(Wave &w, const Inst *i) {
  const T bit = T(1) << (scalarOperand<u32>(w, *i, 0) & (sizeof(T) * 8 - 1));
  T value;
  memcpy(&value, &w.s[i->dst], sizeof value);
  value = Set ? value | bit : value & ~bit;
  memcpy(&w.s[i->dst], &value, sizeof value);
  return i->next();
}

/// SGPRs that relative addressing reaches; what is beyond reads as SGPR0 and is not written (manual, 3.6.1).
bool inRange(const Wave &w, u64 reg, size_t bytes) { return reg + bytes / 4 <= w.sgprs; }

template <class T> const Inst *s_movrels(Wave &w, const Inst *i) {
  const u64 reg = u64(i->src[0].reg) + w.s[kM0];
  T value;
  memcpy(&value, &w.s[inRange(w, reg, sizeof value) ? reg : 0], sizeof value);
  memcpy(&w.s[i->dst], &value, sizeof value);
  return i->next();
}

template <class T> const Inst *s_movreld(Wave &w, const Inst *i) {
  const u64 reg = u64(i->dst) + w.s[kM0];
  const T value = scalarOperand<T>(w, *i, 0);
  if (inRange(w, reg, sizeof value))
    memcpy(&w.s[reg], &value, sizeof value);
  return i->next();
}

/// Both are relative, by M0[9:0] and M0[25:16].
const Inst *s_movrelsd_2_b32(Wave &w, const Inst *i) {
  const u64 from = u64(i->src[0].reg) + (w.s[kM0] & 0x3ff), to = u64(i->dst) + (w.s[kM0] >> 16 & 0x3ff);
  const u32 value = w.s[inRange(w, from, 4) ? from : 0];
  if (inRange(w, to, 4))
    w.s[to] = value;
  return i->next();
}

const Inst *s_getpc_b64(Wave &w, const Inst *i) {
  w.setScalar64(i->dst, nextPc(w, i));
  return i->next();
}

const Inst *s_setpc_b64(Wave &w, const Inst *i) { return w.jump(scalarOperand<u64>(w, *i, 0)); }

const Inst *s_swappc_b64(Wave &w, const Inst *i) {
  const u64 target = scalarOperand<u64>(w, *i, 0);
  w.setScalar64(i->dst, nextPc(w, i));
  return w.jump(target);
}

/// Messages that are answered.
template <class T> const Inst *s_sendmsg_rtn(Wave &w, const Inst *i) {
  enum Message { GetDoorbell = 0x80, GetDdid, GetTma, GetRealTime, SaveWave, GetTba };
  switch (i->imm & 0xff) {
  case GetRealTime:
    setScalar<T>(w, i->dst, static_cast<T>(Wave::clock()));
    return i->next();
  case GetDoorbell:
  case GetTma:
  case SaveWave:
  case GetTba:
    return w.illegal(i, "sends a message that is reserved for trap handlers, and none is running");
  default:
    return w.illegal(i, "sends a message that compute kernels do not have");
  }
}

/// The barrier of the workgroup is -1; -2 is the trap handler's, and signalling 0 does nothing.
template <bool IsFirst> const Inst *s_barrier_signal(Wave &w, const Inst *i) {
  if (i->srcKind[0] != SrcKind::Constant && i->srcKind[0] != SrcKind::None)
    return w.illegal(i, "signals a barrier that M0 names, which this GPU does not have");
  const i32 barrier = i->srcKind[0] == SrcKind::Constant ? static_cast<i32>(i->src[0].lanes[0]) : i->imm;
  if (barrier > 0)
    return w.illegal(i, "signals a named barrier, which this GPU does not have");
  const bool first = barrier == -1 && w.signalBarrier();
  if (IsFirst)
    w.scc = first;
  return i->next();
}

const Inst *s_get_barrier_state(Wave &w, const Inst *i) {
  if (i->srcKind[0] != SrcKind::Constant && i->srcKind[0] != SrcKind::None)
    return w.illegal(i, "asks for a barrier that M0 names, which this GPU does not have");
  const i32 barrier = i->srcKind[0] == SrcKind::Constant ? static_cast<i32>(i->src[0].lanes[0]) : i->imm;
  w.s[i->dst] = barrier == -1 ? w.barrierState() : 0;
  return i->next();
}

const Inst *namedBarrier(Wave &w, const Inst *i) {
  return w.illegal(i, "uses a named barrier, which this GPU does not have");
}

const Inst *s_sleep_var(Wave &w, const Inst *i) {
  if ((scalarOperand<u32>(w, *i, 0) & 0x7f) == 0)
    return i->next();
  w.stop = Stop::Yield;
  w.ip = i->next();
  return nullptr;
}

const Inst *s_rfe_b64(Wave &w, const Inst *i) {
  return w.illegal(i, "returns from a trap handler, and none is running");
}

const Inst *s_cbranch_join(Wave &w, const Inst *i) {
  const u32 depth = w.mode >> kCspShift;
  if (depth == scalarOperand<u32>(w, *i, 0))
    return i->next();
  if (depth == 0)
    return w.illegal(i, "pops an empty branch stack");
  w.mode = (w.mode & ~kCsp) | (depth - 1) << kCspShift;
  w.setExec(w.scalar64((depth - 1) * 4));
  return w.jump(w.scalar64((depth - 1) * 4 + 2));
}

const Inst *s_set_gpr_idx_idx(Wave &w, const Inst *i) {
  w.s[kM0] = (w.s[kM0] & ~0xffu) | (scalarOperand<u32>(w, *i, 0) & 0xff);
  return i->next();
}

constexpr Row kRows[] = {
    salu<[](u32 a) { return a; }>("s_mov_b32"),
    salu<[](u64 a) { return a; }>("s_mov_b64"),
    plain("s_cmov_b32", s_cmov<u32>, Type::U32),
    plain("s_cmov_b64", s_cmov<u64>, Type::U64),
    unary<u32, [](u32 a) { return ~a; }>("s_not_b32"),
    unary<u64, [](u64 a) { return ~a; }>("s_not_b64"),
    unary<u32, wholeQuads<u32>>("s_wqm_b32"),
    unary<u64, wholeQuads<u64>>("s_wqm_b64"),
    unary<u32, quadMask<u32>>("s_quadmask_b32"),
    unary<u64, quadMask<u64>>("s_quadmask_b64"),
    salu<[](u32 a) { return reverse(a); }>("s_brev_b32"),
    salu<[](u64 a) { return reverse(a); }>("s_brev_b64"),
    unary<u32, [](u32 a) { return std::popcount(~a); }>("s_bcnt0_i32_b32"),
    unary<u64, [](u64 a) { return std::popcount(~a); }>("s_bcnt0_i32_b64"),
    unary<u32, [](u32 a) { return std::popcount(a); }>("s_bcnt1_i32_b32"),
    unary<u64, [](u64 a) { return std::popcount(a); }>("s_bcnt1_i32_b64"),
    salu<[](u32 a) { return firstOne(~a); }>("s_ff0_i32_b32"),
    salu<[](u64 a) { return firstOne(~a); }>("s_ff0_i32_b64"),
    salu<[](u32 a) { return firstOne(a); }>("s_ff1_i32_b32"),
    salu<[](u64 a) { return firstOne(a); }>("s_ff1_i32_b64"),
    salu<[](u32 a) { return leadingZeros(a); }>("s_flbit_i32_b32"),
    salu<[](u64 a) { return leadingZeros(a); }>("s_flbit_i32_b64"),
    salu<[](u32 a) { return signRun(a); }>("s_flbit_i32"),
    salu<[](u64 a) { return signRun(a); }>("s_flbit_i32_i64"),
    salu<[](u32 a) { return i32(i8(a)); }>("s_sext_i32_i8"),
    salu<[](u32 a) { return i32(i16(a)); }>("s_sext_i32_i16"),
    unary<u32, [](u32 a) { return i32(a) < 0 ? 0 - a : a; }>("s_abs_i32"),
    salu<[](u32 a) { return replicateBits(a); }>("s_bitreplicate_b64_b32"),
    plain("s_bitset0_b32", s_bitset<u32, false>, Type::U32),
    plain("s_bitset0_b64", s_bitset<u64, false>, Type::U32),
    plain("s_bitset1_b32", s_bitset<u32, true>, Type::U32),
    plain("s_bitset1_b64", s_bitset<u64, true>, Type::U32),

    straight<saveExec<u64, [](u64 a, u64 exec) { return a & exec; }>>("s_and_saveexec_b64", Type::U64),
    straight<saveExec<u64, [](u64 a, u64 exec) { return a | exec; }>>("s_or_saveexec_b64", Type::U64),
    straight<saveExec<u64, [](u64 a, u64 exec) { return a ^ exec; }>>("s_xor_saveexec_b64", Type::U64),
    straight<saveExec<u64, [](u64 a, u64 exec) { return ~a & exec; }>>("s_andn1_saveexec_b64", Type::U64),
    straight<saveExec<u64, [](u64 a, u64 exec) { return ~a | exec; }>>("s_orn1_saveexec_b64", Type::U64),
    straight<saveExec<u64, [](u64 a, u64 exec) { return a & ~exec; }>>("s_andn2_saveexec_b64", Type::U64),
    straight<saveExec<u64, [](u64 a, u64 exec) { return a | ~exec; }>>("s_orn2_saveexec_b64", Type::U64),
    straight<saveExec<u64, [](u64 a, u64 exec) { return ~(a & exec); }>>("s_nand_saveexec_b64", Type::U64),
    straight<saveExec<u64, [](u64 a, u64 exec) { return ~(a | exec); }>>("s_nor_saveexec_b64", Type::U64),
    straight<saveExec<u64, [](u64 a, u64 exec) { return ~(a ^ exec); }>>("s_xnor_saveexec_b64", Type::U64),
    plain("s_andn1_wrexec_b64", writeExec<u64, [](u64 a, u64 exec) { return ~a & exec; }>, Type::U64),
    plain("s_andn2_wrexec_b64", writeExec<u64, [](u64 a, u64 exec) { return a & ~exec; }>, Type::U64),
    straight<saveExec<u32, [](u32 a, u32 exec) { return a & exec; }>>("s_and_saveexec_b32", Type::U32),
    straight<saveExec<u32, [](u32 a, u32 exec) { return a | exec; }>>("s_or_saveexec_b32", Type::U32),
    straight<saveExec<u32, [](u32 a, u32 exec) { return a ^ exec; }>>("s_xor_saveexec_b32", Type::U32),
    straight<saveExec<u32, [](u32 a, u32 exec) { return ~a & exec; }>>("s_andn1_saveexec_b32", Type::U32),
    straight<saveExec<u32, [](u32 a, u32 exec) { return ~a | exec; }>>("s_orn1_saveexec_b32", Type::U32),
    straight<saveExec<u32, [](u32 a, u32 exec) { return a & ~exec; }>>("s_andn2_saveexec_b32", Type::U32),
    straight<saveExec<u32, [](u32 a, u32 exec) { return a | ~exec; }>>("s_orn2_saveexec_b32", Type::U32),
    straight<saveExec<u32, [](u32 a, u32 exec) { return ~(a & exec); }>>("s_nand_saveexec_b32", Type::U32),
    straight<saveExec<u32, [](u32 a, u32 exec) { return ~(a | exec); }>>("s_nor_saveexec_b32", Type::U32),
    straight<saveExec<u32, [](u32 a, u32 exec) { return ~(a ^ exec); }>>("s_xnor_saveexec_b32", Type::U32),
    plain("s_andn1_wrexec_b32", writeExec<u32, [](u32 a, u32 exec) { return ~a & exec; }>, Type::U32),
    plain("s_andn2_wrexec_b32", writeExec<u32, [](u32 a, u32 exec) { return a & ~exec; }>, Type::U32),

    plain("s_movrels_b32", s_movrels<u32>, Type::U32),
    plain("s_movrels_b64", s_movrels<u64>, Type::U64),
    plain("s_movreld_b32", s_movreld<u32>, Type::U32),
    plain("s_movreld_b64", s_movreld<u64>, Type::U64),
    plain("s_movrelsd_2_b32", s_movrelsd_2_b32, Type::U32),
    plain("s_set_gpr_idx_idx", s_set_gpr_idx_idx, Type::U32),

    plain("s_getpc_b64", s_getpc_b64),
    plain("s_setpc_b64", s_setpc_b64, Type::U64, Type::None, kEndsRun),
    plain("s_swappc_b64", s_swappc_b64, Type::U64),
    plain("s_rfe_b64", s_rfe_b64, Type::U64, Type::None, kEndsRun).refused(why::kNoDebugger),
    plain("s_cbranch_join", s_cbranch_join, Type::U32),

    plain("s_sendmsg_rtn_b32", s_sendmsg_rtn<u32>).documented(why::kNoDebugger),
    plain("s_sendmsg_rtn_b64", s_sendmsg_rtn<u64>).documented(why::kNoDebugger),
    plain("s_barrier_signal", s_barrier_signal<false>, Type::I32),
    plain("s_barrier_signal_isfirst", s_barrier_signal<true>, Type::I32),
    plain("s_get_barrier_state", s_get_barrier_state, Type::I32),
    plain("s_barrier_init", namedBarrier, Type::I32).refused("these targets have no named barriers"),
    plain("s_barrier_join", namedBarrier, Type::I32).refused("these targets have no named barriers"),
    plain("s_wakeup_barrier", namedBarrier, Type::I32).refused("these targets have no named barriers"),
    plain("s_sleep_var", s_sleep_var, Type::U32),
};

} // namespace

std::span<const Row> sop1Rows() { return kRows; }

} // namespace luthier::vgpu
