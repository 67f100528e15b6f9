// SOPP: branches, and how a wave talks to the machine around it (manual, section 12.5).

#include "isa/message.h"
#include "vgpu/exec/modes.h"
#include "vgpu/exec/scalar.h"
#include "vgpu/exec/tables.h"

namespace luthier::vgpu {

namespace {

/// Memory operations complete at once and no hazard exists here, so that waiting is over before it begins. The length
/// is known: the instruction is in every hot loop and should not even load it.
const Inst *nothing(Wave &, const Inst *i) { return i + 1; }

const Inst *s_branch(Wave &w, const Inst *i) { return branch(w, i); }

template <auto Condition> const Inst *s_cbranch(Wave &w, const Inst *i) { return Condition(w) ? branch(w, i) : i + 1; }
template <auto Condition> constexpr Row conditional(std::string_view mnemonic) {
  Row row = plain(mnemonic, s_cbranch<Condition>, Type::None, Type::None, kBranches);
  if constexpr (kBitcode)
    row.attempt = [](Wave &w, const Inst *) { return !Condition(w); };
  return row;
}

const Inst *s_endpgm(Wave &w, const Inst *i) {
  w.stop = Stop::End;
  w.ip = i;
  return nullptr;
}

const Inst *s_barrier(Wave &w, const Inst *i) {
  w.stop = Stop::Barrier;
  w.ip = i->next();
  return nullptr;
}

const Inst *s_sleep(Wave &w, const Inst *i) {
  w.stop = Stop::Yield;
  w.ip = i->next();
  return nullptr;
}

const Inst *s_setkill(Wave &w, const Inst *i) {
  return i->imm & 1 ? w.illegal(i, "kills the wave, which only debuggers do") : i->next();
}

const Inst *s_sethalt(Wave &w, const Inst *i) {
  return i->imm & 1 ? w.illegal(i, "halts the wave until a debugger resumes it, and there is none") : i->next();
}

/// MSG_DEALLOC_VGPRS only promises that no VGPR will be used any more; wave/strict_resources.h holds kernels to it.
const Inst *s_sendmsg(Wave &w, const Inst *i) {
  switch (isa::messageOf(i->imm)) {
  case isa::Message::Interrupt:
    w.interrupt(w.s[kM0]);
    return i->next();
  case isa::Message::DeallocVgprs:
    if (w.deallocatesVgprs())
      return i->next();
    return w.illegal(i, "sends a message that compute kernels do not have");
  case isa::Message::SaveWave:
  case isa::Message::StallWaveGen:
  case isa::Message::HaltWaves:
  case isa::Message::GetDoorbell:
    return w.illegal(i, "sends a message that is reserved for trap handlers, and none is running");
  default:
    return w.illegal(i, "sends a message that compute kernels do not have");
  }
}

const Inst *s_sendmsghalt(Wave &w, const Inst *i) {
  return w.illegal(i, "halts the wave until a debugger resumes it, and there is none");
}

/// Trap ids are ROCr's trap handler's (AMDGPUUsage, "Trap Handler ABI"). Its debugtrap does nothing without a debugger.
const Inst *s_trap(Wave &w, const Inst *i) {
  enum Trap { LlvmDebugTrap = 3 };
  const u32 id = i->imm & 0xff;
  return id == LlvmDebugTrap ? i->next() : w.trap(i, id);
}

/// Later dispatches decode anew. Waves of this dispatch keep the code that they have already reached: what is written
/// by a kernel can be jumped to, but code that has run cannot be replaced under a running dispatch.
const Inst *s_icache_inv(Wave &w, const Inst *i) {
  w.invalidateCode();
  return i->next();
}

/// SIMM16 becomes MODE's field for rounding, or for denormals.
template <u32 Shift> const Inst *s_mode(Wave &w, const Inst *i) {
  return w.setMode((w.mode & ~(0xfu << Shift)) | (static_cast<u32>(i->imm) & 0xf) << Shift, i->next());
}

const Inst *s_code_end(Wave &w, const Inst *i) { return w.illegal(i, "marks the end of the code, which was reached"); }

/// The barrier of the workgroup is -1; -2 is the trap handler's, and those from 0 on are not of these targets.
const Inst *s_barrier_wait(Wave &w, const Inst *i) {
  if (i->imm != -1)
    return w.illegal(i, "waits at a barrier other than the workgroup's, which the virtual GPU does not have");
  if (w.barrierComplete) {
    w.barrierComplete = false;
    return i->next();
  }
  w.stop = Stop::Barrier;
  w.ip = i; // to look again
  return nullptr;
}

const Inst *s_barrier_leave(Wave &w, const Inst *i) {
  return w.illegal(i, "leaves a named barrier, which this GPU does not have");
}

const Inst *s_set_gpr_idx_off(Wave &w, const Inst *i) { return w.setMode(w.mode & ~kGprIdxEn, i->next()); }

const Inst *s_set_gpr_idx_mode(Wave &w, const Inst *i) {
  w.s[kM0] = (w.s[kM0] & ~0xf000u) | (static_cast<u32>(i->imm) & 0xf) << 12;
  return i->next();
}

constexpr Row kRows[] = {
    straight<nothing>("s_nop"),
    straight<nothing>("s_waitcnt"),
    straight<nothing>("s_setprio"),
    plain("s_wakeup", nothing), // sleeping waves wake by themselves
    plain("s_incperflevel", nothing).documented(why::kNoCounters),
    plain("s_decperflevel", nothing).documented(why::kNoCounters),
    plain("s_ttracedata", nothing).documented(why::kNoCounters),

    plain("s_branch", s_branch, Type::None, Type::None, kEndsRun | kBranches),
    conditional<[](const Wave &w) { return w.scc == 0; }>("s_cbranch_scc0"),
    conditional<[](const Wave &w) { return w.scc != 0; }>("s_cbranch_scc1"),
    conditional<[](const Wave &w) { return (w.s[kVcc] | w.s[kVcc + 1]) == 0; }>("s_cbranch_vccz"),
    conditional<[](const Wave &w) { return (w.s[kVcc] | w.s[kVcc + 1]) != 0; }>("s_cbranch_vccnz"),
    conditional<[](const Wave &w) { return (w.s[kExec] | w.s[kExec + 1]) == 0; }>("s_cbranch_execz"),
    conditional<[](const Wave &w) { return (w.s[kExec] | w.s[kExec + 1]) != 0; }>("s_cbranch_execnz"),
    // STATUS.COND_DBG_USER and COND_DBG_SYS are set by debuggers only.
    plain("s_cbranch_cdbgsys", nothing).documented(why::kNoDebugger),
    plain("s_cbranch_cdbguser", nothing).documented(why::kNoDebugger),
    plain("s_cbranch_cdbgsys_or_user", nothing).documented(why::kNoDebugger),
    plain("s_cbranch_cdbgsys_and_user", nothing).documented(why::kNoDebugger),

    plain("s_endpgm", s_endpgm, Type::None, Type::None, kEndsRun),
    plain("s_endpgm_saved", s_endpgm, Type::None, Type::None, kEndsRun).documented(why::kNoDebugger),
    plain("s_barrier", s_barrier, Type::None, Type::None, kStops),
    plain("s_sleep", s_sleep, Type::None, Type::None, kStops),
    plain("s_setkill", s_setkill).documented(why::kNoDebugger),
    plain("s_sethalt", s_sethalt).documented(why::kNoDebugger),
    plain("s_sendmsg", s_sendmsg).documented(why::kNoDebugger),
    plain("s_sendmsghalt", s_sendmsghalt).refused(why::kNoDebugger),
    plain("s_trap", s_trap).documented(why::kNoDebugger),
    plain("s_icache_inv", s_icache_inv)
        .chosen("later dispatches decode anew; code that this one has reached stays as it was"),
    // gfx10 and later
    straight<nothing>("s_clause"),
    straight<nothing>("s_delay_alu"),
    straight<nothing>("s_inst_prefetch"),
    straight<nothing>("s_waitcnt_depctr"),
    straight<nothing>("s_wait_idle"),
    straight<nothing>("s_wait_event").documented("it waits for exports, which compute waves have none of"),
    straight<nothing>("s_wait_loadcnt"),
    straight<nothing>("s_wait_storecnt"),
    straight<nothing>("s_wait_samplecnt"),
    straight<nothing>("s_wait_bvhcnt"),
    straight<nothing>("s_wait_expcnt"),
    straight<nothing>("s_wait_dscnt"),
    straight<nothing>("s_wait_kmcnt"),
    straight<nothing>("s_wait_loadcnt_dscnt"),
    straight<nothing>("s_wait_storecnt_dscnt"),
    straight<nothing>("s_singleuse_vdst"),
    plain("s_ttracedata_imm", nothing).documented(why::kNoCounters),
    plain("s_round_mode", s_mode<0>),
    plain("s_denorm_mode", s_mode<4>),
    plain("s_code_end", s_code_end, Type::None, Type::None, kEndsRun).refused("it is no instruction to execute"),
    plain("s_barrier_wait", s_barrier_wait),
    plain("s_barrier_leave", s_barrier_leave).refused("these targets have no named barriers"),

    plain("s_set_gpr_idx_off", s_set_gpr_idx_off),
    plain("s_set_gpr_idx_mode", s_set_gpr_idx_mode),
};

/// VCC_HI is an SGPR like any other, and EXEC_HI means nothing.
constexpr Row k32Rows[] = {
    conditional<[](const Wave &w) { return w.s[kVcc] == 0; }>("s_cbranch_vccz"),
    conditional<[](const Wave &w) { return w.s[kVcc] != 0; }>("s_cbranch_vccnz"),
    conditional<[](const Wave &w) { return w.s[kExec] == 0; }>("s_cbranch_execz"),
    conditional<[](const Wave &w) { return w.s[kExec] != 0; }>("s_cbranch_execnz"),
};

} // namespace

std::span<const Row> sopp32Rows() { return k32Rows; }
std::span<const Row> soppRows() { return kRows; }

} // namespace luthier::vgpu
